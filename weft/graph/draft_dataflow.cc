// SPDX-License-Identifier: Apache-2.0
// Engines that start work as soon as what it needs is over (MXNet's) record neither streams nor
// events that anybody waits for. But they do not pause for nothing: work that follows a pause on
// its lane needed what ended last before it.
#include <algorithm>
#include <map>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

/// An engine takes up to this long from one piece of work to the next.
constexpr Nanos kLeastPause = 20 * kMicrosecond;

}  // namespace

void draft_dataflow(RankDraft& draft) {
  std::vector<OpId> work;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) work.push_back(id);
  }
  std::vector<OpId> by_end = work;
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
  std::sort(work.begin(), work.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].start, a} < std::pair{draft.ops[b].start, b};
  });
  std::map<LaneId, Nanos> busy_until;
  for (const OpId id : work) {
    const DraftOp& op = draft.ops[id];
    const auto [until, first] = busy_until.try_emplace(op.lane, kLongAgo);
    const Nanos idle_from = until->second;
    until->second = std::max(until->second, op.end());
    if (op.start - idle_from < kLeastPause) continue;
    auto last =
        std::upper_bound(by_end.begin(), by_end.end(), op.start,
                         [&](Nanos time, OpId other) { return time < draft.ops[other].end(); });
    // Nothing waits for itself, nor for work of no length that starts with it.
    while (last != by_end.begin() && draft.ops[*std::prev(last)].start >= op.start) --last;
    if (last == by_end.begin()) continue;
    const OpId cause = *std::prev(last);
    if (draft.ops[cause].lane == op.lane || draft.ops[cause].end() <= idle_from) continue;
    draft.edges.push_back({cause, id, EdgeKind::kEventWait, true});
  }
}

}  // namespace weft::graph
