// SPDX-License-Identifier: Apache-2.0
// For each timeline: find the run that was profiled at the same time in the same folder, convert
// the timeline's times to the clock of each rank's host, and add the collectives to the ranks. If a
// rank does not run on the coordinator's host, its profile has another clock than the timeline.
// clock_shift() estimates the difference from network transfers.
#include "weft/trace/formats/horovod/join.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "weft/base/median.h"
#include "weft/trace/formats/host_collective.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/match/wire_match.h"
#include "weft/trace/runs/host_name.h"

namespace weft::trace {
namespace {

constexpr std::string_view kFormat = "horovod";
constexpr DiagnosticKind kJoined{
    "timeline-joined", Severity::kInfo,
    "collectives were taken from the Horovod timeline in the folder of the profiles",
    "nothing needs to be done"};
constexpr DiagnosticKind kLeftOut{
    "timeline-left-out", Severity::kInfo,
    "the profiles show communication themselves, so the Horovod timeline in their folder was left "
    "out",
    "pass the timeline alone to see it"};

/// The time covered by the events of a rank.
struct Span {
  Nanos begin = INT64_MAX, end = INT64_MIN;  ///< since the Unix epoch
};

Span span_of(const RankTrace& trace) {
  Span span;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    span.begin = std::min(span.begin, trace.epoch + trace.events.start[i]);
    span.end = std::max(span.end, trace.epoch + trace.events.end(i));
  }
  return span;
}

bool belong_together(const Run& timeline, const Run& profiles) {
  // The timeline has all ranks of the job; profiles may exist for some of them only.
  const auto folder = [](const Run& run) {
    return std::filesystem::path(run.ranks.front().file).parent_path();
  };
  if (profiles.ranks.front().format == kFormat || folder(timeline) != folder(profiles) ||
      timeline.ranks.size() < profiles.ranks.size()) {
    return false;
  }
  const Span all = span_of(timeline.ranks.front()), part = span_of(profiles.ranks.front());
  return part.begin < all.end && all.begin < part.end;
}

/// What to add to a time of the coordinator's clock to get a time of the rank's clock: the median
/// over the transfers between rank 0 and the rank. 0 on the coordinator's own host, and if there
/// are no transfers.
Nanos clock_shift(const Run& run, std::size_t rank, const std::vector<ClockTie>& ties) {
  const RankTrace &first = run.ranks.front(), &own = run.ranks[rank];
  if (short_name(first.host) == short_name(own.host)) return 0;
  std::vector<Nanos> seen;
  for (const ClockTie& tie : ties) {
    if (tie.first == 0 && tie.second == rank) seen.push_back(tie.middle());
  }
  return seen.empty() ? 0 : -median(seen);
}

void add_collectives(const RankTrace& timeline, Nanos shift, RankTrace& rank) {
  const Span span = span_of(rank);
  shift += timeline.epoch - rank.epoch;
  const auto lane = static_cast<std::uint32_t>(rank.lanes.size());
  // The collectives get a separate lane, because Horovod runs them on a background thread, which
  // the profile may not show.
  rank.lanes.push_back({false, 0, static_cast<std::int64_t>(lane), -1, std::string(kFormat)});
  const auto copied = [&](NameId name) { return rank.names.intern(timeline.names.text(name)); };
  const Events& e = timeline.events;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool kernel = e.kind[i] == EventKind::kKernel && e.detail[i] != kNone;
    if (!kernel || timeline.kernels[e.detail[i]].collective == kNone) continue;
    const Nanos start = e.start[i] + shift;
    // A profile usually covers only a few steps of the timeline. Drop the collectives outside of
    // the profile.
    if (start + rank.epoch < span.begin || start + e.duration[i] + rank.epoch > span.end) continue;
    CollectiveDetail collective = timeline.collectives[timeline.kernels[e.detail[i]].collective];
    collective.name = copied(collective.name);
    collective.dtype = copied(collective.dtype);
    collective.group = copied(collective.group);
    add_host_collective(rank, collective, copied(e.name[i]), lane, start, e.duration[i]);
  }
  rank.facts.collective_args = true;
}

void join(const Run& timeline, Run& profiles, Diagnostics& diagnostics) {
  const std::vector<ClockTie> ties = clock_ties(profiles);
  for (std::size_t r = 0; r < profiles.ranks.size(); ++r) {
    RankTrace& rank = profiles.ranks[r];
    const auto source =
        std::find_if(timeline.ranks.begin(), timeline.ranks.end(),
                     [&](const RankTrace& other) { return other.rank == rank.rank; });
    if (source == timeline.ranks.end()) continue;
    add_collectives(*source, clock_shift(profiles, r, ties), rank);
  }
  diagnostics.add(kJoined, timeline.ranks.front().file);
}

bool shows_communication(const Run& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankTrace& rank) {
    return !communication_calls(rank, resolve_launches(rank)).empty();
  });
}

}  // namespace

void join_horovod(std::vector<Run>& runs, Diagnostics& diagnostics) {
  for (std::size_t t = 0; t < runs.size();) {
    const auto profiles = std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
      return runs[t].ranks.front().format == kFormat && belong_together(runs[t], run);
    });
    if (profiles == runs.end()) {
      ++t;
      continue;
    }
    if (shows_communication(*profiles)) {
      diagnostics.add(kLeftOut, runs[t].ranks.front().file);
    } else {
      join(runs[t], *profiles, diagnostics);
    }
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(t));
  }
}

}  // namespace weft::trace
