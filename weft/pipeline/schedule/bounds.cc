// SPDX-License-Identifier: Apache-2.0
// Computes bounds as in the theory of machine scheduling, with heads and tails. The head of an op
// is the least time before it can start. Its tail is the least time from its end to the end of the
// step. Heads and tails assume that no other machine makes an op wait. One pass over the
// dependencies in each direction computes them. For each machine, take Jackson's preemptive
// schedule of its ops with their heads and tails. The length of this schedule is a lower bound for
// the step.
#include "weft/pipeline/schedule/bounds.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "weft/pipeline/schedule/chains.h"

namespace weft::pipeline {
namespace {

/// For each op: the least time before its start (head), and the least time after its end (tail).
struct Ends {
  std::vector<Nanos> head, tail;  ///< [chain * length + k]
};

/// All dependencies between chains, sorted so that every chain comes after the chains that it waits
/// for: forwards by stage, then gradients from the last stage back, then weights. Transfers come
/// after the ops that send them.
std::vector<Arc> sorted_arcs(const Chains& chains) {
  std::vector<Arc> arcs = chains.arcs;
  for (const Machine& machine : chains.machines) {
    for (const auto& [first, then] : machine.precedence) {
      arcs.push_back({machine.chains[first], machine.chains[then], 0});
    }
  }
  const auto stages = static_cast<std::int64_t>(chains.chains.size());
  // Chains that are sorted by this number are in the order of their dependencies.
  const auto place = [&](ChainId id) {
    const Chain& chain = chains.chains[id];
    const std::int64_t late = chain.is_transfer ? 1 : 0;
    if (chain.kind == Kind::kForward) return 2 * chain.stage + late;
    if (chain.kind == Kind::kWeight) return 8 * stages;
    return 4 * stages - 2 * chain.stage + late;
  };
  std::stable_sort(arcs.begin(), arcs.end(),
                   [&](const Arc& a, const Arc& b) { return place(a.from) < place(b.from); });
  return arcs;
}

/// Computes heads in the order of the sorted arcs, and tails in the opposite order. Within a chain,
/// ops run one after the other, so each head is at least the head before it plus one duration.
/// `spread` applies this rule.
Ends ends_of(const Chains& chains) {
  const auto length = static_cast<std::size_t>(chains.length);
  Ends ends;
  ends.head.assign(chains.chains.size() * length, 0);
  ends.tail.assign(chains.chains.size() * length, 0);
  const auto spread = [&](ChainId id) {
    const std::size_t at = static_cast<std::size_t>(id) * length;
    const Nanos duration = chains.chains[id].duration;
    for (std::size_t k = 1; k < length; ++k) {
      ends.head[at + k] = std::max(ends.head[at + k], ends.head[at + k - 1] + duration);
    }
    for (std::size_t k = length - 1; k > 0; --k) {
      ends.tail[at + k - 1] = std::max(ends.tail[at + k - 1], ends.tail[at + k] + duration);
    }
  };
  for (std::size_t id = 0; id < chains.chains.size(); ++id) {
    std::fill_n(ends.tail.begin() + static_cast<std::ptrdiff_t>(id * length), length,
                chains.chains[id].tail);
    spread(static_cast<ChainId>(id));
  }
  const std::vector<Arc> arcs = sorted_arcs(chains);
  const auto at = [&](ChainId id, std::size_t k) {
    return static_cast<std::size_t>(id) * length + k;
  };
  for (const Arc& arc : arcs) {
    const Nanos pass = chains.chains[arc.from].duration + arc.delay;
    for (std::size_t k = 0; k < length; ++k) {
      Nanos& head = ends.head[at(arc.to, k)];
      head = std::max(head, ends.head[at(arc.from, k)] + pass);
    }
    spread(arc.to);
  }
  for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc) {
    const Nanos pass = chains.chains[arc->to].duration + arc->delay;
    for (std::size_t k = 0; k < length; ++k) {
      Nanos& tail = ends.tail[at(arc->from, k)];
      tail = std::max(tail, ends.tail[at(arc->to, k)] + pass);
    }
    spread(arc->from);
  }
  return ends;
}

/// Jackson's preemptive schedule of one machine: always run the available op with the longest tail,
/// and interrupt it if an op with a longer tail becomes available. A real order must not interrupt
/// ops, so it cannot end earlier. Takes time O(n log n).
Nanos machine_bound(const Chains& chains, const Machine& machine, const Ends& ends) {
  struct Item {
    Nanos head, tail, left;
  };
  std::vector<Item> items;
  for (const ChainId id : machine.chains) {
    for (Micro k = 0; k < chains.length; ++k) {
      const std::size_t at = static_cast<std::size_t>(id) * chains.length + k;
      items.push_back({ends.head[at], ends.tail[at], chains.chains[id].duration});
    }
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.head < b.head; });
  const auto shorter = [](const Item& a, const Item& b) { return a.tail < b.tail; };
  std::priority_queue<Item, std::vector<Item>, decltype(shorter)> ready(shorter);
  Nanos now = 0, bound = 0;
  for (std::size_t i = 0; i < items.size() || !ready.empty();) {
    if (ready.empty()) now = std::max(now, items[i].head);
    for (; i < items.size() && items[i].head <= now; ++i) ready.push(items[i]);
    Item item = ready.top();
    ready.pop();
    const Nanos until =
        i < items.size() ? std::min(now + item.left, items[i].head) : now + item.left;
    item.left -= until - now;
    now = until;
    if (item.left > 0) {
      ready.push(item);
    } else {
      bound = std::max(bound, now + item.tail);
    }
  }
  return bound;
}

