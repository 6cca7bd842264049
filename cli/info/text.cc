// SPDX-License-Identifier: Apache-2.0
// The page that `weft info` prints for people. It fits into 24 lines: the table of ranks is short,
// and problems, advice and remarks share the lines that are left below it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "cli/fold_ranks.h"
#include "cli/info/summary.h"
#include "cli/shell/format.h"
#include "weft/predict/unprofiled.h"

namespace weft::cli {
namespace {

constexpr std::size_t kPageLines = 24;
constexpr std::size_t kRanksShown = 8;
constexpr std::size_t kStepsShown = 4;
constexpr std::size_t kStepListWidth = 30;
/// Longer file names are shortened: some profilers put host, process and time into the name.
constexpr std::size_t kFileWidth = 40;
/// Problems and advice get at least this many lines, even if the page is full.
constexpr std::size_t kLeastNotes = 4;

std::string join(const std::vector<std::string>& parts, const char* separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

/// The distinct items with their counts: "NVIDIA H200 x4".
std::string distinct(const std::vector<std::string>& items) {
  std::map<std::string, int> counts;
  for (const std::string& item : items) ++counts[item];
  std::vector<std::string> parts;
  for (const auto& [item, count] : counts) {
    parts.push_back(count > 1 ? fmt::format("{} x{}", item, count) : item);
  }
  return join(parts, ", ");
}

std::string headline(const RunSummary& run, const Terminal& terminal) {
  std::string ranks = fmt::format("{} of {} ranks", run.ranks.size(), run.run->world);
  if (!run.missing_ranks.empty()) {
    std::string missing = format_numbers(run.missing_ranks);
    const auto more = run.missing_count - static_cast<std::int64_t>(run.missing_ranks.size());
    if (more > 0) missing += fmt::format(" and {} more", more);
    ranks = paint(terminal, Tone::kWarning, fmt::format("{} (missing {})", ranks, missing));
  }
  std::vector<std::string> devices;
  std::set<std::string> files;
  std::set<std::string> formats;
  Bytes bytes = 0;
  for (const RankSummary& rank : run.ranks) {
    const trace::RankTrace& trace = *rank.trace;
    // A rank uses one device, although its file may list all devices of the host. A rank without
    // device work uses none of them.
    if (!trace.devices.empty() && trace.facts.device_events) {
      devices.push_back(trace.devices.front());
    }
    formats.insert(trace.format);
    if (files.insert(trace.file).second) bytes += std::max<Bytes>(0, rank.stored_bytes);
  }
  std::vector<std::string> parts{
      ranks, join({formats.begin(), formats.end()}, " and "),
      fmt::format("{} {}", files.size(), files.size() == 1 ? "file" : "files")};
  if (bytes > 0) parts.push_back(format_bytes(bytes));
  if (!devices.empty()) parts.push_back(distinct(devices));
  const std::string label = paint(terminal, Tone::kBold, run.run->label);
  return wrapped(fmt::format("{}: {}", label, join(parts, ", ")),
                 static_cast<std::size_t>(terminal.columns), 2);
}

std::string step_cell(const RankSummary& rank) {
  if (rank.steps.empty()) return "-";
  std::vector<std::string> cells;
  if (rank.steps.size() <= kStepsShown) {
    for (const StepSummary& step : rank.steps) cells.push_back(format_ms(step.host_duration));
    return join(cells, " ");
  }
  Nanos low = rank.steps[0].host_duration;
  Nanos high = low;
  for (const StepSummary& step : rank.steps) {
    low = std::min(low, step.host_duration);
    high = std::max(high, step.host_duration);
  }
  return fmt::format("{}..{}", format_ms(low), format_ms(high));
}

std::string steps_line(const RunSummary& run) {
  std::set<std::int64_t> numbers;
  for (const RankSummary& rank : run.ranks) {
    for (const StepSummary& step : rank.steps) numbers.insert(step.number);
  }
  if (numbers.empty()) return "no steps are marked";
  std::string list = format_numbers({numbers.begin(), numbers.end()});
  if (list.size() > kStepListWidth) {
    list = fmt::format("{} to {}", *numbers.begin(), *numbers.rbegin());
  }
  return fmt::format("{} {}: {}", numbers.size(), numbers.size() == 1 ? "step" : "steps", list);
}

/// The ranks that get a row. If there are few ranks, each has its own row. Otherwise ranks with
/// similar figures share a row.
std::vector<FoldedRank> rows_of(const RunSummary& run, bool everything) {
  if (everything || run.ranks.size() <= kRanksShown) return each_rank(run.ranks.size());
  std::vector<std::vector<double>> figures;
  for (const RankSummary& rank : run.ranks) {
    Nanos steps = 0;
    for (const StepSummary& step : rank.steps) steps += step.host_duration;
    figures.push_back({static_cast<double>(rank.trace->events.size()),
                       static_cast<double>(rank.kernels), static_cast<double>(rank.streams),
                       static_cast<double>(rank.collective_count()), static_cast<double>(rank.span),
                       static_cast<double>(steps)});
  }
  return rare_and_common(fold_ranks(figures), kRanksShown);
}

std::string rank_table(const RunSummary& run, bool everything, const Terminal& terminal) {
  Table table({{"rank", Align::kRight, false},
               {"file", Align::kLeft, true},
               {"events", Align::kRight, false},
               {"kernels", Align::kRight, false},
               {"streams", Align::kRight, false},
               {"colls", Align::kRight, false},
               {"span ms", Align::kRight, false},
               {"host steps ms", Align::kLeft, true}});
  const std::vector<FoldedRank> shown = rows_of(run, everything);
  for (const FoldedRank& row : shown) {
    const RankSummary& rank = run.ranks[row.index];
    table.add_row({rank_cell(rank.trace->rank, row),
                   elide_middle(std::filesystem::path(rank.trace->file).filename().string(),
                                everything ? SIZE_MAX : kFileWidth),
                   format_count(static_cast<std::int64_t>(rank.trace->events.size())),
                   format_count(rank.kernels), std::to_string(rank.streams),
                   std::to_string(rank.collective_count()), format_ms(rank.span), step_cell(rank)});
  }
  return table.print(terminal) + folding_note(shown, run.ranks.size());
}

std::string collectives_line(const RunSummary& run) {
  std::map<std::string, CollectiveSummary> total;
  for (const RankSummary& rank : run.ranks) {
    for (const CollectiveSummary& entry : rank.collectives) {
      total[entry.name].count += entry.count;
      total[entry.name].with_size += entry.with_size;
      total[entry.name].size_inferred += entry.size_inferred;
    }
  }
  if (total.empty()) return "collectives: none";
  std::vector<std::string> parts;
  for (const auto& [name, entry] : total) {
    std::string sizes = "sizes known";
    if (entry.with_size + entry.size_inferred == 0) {
      sizes = "no sizes";
    } else if (entry.with_size < entry.count) {
      sizes = fmt::format("sizes of {}", entry.with_size);
      if (entry.size_inferred > 0) sizes += fmt::format(", {} inferred", entry.size_inferred);
    }
    parts.push_back(fmt::format("{} {} ({})", format_count(entry.count), name, sizes));
  }
  return "collectives: " + join(parts, ", ");
}

/// A line about the transfers that a probe recorded; empty if there are none.
std::string transfers_line(const RunSummary& run) {
  WireSummary total;
  std::set<std::string> peers;
  const auto add = [&](const WireSummary& wire) {
    total.transfers += wire.transfers;
    total.sent += wire.sent;
    total.received += wire.received;
  };
  for (const RankSummary& rank : run.ranks) {
    add(rank.wire);
    for (const PeerSummary& peer : rank.wire.peers) peers.insert(peer.name);
  }
  for (const WireSummary& wire : run.bystanders) add(wire);
  if (total.transfers == 0) return "";
  std::string out =
      fmt::format("transfers: {}, {} sent, {} received, {} {}", format_count(total.transfers),
                  format_bytes(total.sent), format_bytes(total.received), peers.size(),
                  peers.size() == 1 ? "peer" : "peers");
  if (!run.bystanders.empty()) {
    std::vector<std::string> roles;
    for (const trace::Bystander& bystander : run.run->bystanders) {
      roles.push_back(bystander.role.empty() ? "process that is not a rank" : bystander.role);
    }
    out += "; also of " + distinct(roles);
  }
  return out;
}

/// A line about the steps that `weft record` timed without profiler; empty if there are none.
std::string unprofiled_line(const RunSummary& run) {
  const auto steps = predict::unprofiled_steps(*run.run);
  if (!steps) return "";
  return fmt::format("{} steps without profiler: median {} ms ({}..{})", steps->count,
                     format_ms(steps->median), format_ms(steps->low), format_ms(steps->high));
}

std::string profiler_line(const RunSummary& run) {
  const auto all = [&](bool trace::ProfilerFacts::*fact) {
    return std::all_of(run.ranks.begin(), run.ranks.end(),
                       [&](const RankSummary& rank) { return rank.trace->facts.*fact; });
  };
  // A fact counts as recorded only if all ranks have it.
  std::vector<std::string> with;
  std::vector<std::string> without;
  const auto sort_in = [&](const char* name, bool trace::ProfilerFacts::*fact) {
    (all(fact) ? with : without).push_back(name);
  };
  sort_in("device work", &trace::ProfilerFacts::device_events);
  sort_in("collective arguments", &trace::ProfilerFacts::collective_args);
  sort_in("shapes", &trace::ProfilerFacts::shapes);
  sort_in("stream waits", &trace::ProfilerFacts::sync_events);
  sort_in("memory", &trace::ProfilerFacts::memory_events);
  sort_in("stacks", &trace::ProfilerFacts::stacks);
  std::string out = "recorded: " + (with.empty() ? "times only" : join(with, ", "));
  if (!without.empty()) out += "; not recorded: " + join(without, ", ");
  return out;
}

std::string run_table(const std::vector<RunSummary>& runs, const Terminal& terminal) {
  Table table({{"run", Align::kRight, false},
               {"label", Align::kLeft, true},
               {"ranks", Align::kRight, false},
               {"events", Align::kRight, false},
               {"span ms", Align::kRight, false},
               {"steps", Align::kLeft, false}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::int64_t events = 0;
    Nanos span = 0;
    for (const RankSummary& rank : runs[i].ranks) {
      events += static_cast<std::int64_t>(rank.trace->events.size());
      span = std::max(span, rank.span);
    }
    table.add_row({std::to_string(i + 1), runs[i].run->label,
                   fmt::format("{}/{}", runs[i].ranks.size(), runs[i].run->world),
                   format_count(events), format_ms(span), steps_line(runs[i])});
  }
  return fmt::format("{} runs; --run N shows one of them\n\n", runs.size()) + table.print(terminal);
}

struct Note {
  Severity severity = Severity::kInfo;
  std::vector<std::string> lines;

  /// How many lines the note takes on the screen. A word that is wider than the terminal takes
  /// several lines.
  std::size_t height(std::size_t width) const {
    std::size_t rows = 0;
    for (const std::string& line : lines) {
      rows += width == 0 ? 1 : std::max<std::size_t>(1, (display_width(line) + width - 1) / width);
    }
    return rows;
  }
};

std::vector<Note> diagnostic_notes(const Diagnostics& diagnostics, bool everything,
                                   std::size_t width) {
  std::vector<Note> notes;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const DiagnosticKind& kind = *diagnostic.kind;
    Note note{kind.severity, {}};
    std::string text = fmt::format("- {} ({}x): {}", kind.id, diagnostic.count, kind.what);
    if (everything) text += fmt::format("; {}", kind.advice);
    note.lines = wrap(text, width, 2);
    if (everything) {
      for (const std::string& place : diagnostic.places) note.lines.push_back("    at " + place);
    }
    notes.push_back(std::move(note));
  }
  // Put the most severe notes first. Notes of the same severity stay in the order in which they
  // occurred.
  std::stable_sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
    return static_cast<int>(a.severity) > static_cast<int>(b.severity);
  });
  return notes;
}

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return Tone::kPlain;
    case Severity::kWarning:
      return Tone::kWarning;
    case Severity::kDataLoss:
      return Tone::kBad;
  }
  return Tone::kPlain;
}

