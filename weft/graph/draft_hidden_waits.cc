// SPDX-License-Identifier: Apache-2.0
// Finds blocking calls that the profiler did not record (cudaEventSynchronize in older versions,
// NCCL's blocking wait). Such a call leaves a gap on its host thread in which nothing is recorded.
// The gap is called a silence. If the graph had no edge for the wait, a rank that waits for a
// straggler would look busy. A what-if that removes the straggler would then not shorten the rank's
// step.
//
// A silence counts as a wait in two cases:
//   1. A stream became empty just before the thread continued: the last piece of all work issued to
//      the stream before the silence had just ended.
//   2. No stream became empty, but the silence is long, and the thread repeatedly continues with
//      the same call right after a kernel of the same name. (A wait for an event in the middle of a
//      stream looks like this.)
// In both cases, an inferred edge is added from the device work to the thread's next op. This part
// of the draft runs last, because it only looks at silences that no recorded blocking call (kSync
// op) explains.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

/// A shorter silence is ordinary host work, such as Python code.
constexpr Nanos kLeastSilence = 500 * kMicrosecond;
/// A blocked thread continues within this time after the device is done.
constexpr Nanos kWakeUp = 150 * kMicrosecond;
/// The device clock and the host clock of one trace differ by at most about this much.
constexpr Nanos kStreamClockTolerance = 2 * kMicrosecond;
/// Limits for case 2 of the file head. Kernels end all the time, so a single coincidence proves
/// nothing. A silence must last at least kLongSilence. The same call must follow the same kernel at
/// least kLeastRepeats times, and in at least the fraction kMostly of this call's silences.
constexpr std::size_t kLeastRepeats = 3;
constexpr double kMostly = 0.8;
constexpr Nanos kLongSilence = 5 * kMillisecond;

/// Device work of one stream in the order of issue. The two columns have one entry per piece of
/// work.
struct IssuedStream {
  std::vector<Nanos> issued;  ///< when the host issued each piece of work; ascending
  /// of this entry and all entries before it, the work that ends last
  std::vector<OpId> last_to_end;
};

std::vector<IssuedStream> streams_of(const RankDraft& draft) {
  std::vector<IssuedStream> streams(draft.lanes.size());
  std::vector<OpId> ops;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) ops.push_back(id);
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [&](OpId a, OpId b) { return draft.ops[a].issued < draft.ops[b].issued; });
  for (const OpId id : ops) {
    IssuedStream& stream = streams[draft.ops[id].lane];
    stream.issued.push_back(draft.ops[id].issued);
    const bool later = stream.last_to_end.empty() ||
                       draft.ops[stream.last_to_end.back()].end() < draft.ops[id].end();
    stream.last_to_end.push_back(later ? id : stream.last_to_end.back());
  }
  return streams;
}

/// The starts and ends of all recorded events of each host thread, sorted by time. Between two
/// neighbouring entries the thread is silent.
class HostEventTimes {
 public:
  explicit HostEventTimes(const trace::RankTrace& trace)
      : trace_(trace), points_(trace.lanes.size()), times_(trace.lanes.size()) {
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      const std::uint32_t lane = trace.events.lane[i];
      if (trace.lanes[lane].on_device) continue;
      points_[lane].emplace_back(trace.events.start[i], i);
      points_[lane].emplace_back(trace.events.end(i), i);
    }
    for (std::size_t lane = 0; lane < points_.size(); ++lane) {
      std::sort(points_[lane].begin(), points_[lane].end());
      for (const auto& [time, event] : points_[lane]) times_[lane].push_back(time);
    }
  }

  const std::vector<Nanos>& times(std::uint32_t lane) const { return times_[lane]; }

  /// Returns the name of the first event that begins or ends at or after `time`.
  std::string_view name_at(std::uint32_t lane, Nanos time) const {
    const auto found = std::lower_bound(points_[lane].begin(), points_[lane].end(),
                                        std::pair{time, std::uint32_t{0}});
    if (found == points_[lane].end()) return {};
    return trace_.names.text(trace_.events.name[found->second]);
  }

 private:
  const trace::RankTrace& trace_;
  /// by lane: times and their events, sorted by time
  std::vector<std::vector<std::pair<Nanos, std::uint32_t>>> points_;
  std::vector<std::vector<Nanos>> times_;  ///< by lane: the same times without the events
};

struct Silence {
  Nanos begin = 0;
  Nanos end = 0;
};

/// Returns the longest silence of a thread between `from` and `to`. `times` is a result of
/// HostEventTimes::times().
Silence longest_silence(const std::vector<Nanos>& times, Nanos from, Nanos to) {
  Silence longest;
  Nanos last = from;
  for (auto it = std::upper_bound(times.begin(), times.end(), from);; ++it) {
    const Nanos now = it == times.end() ? to : std::min(*it, to);
    if (now - last > longest.end - longest.begin) longest = {last, now};
    if (now >= to) return longest;
    last = now;
  }
}

