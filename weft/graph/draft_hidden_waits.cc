// SPDX-License-Identifier: Apache-2.0
// Blocking calls that the profiler does not record (cudaEventSynchronize in older versions, NCCL's
// blocking wait) leave nothing but a silent host thread. It is a wait if a stream ran dry right
// before the thread went on: all that had been issued to it before the silence had just ended.
// Without this, a rank that waits for a late one looks busy, and would stay so without the late
// one.
#include <algorithm>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

/// Shorter silence is ordinary host work.
constexpr Nanos kLeastSilence = 500 * kMicrosecond;
/// A blocked thread goes on this soon after the device is done.
constexpr Nanos kWakeUp = 150 * kMicrosecond;
constexpr Nanos kClockTolerance = 2 * kMicrosecond;

/// Device work of one stream in the order of issue, and what of it ends last up to each.
struct Stream {
  std::vector<Nanos> issued;
  std::vector<OpId> last_to_end;
};

std::vector<Stream> streams_of(const RankDraft& draft) {
  std::vector<Stream> streams(draft.lanes.size());
  std::vector<OpId> ops;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) ops.push_back(id);
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [&](OpId a, OpId b) { return draft.ops[a].issued < draft.ops[b].issued; });
  for (const OpId id : ops) {
    Stream& stream = streams[draft.ops[id].lane];
    stream.issued.push_back(draft.ops[id].issued);
    const bool later = stream.last_to_end.empty() ||
                       draft.ops[stream.last_to_end.back()].end() < draft.ops[id].end();
    stream.last_to_end.push_back(later ? id : stream.last_to_end.back());
  }
  return streams;
}

/// When something recorded begins or ends on each host thread, in order.
std::vector<std::vector<Nanos>> signs_of_life(const trace::RankTrace& trace) {
  std::vector<std::vector<Nanos>> times(trace.lanes.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::uint32_t lane = trace.events.lane[i];
    if (trace.lanes[lane].on_device) continue;
    times[lane].push_back(trace.events.start[i]);
    times[lane].push_back(trace.events.end(i));
  }
  for (std::vector<Nanos>& lane : times) std::sort(lane.begin(), lane.end());
  return times;
}

struct Silence {
  Nanos begin = 0;
  Nanos end = 0;
};

Silence longest_silence(const std::vector<Nanos>& signs, Nanos from, Nanos to) {
  Silence longest;
  Nanos last = from;
  for (auto it = std::upper_bound(signs.begin(), signs.end(), from);; ++it) {
    const Nanos now = it == signs.end() ? to : std::min(*it, to);
    if (now - last > longest.end - longest.begin) longest = {last, now};
    if (now >= to) return longest;
    last = now;
  }
}

/// The work with which a stream ran dry just before the silence ended.
OpId ran_dry(const RankDraft& draft, const std::vector<Stream>& streams, const Silence& silence) {
  OpId found = kNoId;
  for (const Stream& stream : streams) {
    const auto after = std::lower_bound(stream.issued.begin(), stream.issued.end(), silence.begin);
    if (after == stream.issued.begin()) continue;
    const OpId last =
        stream.last_to_end[static_cast<std::size_t>(after - stream.issued.begin() - 1)];
    const Nanos end = draft.ops[last].end();
    const bool fits =
        end > silence.begin && end >= silence.end - kWakeUp && end <= silence.end + kClockTolerance;
    if (fits && (found == kNoId || draft.ops[found].end() < end)) found = last;
  }
  return found;
}

}  // namespace

void draft_hidden_waits(const trace::RankTrace& trace, RankDraft& draft) {
  const std::vector<Stream> streams = streams_of(draft);
  const std::vector<std::vector<Nanos>> signs = signs_of_life(trace);
  const std::size_t known = draft.edges.size();
  for (std::size_t i = 0; i < known; ++i) {
    const DraftEdge edge = draft.edges[i];
    const DraftOp& next = draft.ops[edge.destination];
    if (edge.kind != EdgeKind::kOrder || next.event == kNoId) continue;
    if (draft.lanes[next.lane].kind != LaneKind::kHost || next.kind == OpKind::kSync) continue;
    const Nanos from = draft.ops[edge.source].end();
    if (next.start - from < kLeastSilence) continue;
    const Silence silence = longest_silence(signs[trace.events.lane[next.event]], from, next.start);
    if (silence.end - silence.begin < kLeastSilence) continue;
    const OpId cause = ran_dry(draft, streams, silence);
    if (cause != kNoId) draft.edges.push_back({cause, edge.destination, EdgeKind::kHostSync, true});
  }
}

}  // namespace weft::graph
