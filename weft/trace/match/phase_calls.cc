// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/phase_calls.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::trace {
namespace {

// Computes a number that identifies a call within its group, from step, chunk and position. All
// three numbers are small, so they fit into disjoint bits.
std::int64_t sequence_of(const PhaseDetail& detail) {
  return ((static_cast<std::int64_t>(detail.step) + 1) << 32) +
         ((static_cast<std::int64_t>(detail.chunk) + 1) << 24) + (detail.sequence + 1);
}

struct Layout {
  std::int32_t stages = 0;

  explicit Layout(const Run& run) {
    for (const RankTrace& r : run.ranks) stages = std::max(stages, r.stage + 1);
  }
};

std::int32_t rank_at(const Run& run, std::int32_t replica, std::int32_t stage, std::int32_t shard) {
  for (const RankTrace& r : run.ranks) {
    if (r.replica == replica && r.stage == stage && r.shard == shard) return r.rank;
  }
  return -1;
}

template <class Belongs>
std::int32_t count_ranks(const Run& run, Belongs belongs) {
  return static_cast<std::int32_t>(std::count_if(run.ranks.begin(), run.ranks.end(), belongs));
}

// Sets group, size and peers of the call. Returns false if it is not a communication between ranks
// of this run.
bool describe(const Run& run, const RankTrace& self, std::string_view name, const Layout& layout,
              Call& call) {
  const bool forward = name.substr(0, 8) == "forward-";
  const bool backward = name.substr(0, 9) == "backward-";
  if (forward || backward) {
    if (call.kind != CollectiveKind::kSendRecv) return false;
    const bool send = name.find("send") != std::string_view::npos;
    // Interleaved schedules wrap around: the last stage sends to the next chunk of the first stage.
    // Forward messages go to the next stage, backward messages to the previous one.
    const std::int32_t step = forward == send ? 1 : layout.stages - 1;
    const std::int32_t peer =
        rank_at(run, self.replica, (self.stage + step) % layout.stages, self.shard);
    if (peer < 0 || peer == self.rank) return false;
    call.group = forward ? "forward" : "backward";
    call.group_size = 2;
    call.messages.push_back({peer, send, -1});
    return true;
  }
  if (name == "grads-reduce-scatter" || name == "params-all-gather") {
    call.group = "data-parallel of stage " + std::to_string(self.stage);
    call.group_size = count_ranks(
        run, [&](const RankTrace& r) { return r.stage == self.stage && r.shard == self.shard; });
    return call.group_size > 1;
  }
  if (name == "embedding-grads-all-reduce") {
    // The first stage and the last stage hold copies of the tied embedding table.
    call.group = "embedding of replica " + std::to_string(self.replica);
    call.group_size = layout.stages > 1 ? 2 : 1;
    return call.group_size > 1;
  }
  return false;
}

}  // namespace

std::vector<Call> phase_calls(const Run& run, std::size_t rank) {
  const RankTrace& self = run.ranks[rank];
  const Events& events = self.events;
  const Layout layout(run);
  std::vector<Call> calls;
  if (self.stage < 0 || self.replica < 0) return calls;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::kPhase || events.detail[i] == kNone) continue;
    const std::string_view name = self.names.text(events.name[i]);
    Call call;
    call.event = i;
    call.kind = kind_from_name(name);
    if (call.kind == CollectiveKind::kOther || !describe(run, self, name, layout, call)) continue;
    call.sequence = sequence_of(self.phases[events.detail[i]]);
    calls.push_back(std::move(call));
  }
  std::stable_sort(calls.begin(), calls.end(), [&](const Call& a, const Call& b) {
    return events.start[a.event] < events.start[b.event];
  });
  return calls;
}

}  // namespace weft::trace