/// Lists problems, then advice, then remarks, as far as they fit into `room` lines. If notes were
/// left out, the last line says how many.
std::string notes_text(const std::vector<Note>& found, const std::vector<Note>& advice,
                       std::size_t room, const Terminal& terminal) {
  const auto first_remark = std::find_if(found.begin(), found.end(), [](const Note& note) {
    return note.severity == Severity::kInfo;
  });
  const std::vector<Note> problems(found.begin(), first_remark);
  const std::vector<Note> remarks(first_remark, found.end());
  std::string out;
  std::size_t used = 0;
  std::size_t hidden = 0;
  const auto width = static_cast<std::size_t>(terminal.columns);
  const auto add = [&](const std::vector<Note>& notes, const char* title, std::size_t limit) {
    bool titled = false;
    for (const Note& note : notes) {
      // One line is reserved to say how many notes are hidden. If a note has no room, all later
      // notes of the list are hidden, too, even short ones: the earlier note is more useful.
      if (hidden > 0 || used + note.height(width) + (titled ? 0 : 1) + 1 > limit) {
        ++hidden;
        continue;
      }
      if (!titled) out += paint(terminal, Tone::kBold, title) + "\n";
      used += note.height(width) + (titled ? 0 : 1);
      titled = true;
      for (const std::string& line : note.lines) {
        out += paint(terminal, tone_of(note.severity), line) + "\n";
      }
    }
  };
  // If there is advice, half of the room is reserved for it: even if a recording has many problems,
  // the page must show the setting that fixes them.
  add(problems, "problems", advice.empty() ? room : room / 2 + room % 2);
  const std::size_t problems_hidden = std::exchange(hidden, 0);
  add(advice, "advice", room);
  add(remarks, "good to know", room);
  hidden += problems_hidden;
  if (hidden > 0) out += fmt::format("... and {} more notes (--all shows them)\n", hidden);
  return out;
}

}  // namespace

