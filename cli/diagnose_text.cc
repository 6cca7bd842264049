// SPDX-License-Identifier: Apache-2.0
// Writes the pages of `weft diagnose`. The page about all ranks has a headline, the verdict, the
// table of ranks, the critical path, the memory peak and the table of findings. The limits below
// make it fit into a terminal of 24 lines; --all lifts the limits.
#include "cli/diagnose_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/fold_ranks.h"
#include "cli/shell/format.h"

namespace weft::cli {
namespace {

using diagnose::Cause;
using diagnose::Diagnosis;
using diagnose::Finding;
using diagnose::RankDiagnosis;

constexpr std::size_t kRanksShown = 8;
constexpr std::size_t kFindingsShown = 6;
constexpr std::size_t kOpsShown = 8;
/// A cause gets a column if it takes at least this percentage of a step on any rank.
constexpr double kWorthAColumn = 0.1;

double percent(Nanos part, Nanos whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string wrapped_for(const Terminal& terminal, const std::string& text, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrap(text, static_cast<std::size_t>(terminal.columns), indent)) {
    out += line + "\n";
  }
  return out;
}

std::string headline(const Diagnosis& diagnosis, const Terminal& terminal) {
  std::string steps = format_numbers(diagnosis.steps);
  if (steps.size() > 30) {
    steps = fmt::format("{} to {}", diagnosis.steps.front(), diagnosis.steps.back());
  }
  return fmt::format("{}: {} of {} ranks, {} {}: {}\n",
                     paint(terminal, Tone::kBold, diagnosis.label), diagnosis.ranks.size(),
                     diagnosis.world, diagnosis.steps.size(),
                     diagnosis.steps.size() == 1 ? "step" : "steps", steps);
}

/// "18.2 (r2)": how long the rank waits, and the rank that it waits for most.
std::string waiting_cell(const diagnose::CauseTimes& times) {
  std::int32_t whom = -1;
  Nanos most = 0;
  for (const auto& [rank, time] : times.waiting_for) {
    if (time <= most) continue;
    most = time;
    whom = rank;
  }
  const std::string time = format_ms(times[Cause::kWaiting]);
  return whom < 0 ? time : fmt::format("{} (r{})", time, whom);
}

/// The ranks that get a row. If there are many ranks, ranks that behave alike share a row. If there
/// are still too many rows, only the ranks that wait least get a row: the others wait for them, so
/// they are the ranks to look at.
std::vector<FoldedRank> shown_ranks(const Diagnosis& diagnosis, bool everything) {
  if (everything || diagnosis.ranks.size() <= kRanksShown) return each_rank(diagnosis.ranks.size());
  std::vector<std::vector<double>> figures;
  Nanos longest = 0;
  for (const RankDiagnosis& rank : diagnosis.ranks) longest = std::max(longest, rank.step);
  for (const RankDiagnosis& rank : diagnosis.ranks) {
    // fold_ranks() compares two figures relative to the largest figure of their column. Add the
    // longest step to each figure, so that differences are compared with the step. Otherwise tiny
    // causes would make ranks look different.
    std::vector<double> parts{static_cast<double>(rank.step)};
    for (std::size_t c = 0; c < diagnose::kCauses; ++c) {
      parts.push_back(static_cast<double>(longest + rank.causes.mean[static_cast<Cause>(c)]));
    }
    figures.push_back(std::move(parts));
  }
  std::vector<FoldedRank> rows = fold_ranks(figures);
  if (rows.size() <= kRanksShown) return rows;
  const auto waits = [&](const FoldedRank& row) {
    return diagnosis.ranks[row.index].causes.mean[Cause::kWaiting];
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const FoldedRank& a, const FoldedRank& b) { return waits(a) < waits(b); });
  rows.resize(kRanksShown - 1);
  std::sort(rows.begin(), rows.end(),
            [](const FoldedRank& a, const FoldedRank& b) { return a.index < b.index; });
  return rows;
}

std::string rank_table(const Diagnosis& diagnosis, bool everything, const Terminal& terminal) {
  // A cause that takes almost no time on any rank gets no column, to save room.
  std::vector<std::pair<Cause, const char*>> causes;
  for (const auto& [cause, title] : {std::pair{Cause::kCompute, "compute"},
                                     {Cause::kMemoryCopy, "copies"},
                                     {Cause::kTransfer, "exposed"},
                                     {Cause::kWaiting, "waiting"},
                                     {Cause::kDataLoading, "loading"},
                                     {Cause::kHostLaunch, "host"},
                                     {Cause::kIdle, "idle"}}) {
    const bool any =
        std::any_of(diagnosis.ranks.begin(), diagnosis.ranks.end(), [&](const auto& rank) {
          return percent(rank.causes.mean[cause], rank.step) >= kWorthAColumn;
        });
    if (any) causes.emplace_back(cause, title);
  }
  std::vector<Column> columns{{"rank"}, {"step ms"}};
  for (const auto& [cause, title] : causes) columns.push_back({title});
  columns.push_back({"overlap"});
  Table table(columns);
  const auto shown = shown_ranks(diagnosis, everything);
  for (const FoldedRank& row : shown) {
    const RankDiagnosis& rank = diagnosis.ranks[row.index];
    const diagnose::CauseTimes& mean = rank.causes.mean;
    std::vector<std::string> cells{rank_cell(rank.rank, row), format_ms(rank.step)};
    for (const auto& [cause, title] : causes) {
      cells.push_back(cause == Cause::kWaiting ? waiting_cell(mean) : format_ms(mean[cause]));
    }
    cells.push_back(mean.communication > 0
                        ? fmt::format("{:.0f}%", percent(mean.hidden, mean.communication))
                        : "-");
    table.add_row(std::move(cells));
  }
  return table.print(terminal) + folding_note(shown, diagnosis.ranks.size());
}

std::string path_line(const Diagnosis& diagnosis, const Terminal& terminal) {
  const diagnose::CriticalPath& path = diagnosis.path;
  // Times are stored negated: sorting the pairs then puts the largest time first, and sorts equal
  // times by name.
  std::vector<std::pair<Nanos, std::string>> ranks, causes;
  for (const auto& [rank, time] : path.by_rank) {
    if (rank >= 0) ranks.emplace_back(-time, fmt::format("rank {}", rank));
  }
  for (std::size_t c = 0; c < diagnose::kCauses; ++c) {
    if (path.by_cause[c] == 0) continue;
    causes.emplace_back(-path.by_cause[c], diagnose::cause_words(static_cast<Cause>(c)));
  }
  const auto largest = [&](auto list, std::size_t most) {
    std::sort(list.begin(), list.end());
    std::string text;
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
      if (i > 0 && percent(-list[i].first, path.length) < 0.5) break;  // would show as 0 %
      text += fmt::format("{}{} {:.0f}%", i == 0 ? "" : ", ", list[i].second,
                          percent(-list[i].first, path.length));
    }
    return text;
  };
  return wrapped_for(
      terminal, fmt::format("critical path: {}; {}", largest(ranks, 3), largest(causes, 3)), 2);
}