/// The least time of gradients of a stage that together free `need` bytes. Tries every number of
/// weight gradients; each needs the input gradient of the same micro-batch.
Nanos time_to_free(const Stage& stage, bool halves, Bytes need) {
  const Bytes by_input = -stage.input_memory, by_weight = -stage.weight_memory;
  const auto times = [](Bytes amount, Bytes each) { return (amount + each - 1) / each; };
  const std::int64_t whole = times(need, by_input + by_weight);
  Nanos best = whole * (stage.input + stage.weight);
  if (!halves || by_input == 0) return best;
  for (std::int64_t weights = 0; weights < whole; ++weights) {
    const std::int64_t inputs =
        std::max(weights, times(std::max<Bytes>(0, need - weights * by_weight), by_input));
    best = std::min(best, inputs * stage.input + weights * stage.weight);
  }
  return best;
}

/// The bound from memory for a stage that holds at most `fit` micro-batches. Before its last
/// forward can start, gradients must have freed enough memory, and none of them runs before the
/// first gradient arrives. The forwards from number `fit` on wait for the first gradient, too. 0 if
/// memory does not limit the stage.
Nanos stage_memory_bound(const Pipeline& pipeline, const Stage& stage, Nanos first_gradient,
                         Nanos forward_tail) {
  if (pipeline.memory_limits.empty() || stage.forward_memory <= 0) return 0;
  // This bound holds only if gradients free memory.
  if (stage.input_memory > 0 || stage.weight_memory > 0) return 0;
  if (stage.input_memory + stage.weight_memory == 0) return 0;
  const Bytes limit = pipeline.memory_limits[stage.device];
  const auto fit =
      static_cast<Micro>(std::min<Bytes>(pipeline.micro_batches, limit / stage.forward_memory));
  if (fit >= pipeline.micro_batches) return 0;
  // The last forward waits longest.
  const Micro last = pipeline.micro_batches - 1;
  const Bytes need = (last + 1) * stage.forward_memory - limit;
  return first_gradient + time_to_free(stage, pipeline.split_backward, need) +
         (last - fit + 1) * stage.forward + forward_tail;
}

/// The least time from the start of the first forward of a stage to the start of its last forward.
/// If K micro-batches fit, forward k + K must wait until micro-batch k has come back and freed its
/// memory. This takes the time `round` from the start of forward k.
Nanos last_forward(const Pipeline& pipeline, const Stage& stage, Nanos round) {
  const Nanos all = (pipeline.micro_batches - 1) * stage.forward;
  if (pipeline.memory_limits.empty() || stage.forward_memory <= 0) return all;
  if (stage.input_memory > 0 || stage.weight_memory > 0) return all;
  if (stage.input_memory + stage.weight_memory + stage.forward_memory < 0) return all;
  const Bytes fit = pipeline.memory_limits[stage.device] / stage.forward_memory;
  if (fit < 1 || fit >= pipeline.micro_batches) return all;
  const auto rounds = static_cast<Nanos>((pipeline.micro_batches - 1) / fit);
  return rounds * round + static_cast<Nanos>((pipeline.micro_batches - 1) % fit) * stage.forward;
}

}  // namespace

Nanos Bounds::best() const { return std::max({path, work, link, memory}); }