std::string info_text(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics, bool everything, const Terminal& terminal) {
  std::string out;
  const auto width = static_cast<std::size_t>(terminal.columns);
  const auto add_wrapped = [&](const std::string& text) {
    for (const std::string& line : wrap(text, width, 2)) out += line + "\n";
  };
  if (runs.size() > 1) {
    out += run_table(runs, terminal);
  } else {
    const RunSummary& run = runs.at(0);
    out += headline(run, terminal);
    out += steps_line(run) + "\n\n";
    out += rank_table(run, everything, terminal) + "\n";
    add_wrapped(collectives_line(run));
    if (const std::string line = transfers_line(run); !line.empty()) add_wrapped(line);
    if (const std::string line = unprofiled_line(run); !line.empty()) add_wrapped(line);
    add_wrapped(profiler_line(run));
  }
  std::vector<Note> advice_notes;
  for (const Advice& item : advice) {
    advice_notes.push_back({Severity::kInfo, wrap("- " + item.text, width, 2)});
  }
  // Count two more lines: the blank line before the notes, and one line in reserve, because the
  // headline may be wider than the terminal.
  const auto used = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')) + 2;
  const std::size_t left = kPageLines > used ? kPageLines - used : 0;
  const std::size_t room = everything ? SIZE_MAX : std::max(kLeastNotes, left);
  const std::string notes =
      notes_text(diagnostic_notes(diagnostics, everything, width), advice_notes, room, terminal);
  if (!notes.empty()) out += "\n" + notes;
  return out;
}

}  // namespace weft::cli