std::string memory_line(const Diagnosis& diagnosis) {
  const RankDiagnosis* fullest = nullptr;
  for (const RankDiagnosis& rank : diagnosis.ranks) {
    if (!rank.memory) continue;
    if (fullest == nullptr || rank.memory->peak.bytes > fullest->memory->peak.bytes) {
      fullest = &rank;
    }
  }
  if (fullest == nullptr) return "";
  const sim::MemoryPeak& peak = fullest->memory->peak;
  std::string text = fmt::format("memory peak:   {}", format_bytes(peak.bytes));
  if (fullest->memory->source == sim::MemorySource::kEstimatedFromShapes) text += " (estimated)";
  if (fullest->memory->device < 0) text += " of host memory";
  text += fmt::format(" on rank {}", fullest->rank);
  if (peak.step >= 0) text += fmt::format(", step {}", peak.step);
  if (!peak.host_op.empty()) text += fmt::format(", in {}", peak.host_op);
  return text + "\n";
}

std::string place(const Finding& finding) {
  std::string text;
  if (finding.rank >= 0) text += fmt::format("rank {}", finding.rank);
  if (finding.step >= 0) text += fmt::format("{}step {}", text.empty() ? "" : ", ", finding.step);
  if (!finding.lane.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", finding.lane);
  return text;
}

std::string finding_table(const Diagnosis& diagnosis, const std::vector<std::string>& inputs,
                          bool everything, const Terminal& terminal) {
  if (diagnosis.findings.empty()) {
    return "no findings: nothing costs 0.5 % of the step or more\n";
  }
  Table table({{"#"},
               {"gain ms"},
               {"of step"},
               {"without", Align::kLeft},
               {"most on", Align::kLeft, true}});
  const std::size_t most =
      everything ? diagnosis.findings.size() : std::min(kFindingsShown, diagnosis.findings.size());
  for (std::size_t i = 0; i < most; ++i) {
    const Finding& finding = diagnosis.findings[i];
    table.add_row({std::to_string(i + 1), format_ms(finding.gain),
                   fmt::format("{:.1f}%", percent(finding.gain, diagnosis.baseline)), finding.title,
                   place(finding)});
  }
  std::string out = table.print(terminal);
  const std::size_t rest = diagnosis.findings.size() - most;
  return out + wrapped_for(terminal,
                           fmt::format("gains overlap and do not add up{}; what to do: {}",
                                       rest > 0 ? fmt::format("; {} more with --all", rest) : "",
                                       diagnose::show_command(inputs, 1)),
                           2);
}

/// The device op that a host call launches; kNoId if there is none. The name of the device op tells
/// the user more than the name of the launch ("cudaLaunchKernel").
graph::OpId launched_by(const graph::Graph& graph, graph::OpId host) {
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    for (const graph::Edge& edge : graph.in_edges(op)) {
      if (edge.kind == graph::EdgeKind::kLaunch && edge.source == host) return op;
    }
  }
  return graph::kNoId;
}

