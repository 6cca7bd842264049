// SPDX-License-Identifier: Apache-2.0
// Lists the dependencies within one step, by the rules of Megatron-LM's 1F1B
// (one-forward-one-backward) schedules, plain and interleaved. For each worker:
//   * compute (forwards and backwards) is one chain in recorded order;
//   * each message belongs to one compute: the compute that produced or consumed its tensor. Both
//     ends of a message must find the same group. So the key of the group is the sender's model
//     chunk and the micro-batch. Finding the compute of each message is the hard part
//     (match_messages()): files lack some messages and contain others that were never executed;
//   * parameter gathers and gradient reductions run on one stream, in recorded order;
//   * the rest of the step (from the last compute to the optimizer) is one chain.
#include "weft/graph/phase_schedule.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace weft::graph {
namespace {

using Index = std::uint32_t;
using Indices = std::vector<Index>;

/// All starts and ends of one worker come from one clock, but they are rounded by up to this much.
constexpr Nanos kClockGrain = 50 * kMicrosecond;

struct StepContext {
  const Layout& layout;
  std::span<Work> works;
  std::int32_t chunks = 1;
  bool unique_ids = false;  ///< no two computes of a worker have the same micro-batch id
  Schedule out;

  void after(Index source, Index destination) { out.dependencies.push_back({source, destination}); }
  void chain(const Indices& list) {
    for (std::size_t i = 1; i < list.size(); ++i) after(list[i - 1], list[i]);
  }
};

struct WorkerLists {
  std::array<Indices, kRoles> by_role;  ///< one list per role, sorted by sequence
  Indices compute;  ///< forward, backward and other compute, in the order in which it ran
  Indices& operator[](Role role) { return by_role[static_cast<std::size_t>(role)]; }
};

std::int32_t chunk_of(const Work& work) { return std::max(work.detail.chunk, 0); }

/// Returns the position of a compute among all model chunks of the pipeline, in the order of the
/// forward pass. With interleaving, stage s holds the model chunks s, s + stages, s + 2 stages ...
std::int32_t model_chunk(const StepContext& step, const Work& work) {
  return chunk_of(work) * step.layout.stages + step.layout.places[work.worker].stage;
}

/// Returns for each compute the micro-batch of its messages. If the recorded ids are not unique,
/// the position of the compute in its chunk is used as id. This is correct, because all stages run
/// the micro-batches of a chunk in the same order.
std::vector<std::int32_t> micro_batches(const StepContext& step, const Indices& computes) {
  std::vector<std::int32_t> ids;
  std::map<std::int32_t, std::int32_t> count;
  for (Index c : computes) {
    const Work& work = step.works[c];
    ids.push_back(step.unique_ids ? work.detail.micro_batch : count[chunk_of(work)]++);
  }
  return ids;
}

struct Direction {
  Role compute, send, recv;
  std::int32_t ahead;  ///< +1 or -1: model chunk of the receiver minus that of the sender
};
constexpr Direction kDirections[] = {
    {Role::kForward, Role::kForwardSend, Role::kForwardRecv, 1},
    {Role::kBackward, Role::kBackwardSend, Role::kBackwardRecv, -1},
};

/// Whether the compute sends (or receives) a message at all. In the forward pass, the first model
/// chunk receives nothing and the last one sends nothing. In the backward pass, the first one sends
/// nothing and the last one receives nothing.
bool needs_message(const StepContext& step, const Direction& way, bool send, const Work& compute) {
  const std::int32_t peer = model_chunk(step, compute) + (send ? way.ahead : -way.ahead);
  return peer >= 0 && peer < step.layout.stages * step.chunks;
}

/// Finds the compute of each message. Returns positions in `computes`, and computes.size() for a
/// message that belongs to no compute.
std::vector<std::size_t> match_messages(const StepContext& step, const Direction& way, bool send,
                                        const Indices& computes, const Indices& messages) {
  std::vector<std::size_t> needing;
  for (std::size_t i = 0; i < computes.size(); ++i) {
    if (needs_message(step, way, send, step.works[computes[i]])) needing.push_back(i);
  }
  std::vector<std::size_t> match(messages.size(), computes.size());
  if (computes.empty()) return match;
  // Timelines of interleaved schedules also list messages that were never sent. Here, such a
  // message is a receive that starts after the start of the last compute, or a send that ends
  // before the end of the first compute.
  Nanos first_end = step.works[computes.front()].end;
  Nanos last_start = step.works[computes.front()].start;
  for (Index c : computes) {
    first_end = std::min(first_end, step.works[c].end);
    last_start = std::max(last_start, step.works[c].start);
  }
  const bool may_idle = step.chunks > 1 || messages.size() > needing.size();
  std::vector<std::size_t> launched;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const Work& work = step.works[messages[m]];
    const bool idle =
        send ? work.end < first_end - kClockGrain : work.start > last_start + kClockGrain;
    if (!(may_idle && idle)) launched.push_back(m);
  }
  // Messages have the same order as computes. So if the counts are equal, pair them by position.
  if (launched.size() == needing.size()) {
    for (std::size_t k = 0; k < launched.size(); ++k) match[launched[k]] = needing[k];
  } else if (launched.size() == computes.size() || launched.size() + 1 == computes.size()) {
    // The timeline of an interleaved schedule may list one message for every compute, whether the
    // compute needs one or not. The very first receive of a step may be missing.
    const std::size_t skip = computes.size() - launched.size();
    for (std::size_t k = 0; k < launched.size(); ++k) {
      match[launched[k]] = send ? k : k + skip;
    }
  } else {
    // Messages are missing. Use the sequence numbers in the file as long as they ascend.
    std::int32_t previous = -1;
    for (std::size_t m : launched) {
      const std::int32_t at = step.works[messages[m]].detail.sequence;
      if (at > previous && static_cast<std::size_t>(at) < needing.size()) {
        match[m] = needing[static_cast<std::size_t>(at)];
        previous = at;
      }
    }
  }
  return match;
}