const char* Bounds::name() const {
  if (best() == work) return "work";
  if (best() == memory) return "memory";
  return best() == link ? "link" : "path";
}

Nanos quick_bound(const Pipeline& pipeline) {
  struct Device {
    Nanos work = 0, head = std::numeric_limits<Nanos>::max();
    Nanos tail = std::numeric_limits<Nanos>::max();
  };
  const std::size_t count = pipeline.stages.size();
  const Nanos micros = pipeline.micro_batches;
  std::vector<Device> devices(pipeline.devices());
  std::vector<Nanos> heads(count);  // per stage: when the first micro-batch can arrive
  std::vector<Nanos> backs(count);  // per stage: the time from its gradient of the input to that of
                                    // the first stage
  Nanos head = 0, back = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const Stage& stage = pipeline.stages[s];
    const bool halves = pipeline.split_backward && stage.weight > 0;
    heads[s] = head;
    backs[s] = back;
    Device& device = devices[stage.device];
    device.work += micros * (stage.forward + stage.input + stage.weight);
    device.head = std::min(device.head, head);
    // A device may run gradients of weights last. Only the all-reduce waits for them.
    device.tail =
        std::min(device.tail, halves ? stage.all_reduce : std::max(stage.all_reduce, back));
    if (s + 1 == count) break;
    const auto& [ahead, back_link] = pipeline.boundaries[s];
    head += stage.forward + ahead.time + ahead.latency;
    back += stage.input + (halves ? 0 : stage.weight) + back_link.time + back_link.latency;
  }
  Nanos bound = 0;
  for (const Device& device : devices) {
    if (device.work > 0) bound = std::max(bound, device.head + device.work + device.tail);
  }
  const bool own_devices = devices.size() == count;
  // For the stages from s on: the bound of lookahead.h, and the path of one micro-batch.
  Nanos busy = 0, path = 0;
  for (std::size_t s = count; s-- > 0;) {
    const Stage& stage = pipeline.stages[s];
    const bool halves = pipeline.split_backward && stage.weight > 0;
    const Nanos later = halves ? stage.weight : 0;
    const Nanos own = stage.forward + stage.input + stage.weight - later;
    if (s + 1 < count) {
      const auto& [ahead, back_link] = pipeline.boundaries[s];
      const Nanos latency = ahead.latency + back_link.latency;
      const Nanos both = ahead.time + back_link.time + latency;
      // The slower direction carries all micro-batches, and the other direction at least one.
      const Nanos longer = std::max(ahead.links.empty() ? 0 : ahead.time,
                                    back_link.links.empty() ? 0 : back_link.time);
      busy = std::max(own + both + busy, own + both + (micros - 1) * longer + path);
      path += own + both;
    } else {
      path = own;
      busy = own;
    }
    if (own_devices) busy = std::max(busy, micros * own);
    bound = std::max(bound, heads[s] + busy + later + stage.all_reduce);
    const Nanos round = path + (stage.input_memory == 0 ? later : 0);
    bound = std::max(bound, heads[s] + last_forward(pipeline, stage, round) + path +
                                std::max(backs[s], later + stage.all_reduce));
  }
  return bound;
}

Bounds lower_bounds(const Pipeline& pipeline) {
  const Chains chains = make_chains(pipeline);
  const Ends ends = ends_of(chains);
  Bounds bounds;
  const auto length = static_cast<std::size_t>(chains.length);
  for (std::size_t id = 0; id < chains.chains.size(); ++id) {
    const Chain& chain = chains.chains[id];
    const std::size_t first = id * length, last = first + length - 1;
    bounds.path = std::max(bounds.path, ends.head[first] + chain.duration + ends.tail[last]);
    if (chain.kind != Kind::kForward || chain.is_transfer) continue;
    const Stage& stage = pipeline.stages[chain.stage];
    // make_chains() adds the gradient chain of a stage right after its forward chain.
    bounds.memory =
        std::max(bounds.memory,
                 stage_memory_bound(pipeline, stage, ends.head[first + length], ends.tail[last]));
  }
  for (std::size_t m = 0; m < chains.machines.size(); ++m) {
    const Nanos bound = machine_bound(chains, chains.machines[m], ends);
    Nanos& kind = m < static_cast<std::size_t>(pipeline.devices()) ? bounds.work : bounds.link;
    kind = std::max(kind, bound);
  }
  return bounds;
}

}  // namespace weft::pipeline
