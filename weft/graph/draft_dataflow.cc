// SPDX-License-Identifier: Apache-2.0
// Infers dependencies in the recordings of dataflow engines such as MXNet's. Such an engine starts
// an op as soon as the inputs of the op are ready. It never pauses without a reason. It records
// neither streams nor event waits.
// So if there is a pause before an op on its lane, the op waited for work on another lane. This is
// the work that ended last before the op started. The edge is marked as inferred.
#include <algorithm>
#include <map>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

/// An engine needs up to this much time between the end of one op and the start of the next. A
/// shorter gap is not a pause.
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
    // Skip the op itself, and other work of length zero that starts at the same time.
    while (last != by_end.begin() && draft.ops[*std::prev(last)].start >= op.start) --last;
    if (last == by_end.begin()) continue;
    const OpId cause = *std::prev(last);
    // The order of the lane already explains waits for work on the same lane. Work that ended
    // before the pause began cannot be the reason for the pause.
    if (draft.ops[cause].lane == op.lane || draft.ops[cause].end() <= idle_from) continue;
    draft.edges.push_back({cause, id, EdgeKind::kEventWait, true});
  }
}

}  // namespace weft::graph
