// SPDX-License-Identifier: Apache-2.0
// The simulator is driven by data, not by a clock. Each device runs its ops until one needs data
// that has not arrived; the arrival wakes it again. This is enough if each link has one sender. A
// link with several senders must serve transfers in the order in which they become ready. So
// transfers on such links wait in a heap. The first transfer of the heap passes only when no device
// can run any further. Everything that devices produce later becomes ready after this transfer.
#include "weft/pipeline/schedule/simulate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

namespace weft::pipeline {
namespace {

constexpr Nanos kUnknown = -1;
constexpr Nanos kNoLimit = std::numeric_limits<Nanos>::max();

std::vector<Bytes> peaks_of(const Pipeline& pipeline, const Schedule& schedule) {
  std::vector<Bytes> peaks;
  for (const auto& order : schedule.orders) {
    Bytes held = 0, peak = 0;
    for (const Op& op : order) {
      held += memory_change(pipeline.stages[op.stage], op.kind);
      peak = std::max(peak, held);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

bool Simulator::Pending::operator>(const Pending& other) const {
  return std::tie(ready, carried, micro) > std::tie(other.ready, other.carried, other.micro);
}

void Simulator::load(const Pipeline& pipeline) {
  pipeline_ = &pipeline;
  const auto devices = static_cast<std::size_t>(pipeline.devices());
  carried_.clear();
  for (std::size_t i = 0; i < pipeline.boundaries.size(); ++i) {
    const auto s = static_cast<StageId>(i);
    const DeviceId one = pipeline.stages[i].device, next = pipeline.stages[i + 1].device;
    const auto& [there, back] = pipeline.boundaries[i];
    carried_.push_back({&there.links, one, there.time, there.latency, s + 1, next, true});
    carried_.push_back({&back.links, next, back.time, back.latency, s, one, true});
  }
  reduces_ = carried_.size();
  durations_.clear();
  work_.assign(devices, 0);
  tail_.assign(devices, kNoLimit);
  for (const Stage& stage : pipeline.stages) {
    carried_.push_back({&stage.reduce_links, stage.device, stage.all_reduce, 0, 0, 0, true});
    durations_.push_back({stage.forward, stage.input, stage.weight, stage.input + stage.weight});
    work_[stage.device] += pipeline.micro_batches * (stage.forward + stage.input + stage.weight);
    // The last op of a device completes the gradients of one of its stages, and the all-reduce of
    // that stage follows. Which stage that is depends on the schedule, so take the shortest
    // all-reduce.
    tail_[stage.device] = std::min(tail_[stage.device], stage.all_reduce);
  }
  find_turns();
}

/// Sets Carried::at_once. Links that one transfer holds at the same time form one set. If a single
/// device sends everything on a set of links, the transfers on the set become ready one after the
/// other and need no queue.
void Simulator::find_turns() {
  joined_.resize(pipeline_->links());
  std::iota(joined_.begin(), joined_.end(), std::size_t{0});
  const auto root = [&](std::size_t link) {
    while (joined_[link] != link) link = joined_[link] = joined_[joined_[link]];
    return link;
  };
  for (const Carried& carried : carried_) {
    for (const LinkId link : *carried.links) joined_[root(link)] = root(carried.links->front());
  }
  // An op that takes no time ends together with the op before it. Two transfers of the same device
  // are then ready at the same time. The tie-break decides between them, and it needs the queue.
  instant_ops_.assign(static_cast<std::size_t>(pipeline_->devices()), false);
  for (const Stage& stage : pipeline_->stages) {
    if (stage.forward == 0 || stage.input == 0) instant_ops_[stage.device] = true;
  }
  constexpr DeviceId kNobody = -1, kSeveral = -2;
  senders_.assign(joined_.size(), kNobody);
  for (const Carried& carried : carried_) {
    if (carried.links->empty()) continue;
    DeviceId& known = senders_[root(carried.links->front())];
    const bool alone = known == kNobody || known == carried.sender;
    known = alone && !instant_ops_[carried.sender] ? carried.sender : kSeveral;
  }
  for (Carried& carried : carried_) {
    carried.at_once = carried.links->empty() || senders_[root(carried.links->front())] != kSeveral;
  }
}

void Simulator::start(const Schedule& schedule, Nanos limit) {
  const auto micros = static_cast<std::size_t>(pipeline_->micro_batches);
  const std::size_t devices = schedule.orders.size();
  for (auto* times : {&input_there_, &gradient_there_, &forward_end_, &input_end_}) {
    times->assign(pipeline_->stages.size() * micros, kUnknown);
  }
  // The first stage has its inputs, and the last stage its gradients, from the start.
  std::fill_n(input_there_.begin(), micros, 0);
  std::fill_n(gradient_there_.end() - static_cast<std::ptrdiff_t>(micros), micros, 0);
  link_free_.assign(joined_.size(), 0);
  next_.assign(devices, 0);
  device_free_.assign(devices, 0);
  reduce_free_.assign(devices, 0);
  waits_for_.assign(devices, nullptr);
  gradients_left_.assign(pipeline_->stages.size(), pipeline_->micro_batches);
  latest_.assign(devices, kNoLimit);
  if (limit < kNoLimit) {
    for (std::size_t d = 0; d < devices; ++d) latest_[d] = limit - work_[d] - tail_[d];
  }
  waiting_.clear();
  awake_.clear();
  makespan_ = 0;
}

Simulator::End Simulator::run(const Schedule& schedule, Nanos limit, Timeline* out) {
  start(schedule, limit);
  out_ = out;
  if (out) {
    out->ops.resize(schedule.orders.size());
    for (std::size_t d = 0; d < schedule.orders.size(); ++d) {
      out->ops[d].resize(schedule.orders[d].size());
    }
    out->transfers.resize(reduces_ * static_cast<std::size_t>(pipeline_->micro_batches));
  }
  for (std::size_t d = 0; d < next_.size(); ++d) awake_.push_back(static_cast<DeviceId>(d));
  if (!advance_all(schedule)) return End::kTooLong;
  while (!waiting_.empty()) {
    // All devices wait now, so nothing can become ready before the first transfer of the heap.
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    const Pending first = waiting_.back();
    waiting_.pop_back();
    is_reduce(first.carried) ? reduce(first) : pass(first);
    if (!advance_all(schedule)) return End::kTooLong;
  }
  for (std::size_t d = 0; d < next_.size(); ++d) {
    if (next_[d] < schedule.orders[d].size()) return End::kStuck;
    makespan_ = std::max(makespan_, device_free_[d]);
  }
  return makespan_ < limit ? End::kDone : End::kTooLong;
}

std::pair<DeviceId, std::size_t> Simulator::stuck() const {
  for (std::size_t d = 0; d < next_.size(); ++d) {
    if (waits_for_[d]) return {static_cast<DeviceId>(d), next_[d]};
  }
  return {0, 0};
}

/// Returns a pointer to the time at which the data that the op needs arrives. This time is kUnknown
/// until the data has been sent. An op does not have to wait for the results of earlier ops of its
/// device, because the device is busy until these have ended. If the order puts a backward before
/// its own forward, the backward waits for ever: a deadlock.
const Nanos* Simulator::needed(const Op& op) const {
  const std::size_t i = index(op.stage, op.micro);
  if (op.kind == Kind::kForward) return &input_there_[i];
  if (op.kind == Kind::kWeight) return &input_end_[i];
  return forward_end_[i] == kUnknown ? &forward_end_[i] : &gradient_there_[i];
}

/// Runs the ops of all awake devices, and of devices that these wake, until all devices wait for
/// data. Returns false if some op starts too late for the limit.
bool Simulator::advance_all(const Schedule& schedule) {
  while (!awake_.empty()) {
    const DeviceId d = awake_.back();
    awake_.pop_back();
    const auto& order = schedule.orders[d];
    waits_for_[d] = nullptr;
    for (; next_[d] < order.size(); ++next_[d]) {
      const Op& op = order[next_[d]];
      const Nanos* when = needed(op);
      if (*when == kUnknown) {
        waits_for_[d] = when;
        break;
      }
      const Nanos start = std::max(*when, device_free_[d]);
      // Even without any further wait, the remaining ops of this device would end too late.
      if (start >= latest_[d]) return false;
      const Nanos duration = durations_[op.stage][static_cast<std::size_t>(op.kind)];
      if (latest_[d] != kNoLimit) latest_[d] += duration;
      device_free_[d] = start + duration;
      if (out_) out_->ops[d][next_[d]] = {start, start + duration};
      ++ops_;
      finish(op, start + duration);
    }
  }
  return true;
}

void Simulator::finish(const Op& op, Nanos end) {
  const std::size_t i = index(op.stage, op.micro);
  if (op.kind == Kind::kForward) {
    forward_end_[i] = end;
    if (static_cast<std::size_t>(op.stage) * 2 < reduces_) {
      send({end, static_cast<std::size_t>(op.stage) * 2, op.micro});
    }
    return;
  }
  if (op.kind != Kind::kWeight) {
    input_end_[i] = end;
    if (op.stage > 0) send({end, static_cast<std::size_t>(op.stage) * 2 - 1, op.micro});
  }
  if (op.kind == Kind::kInput || --gradients_left_[op.stage] > 0) return;
  const std::size_t own = reduces_ + static_cast<std::size_t>(op.stage);
  if (carried_[own].time > 0) send({end, own, 0});
}

void Simulator::send(const Pending& pending) {
  if (!carried_[pending.carried].at_once) {
    waiting_.push_back(pending);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  } else if (is_reduce(pending.carried)) {
    reduce(pending);
  } else {
    pass(pending);
  }
}

void Simulator::reduce(const Pending& pending) {
  const Carried& carried = carried_[pending.carried];
  Nanos start = pending.ready;
  // The all-reduces of one device wait for each other. Ops run in parallel with them.
  if (pipeline_->reduces_in_turn) start = std::max(start, reduce_free_[carried.sender]);
  for (const LinkId link : *carried.links) start = std::max(start, link_free_[link]);
  const Nanos end = start + carried.time;
  reduce_free_[carried.sender] = end;
  for (const LinkId link : *carried.links) link_free_[link] = end;
  makespan_ = std::max(makespan_, end);
}

/// Puts a transfer on its links and wakes the device that waits for it.
void Simulator::pass(const Pending& pending) {
  const Carried& carried = carried_[pending.carried];
  Nanos start = pending.ready;
  for (const LinkId link : *carried.links) start = std::max(start, link_free_[link]);
  const Nanos end = start + carried.time;
  for (const LinkId link : *carried.links) link_free_[link] = end;
  const Nanos arrival = end + carried.latency;
  const bool is_backward = pending.carried % 2 == 1;
  if (out_) {
    const std::size_t at =
        pending.carried * static_cast<std::size_t>(pipeline_->micro_batches) + pending.micro;
    out_->transfers[at] = {static_cast<std::int32_t>(pending.carried / 2),
                           is_backward,
                           pending.micro,
                           {start, end},
                           arrival};
  }
  Nanos& there = (is_backward ? gradient_there_ : input_there_)[index(carried.to, pending.micro)];
  there = arrival;
  if (waits_for_[carried.receiver] == &there) {
    waits_for_[carried.receiver] = nullptr;
    awake_.push_back(carried.receiver);
  }
}

Result<Timeline> simulate(const Pipeline& pipeline, const Schedule& schedule) {
  WEFT_TRY(check(pipeline, schedule));
  Simulator simulator;
  simulator.load(pipeline);
  Timeline out;
  if (simulator.run(schedule, kNoLimit, &out) == Simulator::End::kStuck) {
    const auto [device, at] = simulator.stuck();
    return fail(ErrorCode::kInfeasible,
                "the orders of the devices deadlock: " + print(schedule.orders[device][at]) +
                    " on device " + std::to_string(device) + " can never start");
  }
  out.makespan = simulator.makespan();
  out.peaks = peaks_of(pipeline, schedule);
  return out;
}

bool fits(const Pipeline& pipeline, const Schedule& schedule) {
  if (pipeline.memory_limits.empty()) return true;
  const std::vector<Bytes> peaks = peaks_of(pipeline, schedule);
  for (std::size_t d = 0; d < pipeline.memory_limits.size(); ++d) {
    if (peaks[d] > pipeline.memory_limits[d]) return false;
  }
  return true;
}

bool fits(const Pipeline& pipeline, const Timeline& timeline) {
  for (std::size_t d = 0; d < pipeline.memory_limits.size(); ++d) {
    if (timeline.peaks[d] > pipeline.memory_limits[d]) return false;
  }
  return true;
}

std::vector<MemoryStep> memory_curve(const Pipeline& pipeline, const Schedule& schedule,
                                     const Timeline& timeline, DeviceId device) {
  std::vector<MemoryStep> steps;
  Bytes held = 0;
  const auto& order = schedule.orders[device];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Bytes change = memory_change(pipeline.stages[order[i].stage], order[i].kind);
    if (change == 0) continue;
    const Span& span = timeline.ops[device][i];
    held += change;
    steps.push_back({change > 0 ? span.start : span.end, held});
  }
  return steps;
}

}  // namespace weft::pipeline