/// Finds a stream that became empty just before the silence ended, and returns the last work of
/// this stream. Returns kNoId if there is none. If several streams became empty, returns the work
/// that ended last, because the thread must have waited for this work.
OpId ran_dry(const RankDraft& draft, const std::vector<IssuedStream>& streams,
             const Silence& silence) {
  OpId found = kNoId;
  for (const IssuedStream& stream : streams) {
    const auto after = std::lower_bound(stream.issued.begin(), stream.issued.end(), silence.begin);
    if (after == stream.issued.begin()) continue;
    const OpId last =
        stream.last_to_end[static_cast<std::size_t>(after - stream.issued.begin() - 1)];
    const Nanos end = draft.ops[last].end();
    const bool fits = end > silence.begin && end >= silence.end - kWakeUp &&
                      end <= silence.end + kStreamClockTolerance;
    if (fits && (found == kNoId || draft.ops[found].end() < end)) found = last;
  }
  return found;
}

/// Looks at all work that was issued before the silence began and that ended before the silence
/// ended. Returns the work that ended last. Returns kNoId if this work ended more than kWakeUp
/// before the end of the silence.
OpId ended_last(const RankDraft& draft, const std::vector<OpId>& by_end, const Silence& silence) {
  auto it = std::upper_bound(by_end.begin(), by_end.end(), silence.end + kStreamClockTolerance,
                             [&](Nanos time, OpId op) { return time < draft.ops[op].end(); });
  while (it != by_end.begin()) {
    const OpId op = *--it;
    if (draft.ops[op].end() < std::max(silence.begin, silence.end - kWakeUp)) return kNoId;
    if (draft.ops[op].issued < silence.begin) return op;
  }
  return kNoId;
}

/// A long silence at whose end no stream had become empty (case 2).
struct Unexplained {
  OpId next = kNoId;           ///< the thread's next op
  std::string_view continued;  ///< name of the event with which the thread continued
  OpId cause = kNoId;          ///< device work that had just ended; kNoId if none had
};

/// Handles case 2 of the file head. Finds silences after which a thread mostly continues with the
/// same call behind a kernel of the same name. Adds an edge for each of these silences.
void add_repeated(RankDraft& draft, const std::vector<Unexplained>& silences) {
  std::map<std::string_view, std::size_t> of_call;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> of_pair;
  const auto pair_of = [&](const Unexplained& u) {
    return std::pair{u.continued, draft.ops[u.cause].name};
  };
  for (const Unexplained& u : silences) {
    ++of_call[u.continued];
    if (u.cause != kNoId) ++of_pair[pair_of(u)];
  }
  for (const Unexplained& u : silences) {
    if (u.cause == kNoId) continue;
    const std::size_t times = of_pair[pair_of(u)];
    if (times < kLeastRepeats) continue;
    if (static_cast<double>(times) < kMostly * static_cast<double>(of_call[u.continued])) continue;
    draft.edges.push_back({u.cause, u.next, EdgeKind::kHostSync, true});
  }
}

}  // namespace

void draft_hidden_waits(const trace::RankTrace& trace, RankDraft& draft) {
  const std::vector<IssuedStream> streams = streams_of(draft);
  const HostEventTimes events(trace);
  std::vector<OpId> by_end;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) by_end.push_back(id);
  }
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
  std::vector<Unexplained> unexplained;
  // An order edge of a host thread connects two neighbouring ops, and the silence lies between
  // them. The loop appends to draft.edges. So it looks only at the edges that were there before.
  const std::size_t known = draft.edges.size();
  for (std::size_t i = 0; i < known; ++i) {
    const DraftEdge edge = draft.edges[i];
    const DraftOp& next = draft.ops[edge.destination];
    if (edge.kind != EdgeKind::kOrder || next.event == kNoId) continue;
    // A kSync op is the return of a recorded blocking call; draft_waits() has found its cause.
    if (draft.lanes[next.lane].kind != LaneKind::kHost || next.kind == OpKind::kSync) continue;
    const Nanos from = draft.ops[edge.source].end();
    if (next.start - from < kLeastSilence) continue;
    const std::uint32_t lane = trace.events.lane[next.event];
    const Silence silence = longest_silence(events.times(lane), from, next.start);
    if (silence.end - silence.begin < kLeastSilence) continue;
    const OpId cause = ran_dry(draft, streams, silence);
    if (cause != kNoId) {
      draft.edges.push_back({cause, edge.destination, EdgeKind::kHostSync, true});
    } else if (silence.end - silence.begin >= kLongSilence) {
      unexplained.push_back({edge.destination, events.name_at(lane, silence.end),
                             ended_last(draft, by_end, silence)});
    }
  }
  add_repeated(draft, unexplained);
}

}  // namespace weft::graph
