// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/fold_ranks.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"

namespace weft::cli {
namespace {

using predict::Answer;
using predict::Breakdown;
using predict::RankSummary;
using predict::ReplaySummary;
using predict::StepPrediction;

constexpr std::size_t kRanksReplayed = 8;
constexpr std::size_t kStepsShown = 4;  ///< minus one if there is a column for the prediction
constexpr std::size_t kLabel = 11;      ///< width of the labels: "stragglers" and a blank
constexpr const char* kBucket = "ddp.bucket_mb=";

double ratio(Nanos a, Nanos b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 1.0;
}

std::string percent(double part) {
  const double value = 100 * part;
  // Tiny values are printed as "+0.0%": "-0.0%" would look as if the replay were too fast.
  return fmt::format("{:+.1f}%", std::abs(value) < 0.05 ? 0.0 : value);
}

/// A line with a label and its text: "recorded   79.3 ms". Text that does not fit continues on the
/// next lines, indented by the width of the labels.
std::string line(const Terminal& terminal, const char* label, const std::string& text) {
  const auto columns = static_cast<std::size_t>(terminal.columns);
  std::string out = paint(terminal, Tone::kBold, fmt::format("{:<{}}", label, kLabel));
  const char* before = "";
  for (const std::string& part : wrap(text, columns > 2 * kLabel ? columns - kLabel : 0, 0)) {
    out += fmt::format("{}{}\n", before, part);
    before = "           ";
  }
  return out;
}

std::string headline(const ReplaySummary& summary, const Terminal& terminal) {
  std::vector<std::int64_t> steps = summary.steps;
  std::sort(steps.begin(), steps.end());
  std::string list = format_numbers(steps);
  if (steps.size() > kStepsShown && list.size() > 30) {
    list = fmt::format("{} to {}", steps.front(), steps.back());
  }
  const std::string text =
      fmt::format("{}: {} of {} ranks, {} {}: {}", paint(terminal, Tone::kBold, summary.label),
                  summary.ranks.size(), summary.world, steps.size(),
                  steps.size() == 1 ? "step" : "steps", list);
  return wrapped(text, static_cast<std::size_t>(terminal.columns), 2);
}

std::string step_cell(Nanos recorded, Nanos replayed) {
  if (recorded < 0) return "-";
  return fmt::format("{} {:>5}", format_ms(recorded), percent(ratio(replayed, recorded) - 1));
}

/// The cells of a rank if there are too many steps for one column per step. The first cell is the
/// range of the recorded steps, the second the largest error of the replay, with its sign.
std::vector<std::string> summed_cells(const RankSummary& rank) {
  Nanos low = -1, high = -1;
  double worst = 0;
  for (std::size_t s = 0; s < rank.recorded.size(); ++s) {
    if (rank.recorded[s] < 0) continue;
    low = low < 0 ? rank.recorded[s] : std::min(low, rank.recorded[s]);
    high = std::max(high, rank.recorded[s]);
    const double error = ratio(rank.replayed[s], rank.recorded[s]) - 1;
    if (std::abs(error) > std::abs(worst)) worst = error;
  }
  if (low < 0) return {"-", "-"};
  return {fmt::format("{}..{}", format_ms(low), format_ms(high)), percent(worst)};
}

/// The ranks that get a row. If there are few ranks, each has its own row. Otherwise ranks with
/// similar times share a row.
std::vector<FoldedRank> rows_of(const ReplaySummary& summary, bool everything) {
  if (everything || summary.ranks.size() <= kRanksReplayed) return each_rank(summary.ranks.size());
  std::vector<std::vector<double>> figures;
  for (const RankSummary& rank : summary.ranks) {
    figures.push_back(
        {static_cast<double>(rank.mean_baseline), static_cast<double>(rank.mean_predicted)});
    for (const Nanos step : rank.recorded) figures.back().push_back(static_cast<double>(step));
  }
  return rare_and_common(fold_ranks(figures), kRanksReplayed);
}

std::string rank_table(const ReplaySummary& summary, bool everything, const Terminal& terminal) {
  const std::size_t room = kStepsShown - (summary.what_if.empty() ? 0 : 1);
  const bool each_step = everything || summary.steps.size() <= room;
  std::vector<Column> columns{{"rank", Align::kRight, false}};
  if (each_step) {
    for (const std::int64_t step : summary.steps) {
      columns.push_back({fmt::format("step {} ms", step), Align::kRight, false});
    }
  } else {
    columns.push_back({"recorded ms", Align::kRight, false});
    columns.push_back({"replay off", Align::kRight, false});
  }
  columns.push_back({"baseline ms", Align::kRight, false});
  if (!summary.what_if.empty()) columns.push_back({"predicted ms", Align::kRight, false});
  Table table(columns);
  const std::vector<FoldedRank> shown = rows_of(summary, everything);
  for (const FoldedRank& row : shown) {
    const RankSummary& rank = summary.ranks[row.index];
    std::vector<std::string> cells{rank_cell(rank.rank, row)};
    if (each_step) {
      for (std::size_t s = 0; s < summary.steps.size(); ++s) {
        cells.push_back(step_cell(rank.recorded[s], rank.replayed[s]));
      }
    } else {
      for (std::string& cell : summed_cells(rank)) cells.push_back(std::move(cell));
    }
    cells.push_back(format_ms(rank.mean_baseline));
    if (!summary.what_if.empty()) cells.push_back(format_ms(rank.mean_predicted));
    table.add_row(std::move(cells));
  }
  return table.print(terminal) + folding_note(shown, summary.ranks.size());
}

std::string range(const StepPrediction& step) {
  return fmt::format("{} ms ({}..{})", format_ms(step.step), format_ms(step.low),
                     format_ms(step.high));
}

std::string made_of(const ReplaySummary& summary, const StepPrediction& step,
                    const Terminal& terminal) {
  const Breakdown& parts = step.breakdown;
  // All parts get the same number of decimals, so that the reader can check that they add up.
  const int digits = parts.total() < 10 * kMillisecond ? 3 : parts.total() < kSecond ? 1 : 0;
  const auto ms = [&](Nanos time) {
    return fmt::format("{:.{}f}", static_cast<double>(time) / kMillisecond, digits);
  };
  return line(
      terminal, "  made of",
      fmt::format("compute {}, exposed comm {}, waiting {}, {} {} ms (rank {})", ms(parts.compute),
                  ms(parts.communication), ms(parts.waiting), summary.from_phases ? "gaps" : "idle",
                  ms(parts.host), step.slowest_rank));
}

std::string speedup(Nanos before, Nanos after) {
  return fmt::format("{:.2f}x", ratio(before, after));
}

std::string steps_text(const ReplaySummary& summary, const Terminal& terminal) {
  const StepPrediction& baseline = summary.prediction.baseline;
  const StepPrediction& predicted = summary.prediction.predicted;
  std::string out = line(terminal, "recorded",
                         fmt::format("{} ms per step; its replay is off by at most {:.2f}% on any "
                                     "rank",
                                     format_ms(summary.recorded_step), 100 * summary.worst_error));
  out += line(terminal, "baseline",
              range(baseline) + (summary.from_phases ? ", steps back to back"
                                                     : " without profiler, steps back to back"));
  out += made_of(summary, baseline, terminal);
  if (summary.unprofiled) {
    const predict::UnprofiledSteps& steps = *summary.unprofiled;
    out += line(
        terminal, "measured",
        fmt::format("{} ms: median of {} steps without profiler ({}..{})", format_ms(steps.median),
                    steps.count, format_ms(steps.low), format_ms(steps.high)));
  }
  if (summary.what_if.empty()) return out;
  out += line(terminal, "predicted",
              fmt::format("{} with {}: {} as fast", range(predicted),
                          fmt::join(summary.what_if, " "), speedup(baseline.step, predicted.step)));
  out += made_of(summary, predicted, terminal);
  return out;
}

std::string clocks_text(const ReplaySummary& summary, const Terminal& terminal) {
  const RankSummary* furthest = nullptr;
  for (const RankSummary& rank : summary.ranks) {
    if (!furthest || std::abs(rank.clock.offset) > std::abs(furthest->clock.offset)) {
      furthest = &rank;
    }
  }
  if (!furthest || summary.ranks.size() < 2) return "";
  std::string text =
      fmt::format("largest offset {} ± {} (rank {})", format_time(furthest->clock.offset),
                  format_time(furthest->clock.offset_uncertainty), furthest->rank);
  const auto untied = std::count_if(summary.ranks.begin(), summary.ranks.end(),
                                    [](const RankSummary& rank) { return !rank.clock.tied; });
  if (untied > 0) {
    text += fmt::format("; the clocks of {} ranks could not be compared with the first", untied);
  }
  return line(terminal, "clocks", text);
}

/// ", in aten::conv2d of step 3": the host op and the step of the memory peak, if they are known.
/// If the op or both do not fit on the line after `text`, they are left out, because they are not
/// worth a second line; --json always has both.
std::string place_of(const sim::MemoryPeak& peak, const std::string& text,
                     const Terminal& terminal) {
  const std::string step = peak.step < 0 ? "" : fmt::format("step {}", peak.step);
  const std::string joined = step.empty() ? peak.host_op : peak.host_op + " of " + step;
  const std::string& full = peak.host_op.empty() ? step : joined;
  for (const std::string& known : {full, step}) {
    const std::string place = known.empty() ? "" : ", in " + known;
    const std::size_t width = kLabel + text.size() + place.size();
    if (terminal.columns == 0 || width <= static_cast<std::size_t>(terminal.columns)) return place;
  }
  return "";
}

std::string memory_text(const ReplaySummary& summary, const Terminal& terminal) {
  const RankSummary *low = nullptr, *high = nullptr;
  for (const RankSummary& rank : summary.ranks) {
    if (!rank.memory) continue;
    if (!low || rank.memory->peak.bytes < low->memory->peak.bytes) low = &rank;
    if (!high || rank.memory->peak.bytes > high->memory->peak.bytes) high = &rank;
  }
  if (!high) return "";
  const sim::MemoryPeak& least = low->memory->peak;
  const sim::MemoryPeak& most = high->memory->peak;
  std::string text =
      least.bytes == most.bytes
          ? fmt::format("peak {} per rank", format_bytes(most.bytes))
          : fmt::format("peak {} (rank {}) to {} (rank {})", format_bytes(least.bytes), low->rank,
                        format_bytes(most.bytes), high->rank);
  if (high->memory->device < 0) text += " of host memory";
  switch (high->memory->source) {
    case sim::MemorySource::kAllocator:
      break;
    case sim::MemorySource::kAllocationsOnly:
      text += ", without memory that was allocated before the recording";
      break;
    case sim::MemorySource::kEstimatedFromShapes:
      text += " or more (estimated from shapes)";
      break;
  }
  text += place_of(most, text, terminal);
  return line(terminal, "memory", text);
}

std::string stragglers_text(const ReplaySummary& summary, const Terminal& terminal) {
  if (!summary.stragglers) return "";
  const sim::StragglerReport& report = *summary.stragglers;
  std::string text = fmt::format("slow the job down {:.2f}x", report.slowdown);
  switch (report.culprit) {
    case sim::CulpritKind::kNone:
      text += "; no single culprit";
      break;
    case sim::CulpritKind::kWorker:
      text += fmt::format("; culprit: rank {}", report.culprit_rank);
      break;
    case sim::CulpritKind::kStage:
      text += fmt::format("; culprit: pipeline stage {}", report.culprit_stage);
      break;
    case sim::CulpritKind::kLinks:
      text += fmt::format("; culprit: the links of rank {}", report.culprit_rank);
      break;
  }
  if (summary.from_phases && report.culprit != sim::CulpritKind::kNone &&
      report.culprit != sim::CulpritKind::kStage) {
    text += fmt::format(" (replica {}, stage {})", report.culprit_replica, report.culprit_stage);
  }
  return line(terminal, "stragglers", text);
}

std::string worth_knowing_text(const ReplaySummary& summary, const Terminal& terminal) {
  if (summary.worth_knowing.empty()) return "";
  const Nanos baseline = summary.prediction.baseline.step;
  Table table({{"what-ifs worth knowing", Align::kLeft, false},
               {"step ms", Align::kRight, false},
               {"speed-up", Align::kRight, false}});
  std::string buckets;
  for (const Answer& answer : summary.worth_knowing) {
    const Nanos step = answer.prediction.step;
    if (!answer.what_if.starts_with(kBucket)) {
      table.add_row({answer.what_if, format_ms(step), speedup(baseline, step)});
      continue;
    }
    const std::string size = answer.what_if.substr(std::string_view(kBucket).size());
    const bool best = &answer == summary.best_choice();
    buckets += fmt::format("{}{}: {}{}", buckets.empty() ? "" : ", ", size, format_ms(step),
                           best ? paint(terminal, Tone::kGood, " (best)") : "");
  }
  std::string out = "\n" + table.print(terminal);
  if (!buckets.empty()) {
    // All bucket sizes share one line, because they are values of the same setting.
    out += wrapped(fmt::format("ddp.bucket_mb= {} ms{}", buckets,
                               summary.has_links ? "" : " (rough without --links)"),
                   static_cast<std::size_t>(terminal.columns), 2);
  }
  return out;
}

}  // namespace

std::string replay_text(const ReplaySummary& summary, bool everything, const Terminal& terminal) {
  return headline(summary, terminal) + rank_table(summary, everything, terminal) + "\n" +
         steps_text(summary, terminal) + clocks_text(summary, terminal) +
         memory_text(summary, terminal) + stragglers_text(summary, terminal) +
         worth_knowing_text(summary, terminal);
}

std::string replay_notes(const ReplaySummary& summary, const Diagnostics& diagnostics,
                         const Terminal& terminal) {
  Notes notes(terminal);
  notes.add(diagnostics);
  if (summary.links_unused) {
    notes.add(Tone::kWarning,
              "links-unused: no link table was used: no table of --links has a collective of this "
              "job with its number of ranks and known sizes; measure one with that many ranks");
  }
  if (const std::int32_t ranks = summary.prediction.predicted.extrapolated_from; ranks > 0) {
    notes.add(
        Tone::kWarning,
        fmt::format("extrapolated: transfers were measured with {} ranks, not with the number "
                    "asked for, so the error bar is wider; a link table of that many ranks "
                    "makes it narrower (weft calibrate, --links)",
                    ranks));
  }
  if (summary.inferred_edges > 0) {
    notes.add(
        Tone::kPlain,
        fmt::format("inferred-edges ({}x of {}): dependencies that follow from how frameworks "
                    "use threads and streams",
                    summary.inferred_edges, summary.edges));
  }
  return notes.text();
}

}  // namespace weft::cli