void schedule_messages(StepContext& step, const Direction& way, bool send, WorkerLists& lists) {
  const Indices& computes = lists[way.compute];
  const Indices& messages = lists[send ? way.send : way.recv];
  const auto match = match_messages(step, way, send, computes, messages);
  const auto batches = micro_batches(step, computes);
  Indices kept;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    Work& work = step.works[messages[m]];
    const std::size_t at = match[m];
    if (at == computes.size() || !needs_message(step, way, send, step.works[computes[at]])) {
      work.dropped = true;
      ++step.out.unmatched_messages;
      continue;
    }
    const Work& compute = step.works[computes[at]];
    const WorkerPlace& place = step.layout.places[work.worker];
    const std::int32_t sender = model_chunk(step, compute) - (send ? 0 : way.ahead);
    step.out.groups[{way.send, place.replica, place.shard, sender, batches[at]}].push_back(
        messages[m]);
    if (send) {
      step.after(computes[at], messages[m]);
    } else {
      // A receive has a buffer only after the previous compute has ended. It is posted then.
      step.after(messages[m], computes[at]);
      if (at > 0) step.after(computes[at - 1], messages[m]);
    }
    kept.push_back(messages[m]);
  }
  step.chain(kept);

  // The receive of the first gradient is posted together with the last forward before the first
  // backward, so it waits for the compute before that forward.
  if (send || way.compute != Role::kBackward || kept.empty()) return;
  const auto first = std::find_if(lists.compute.begin(), lists.compute.end(),
                                  [&](Index c) { return step.works[c].role == Role::kBackward; });
  if (first - lists.compute.begin() >= 2) step.after(*(first - 2), kept.front());
}

/// Returns the first of `computes` that works on `chunk`, or the last if `last` is true. A negative
/// `chunk` means any chunk. Returns nullptr if there is no such compute.
const Index* find_chunk(const StepContext& step, const Indices& computes, std::int32_t chunk,
                        bool last) {
  const Index* found = nullptr;
  for (const Index& c : computes) {
    if (chunk >= 0 && chunk_of(step.works[c]) != chunk) continue;
    if (!found || last) found = &c;
  }
  return found;
}

void schedule_gradients(StepContext& step, WorkerLists& lists) {
  const Indices& gathers = lists[Role::kParamsGather];
  const Indices& scatters = lists[Role::kGradsScatter];
  std::set<std::int32_t> seen;
  for (auto it = gathers.rbegin(); it != gathers.rend(); ++it) {
    const std::int32_t chunk = step.works[*it].detail.chunk;
    // The forward needs all parameters of its chunk, so it waits for the chunk's last gather.
    if (!seen.insert(chunk).second) continue;
    const Index* forward = find_chunk(step, lists[Role::kForward], chunk, false);
    if (forward) step.after(*it, *forward);
  }
  Indices stream = gathers;
  stream.insert(stream.end(), scatters.begin(), scatters.end());
  std::stable_sort(stream.begin(), stream.end(),
                   [&](Index a, Index b) { return step.works[a].start < step.works[b].start; });
  step.chain(stream);
  if (!step.layout.overlaps_gradients) return;
  seen.clear();
  for (Index scatter : scatters) {
    const std::int32_t chunk = step.works[scatter].detail.chunk;
    if (!seen.insert(chunk).second) continue;
    const Index* backward = find_chunk(step, lists[Role::kBackward], chunk, true);
    if (backward) step.after(*backward, scatter);
  }
}