std::string op_words(const graph::Graph& graph, graph::OpId op) {
  const std::uint32_t c = graph.ops.collective[op];
  if (graph.ops.kind[op] == graph::OpKind::kTransfer && c != graph::kNoId) {
    const Bytes bytes = graph.collectives[c].bytes;
    return fmt::format("{}{}", graph.name(op), bytes < 0 ? "" : ", " + format_bytes(bytes));
  }
  if (graph.ops.kind[op] != graph::OpKind::kLaunch) return std::string(graph.name(op));
  const graph::OpId work = launched_by(graph, op);
  return work == graph::kNoId ? std::string(graph.name(op))
                              : fmt::format("launch of {}", graph.name(work));
}

/// Where an op runs: its stream or thread. A transfer belongs to no single stream, so its member
/// ranks are named instead.
std::string lane_words(const graph::Graph& graph, graph::OpId op) {
  const std::uint32_t c = graph.ops.collective[op];
  if (graph.rank(op) >= 0 || c == graph::kNoId) {
    const std::string& name = graph.lanes[graph.ops.lane[op]].name;
    return name.substr(name.find('/') + 1);
  }
  std::vector<std::int64_t> members;
  for (const graph::OpId arrival : graph.collectives[c].arrivals) {
    members.push_back(graph.rank(arrival));
  }
  std::sort(members.begin(), members.end());
  return name_ranks(members);
}

/// A table of the ops that become most shorter when the finding is removed.
std::string op_table(const predict::Job& job, const Finding& finding, const Terminal& terminal) {
  const graph::Graph& graph = job.graph;
  Table table({{"ms"},
               {"rank"},
               {"step"},
               {"at ms"},
               {"where", Align::kLeft, true},
               {"op", Align::kLeft, true}});
  const std::size_t shown = std::min(kOpsShown, finding.ops.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [op, time, pause] = finding.ops[i];
    const std::int32_t rank = graph.rank(op);
    // If most of the time is in the pause before the op, show the pause.
    const bool pauses = 2 * pause > time;
    const Nanos start = graph.ops.recorded_start[op];
    const Nanos at = pauses && start > pause ? start - pause : start;
    table.add_row({fmt::format("{:.3f}", static_cast<double>(time) / 1e6),
                   rank < 0 ? "-" : std::to_string(rank),
                   graph.ops.step[op] < 0 ? "-" : std::to_string(graph.ops.step[op]),
                   at < 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(at) / 1e6),
                   lane_words(graph, op), (pauses ? "pause before " : "") + op_words(graph, op)});
  }
  std::string out = table.print(terminal);
  if (finding.count > static_cast<std::int64_t>(shown)) {
    out += fmt::format("the largest of {} ops; ms: time in the op and in the pause before it\n",
                       format_count(finding.count));
  }
  return out;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const std::vector<std::string>& inputs,
                           bool everything, const Terminal& terminal) {
  std::string out = headline(diagnosis, terminal);
  out += wrapped_for(terminal, diagnosis.verdict, 2);
  out += rank_table(diagnosis, everything, terminal);
  out += path_line(diagnosis, terminal);
  out += memory_line(diagnosis);
  out += finding_table(diagnosis, inputs, everything, terminal);
  return out;
}

std::string finding_text(const predict::Job& job, const Diagnosis& diagnosis, std::size_t index,
                         const std::vector<std::string>& inputs, const Terminal& terminal) {
  const Finding& finding = diagnosis.findings[index];
  std::string out = paint(terminal, Tone::kBold,
                          fmt::format("{}. {}: {}", index + 1, diagnose::info_of(finding.kind).id,
                                      finding.title)) +
                    "\n";
  out += wrapped_for(terminal, finding.what, 0);
  out += wrapped_for(
      terminal,
      fmt::format("gain:    {} ms of {} ms ({:.1f} %), both predicted for the job without profiler",
                  format_ms(finding.gain), format_ms(diagnosis.baseline),
                  percent(finding.gain, diagnosis.baseline)),
      9);
  if (const std::string where = place(finding); !where.empty()) {
    out += wrapped_for(terminal,
                       fmt::format("where:   most on {} ({} ms per step there); {}", where,
                                   format_ms(finding.time),
                                   name_ranks({finding.ranks.begin(), finding.ranks.end()})),
                       9);
  }
  out += wrapped_for(terminal, "advice:  " + finding.advice, 9);
  if (!finding.what_if.empty()) {
    std::string command = "weft replay";
    for (const std::string& input : inputs) command += " " + diagnose::shell_word(input);
    out += fmt::format("predict: {} --what-if {}\n", command, finding.what_if);
    // Users compare the two figures and wonder why they differ.
    if (finding.kind == diagnose::FindingKind::kExposedCommunication) {
      out += wrapped_for(terminal,
                         "         comm=off gains more: it also removes waiting for other ranks, "
                         "and predictions are without profiler",
                         9);
    }
  }
  return out + op_table(job, finding, terminal);
}

}  // namespace weft::cli