/// Adds the dependencies from the last compute to the optimizer. Skips parts that a job does not
/// have.
void schedule_tail(StepContext& step, WorkerLists& lists) {
  const bool overlaps = step.layout.overlaps_gradients;
  Indices tail;
  const auto append = [&](Role role) {
    tail.insert(tail.end(), lists[role].begin(), lists[role].end());
  };
  if (!lists.compute.empty()) {
    tail.push_back(
        *std::max_element(lists.compute.begin(), lists.compute.end(),
                          [&](Index a, Index b) { return step.works[a].end < step.works[b].end; }));
  }
  append(Role::kGc);
  const std::size_t first_reduction = tail.size();
  append(Role::kLayerNormGrads);
  append(Role::kEmbeddingGrads);
  if (!overlaps) append(Role::kGradsScatter);
  append(Role::kSeparateGrads);
  append(Role::kClip);
  append(Role::kOptimizer);
  step.chain(tail);
  if (overlaps && !lists[Role::kGradsScatter].empty() && first_reduction < tail.size()) {
    step.after(lists[Role::kGradsScatter].back(), tail[first_reduction]);
  }
}

GroupKey collective_key(const WorkerPlace& place, Role role, std::int32_t sequence) {
  switch (role) {
    case Role::kClip:  // all workers: the norm covers the gradients of the whole model
      return {role, 0, 0, 0, sequence};
    case Role::kEmbeddingGrads:  // the first and the last stage of a pipeline share the table
      return {role, place.replica, place.shard, 0, sequence};
    // tensor-parallel ranks; the timeline shows all of them as one worker
    case Role::kLayerNormGrads:
      return {role, place.rank, 0, 0, sequence};
    default:  // the replicas of a stage
      return {role, place.stage, place.shard, 0, sequence};
  }
}

void group_collectives(StepContext& step, const WorkerPlace& place, const WorkerLists& lists) {
  for (const Indices& list : lists.by_role) {
    if (list.empty()) continue;
    const Role role = step.works[list.front()].role;
    if (is_local(role) || is_message(role)) continue;
    // If the file has no sequence numbers or repeats one, use the position in the list instead.
    const auto sequence = [&](std::size_t i) { return step.works[list[i]].detail.sequence; };
    bool unique = sequence(0) >= 0;
    for (std::size_t i = 1; i < list.size(); ++i) unique &= sequence(i - 1) < sequence(i);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int32_t at = unique ? sequence(i) : static_cast<std::int32_t>(i);
      step.out.groups[collective_key(place, role, at)].push_back(list[i]);
    }
  }
}

/// Whether each worker has a different micro-batch id for each forward of a chunk, and for each
/// backward.
bool micro_batch_ids_are_unique(std::span<const Work> works) {
  std::set<std::tuple<std::uint32_t, Role, std::int32_t, std::int32_t>> seen;
  for (const Work& work : works) {
    if (work.role != Role::kForward && work.role != Role::kBackward) continue;
    if (work.detail.micro_batch < 0) return false;
    if (!seen.insert({work.worker, work.role, chunk_of(work), work.detail.micro_batch}).second) {
      return false;
    }
  }
  return true;
}

}  // namespace

Schedule schedule_step(const Layout& layout, std::span<Work> works) {
  StepContext step{layout, works, 1, micro_batch_ids_are_unique(works), {}};
  std::vector<WorkerLists> workers(layout.places.size());
  for (Index i = 0; i < works.size(); ++i) {
    const Work& work = works[i];
    WorkerLists& lists = workers[work.worker];
    lists[work.role].push_back(i);
    if (work.role <= Role::kOtherCompute) lists.compute.push_back(i);
    if (work.role <= Role::kBackward) step.chunks = std::max(step.chunks, chunk_of(work) + 1);
  }
  const auto by_sequence = [&](Index a, Index b) {
    return std::tuple(works[a].detail.sequence, works[a].start, a) <
           std::tuple(works[b].detail.sequence, works[b].start, b);
  };
  const auto by_time = [&](Index a, Index b) {
    return std::tuple(works[a].start, works[a].detail.sequence, works[a].role, a) <
           std::tuple(works[b].start, works[b].detail.sequence, works[b].role, b);
  };
  for (std::size_t w = 0; w < workers.size(); ++w) {
    WorkerLists& lists = workers[w];
    for (Indices& list : lists.by_role) std::sort(list.begin(), list.end(), by_sequence);
    std::sort(lists[Role::kForward].begin(), lists[Role::kForward].end(), by_time);
    std::sort(lists[Role::kBackward].begin(), lists[Role::kBackward].end(), by_time);
    std::sort(lists.compute.begin(), lists.compute.end(), by_time);
    step.chain(lists.compute);
    for (const Direction& way : kDirections) {
      schedule_messages(step, way, true, lists);
      schedule_messages(step, way, false, lists);
    }
    schedule_gradients(step, lists);
    schedule_tail(step, lists);
    group_collectives(step, layout.places[w], lists);
  }
  return std::move(step.out);
}

}  // namespace weft::graph
