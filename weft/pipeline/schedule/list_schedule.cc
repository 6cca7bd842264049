// SPDX-License-Identifier: Apache-2.0
// Builds a schedule by a discrete-event simulation of the devices. A tournament tree holds the time
// at which each device must look for an op again: when it becomes free, or when the next data
// arrives. The device that is due first starts the op that the rule prefers; starting an op sends
// its result, which may wake the receiver earlier. Links are first come, first served here, so the
// times are estimates. Only simulate() gives exact times.
#include "weft/pipeline/schedule/list_schedule.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {
namespace {

constexpr Nanos kNotYet = -1;
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

}  // namespace

void ListScheduler::load(const Pipeline& pipeline, const PriorityRule& rule, Nanos limit) {
  pipeline_ = &pipeline;
  rule_ = rule;
  halves_ = pipeline.split_backward && !rule.whole_backwards;
  late_ = false;
  const std::size_t stages = pipeline.stages.size();
  const auto devices = static_cast<std::size_t>(pipeline.devices());
  const auto micros = static_cast<std::size_t>(pipeline.micro_batches);
  input_there_.assign(stages * micros, kNotYet);
  gradient_there_.assign(stages * micros, kNotYet);
  std::fill_n(input_there_.begin(), micros, 0);
  progress_.resize(stages);
  devices_.assign(devices, {});
  for (Device& device : devices_) device.latest = limit;
  for (const Stage& stage : pipeline.stages) {
    Device& device = devices_[stage.device];
    ++device.stages;
    device.latest -= pipeline.micro_batches * (stage.forward + stage.input + stage.weight);
  }
  std::size_t first = 0;
  for (Device& device : devices_) {
    device.first = first;
    first += std::exchange(device.stages, 0);
  }
  on_device_.resize(stages);
  for (std::size_t s = stages; s-- > 0;) {
    const Stage& stage = pipeline.stages[s];
    Device& device = devices_[stage.device];
    on_device_[device.first + device.stages++] = static_cast<StageId>(s);
    device.others += stage.forward_memory;
    progress_[s] = {};
  }
  for (Device& device : devices_) {
    if (device.stages == 0) continue;
    // Stages are listed from the last to the first.
    device.first_stage = on_device_[device.first + device.stages - 1];
    device.others -= pipeline.stages[device.first_stage].forward_memory;
  }
  link_free_.assign(static_cast<std::size_t>(pipeline.links()), 0);
  out_.orders.resize(devices);
  for (auto& order : out_.orders) order.clear();
  leaves_ = std::bit_ceil(std::max<std::size_t>(devices, 1));
  wakes_.assign(2 * leaves_, {kNever, 0});
  for (std::size_t d = 0; d < leaves_; ++d) {
    wakes_[leaves_ + d] = {d < devices ? 0 : kNever, static_cast<DeviceId>(d)};
  }
  for (std::size_t i = leaves_; i-- > 1;) wakes_[i] = first_of(i);
}

/// The child that wakes first; ties go to the device with the lower number.
ListScheduler::Wake ListScheduler::first_of(std::size_t at) const {
  const Wake &one = wakes_[2 * at], &other = wakes_[2 * at + 1];
  return other.time < one.time ? other : one;
}

void ListScheduler::set_wake(DeviceId device, Nanos time) {
  std::size_t at = leaves_ + static_cast<std::size_t>(device);
  wakes_[at].time = time;
  for (at /= 2; at > 0; at /= 2) wakes_[at] = first_of(at);
}

ListScheduler::End ListScheduler::run(const Pipeline& pipeline, const PriorityRule& rule,
                                      Nanos limit) {
  load(pipeline, rule, limit);
  while (wakes_[1].time != kNever && !late_) {
    const Wake wake = wakes_[1];
    start_best(wake.device, wake.time);
  }
  if (late_) return End::kTooLong;
  for (const Progress& progress : progress_) {
    if (progress.done[0] < pipeline.micro_batches || progress.done[1] < pipeline.micro_batches ||
        (halves_ && progress.done[2] < pipeline.micro_batches)) {
      return End::kNoMemory;
    }
  }
  return End::kDone;
}

/// Whether a forward fits into memory. A device reserves memory for the oldest unfinished
/// micro-batch on all of its stages. Without the reserve, forwards of an early stage could fill the
/// device, and the forward of a late stage, which the step needs to go on, would never fit: a
/// deadlock.
bool ListScheduler::forward_fits(const Device& device, StageId s) const {
  if (pipeline_->memory_limits.empty()) return true;
  const Stage& stage = pipeline_->stages[s];
  Bytes need = device.held + stage.forward_memory;
  if (progress_[s].done[0] != progress_[device.first_stage].done[1]) need += device.others;
  return need <= pipeline_->memory_limits[stage.device];
}

/// Whether the rule allows one more micro-batch in flight on stage `s`.
bool ListScheduler::may_start_forward(StageId s) const {
  if (!rule_.limits_in_flight) return true;
  const Progress& progress = progress_[s];
  return progress.done[0] - progress.done[1] < static_cast<Micro>(progress_.size()) - s;
}

/// Starts the op that the rule prefers among the ready ones. If none is ready, the device sleeps
/// until the earliest known arrival; if other data is sent later but arrives earlier, send() wakes
/// the device.
void ListScheduler::start_best(DeviceId at, Nanos now) {
  Device& device = devices_[at];
  const Micro micros = pipeline_->micro_batches;
  StageId best = -1;
  Kind best_kind = Kind::kForward;
  Nanos next_arrival = kNever;
  for (std::size_t i = 0; i < device.stages; ++i) {  // late stages first: they free memory sooner
    const StageId s = on_device_[device.first + i];
    const Progress& progress = progress_[s];
    const std::size_t row = static_cast<std::size_t>(s) * micros;
    const Nanos gradient =
        progress.done[1] < progress.done[0] ? gradient_there_[row + progress.done[1]] : kNotYet;
    Nanos input = progress.done[0] < micros ? input_there_[row + progress.done[0]] : kNotYet;
    if (input != kNotYet && !(may_start_forward(s) && forward_fits(device, s))) input = kNotYet;
    const bool forward_ready = input != kNotYet && input <= now;
    const bool gradient_ready = gradient != kNotYet && gradient <= now;
    if (rule_.forwards_first ? forward_ready : gradient_ready) {
      best = s;
      best_kind = rule_.forwards_first ? Kind::kForward : gradient_kind();
      break;
    }
    if (best < 0 && (forward_ready || gradient_ready)) {
      best = s;
      best_kind = forward_ready ? Kind::kForward : gradient_kind();
    }
    if (!forward_ready && input != kNotYet) next_arrival = std::min(next_arrival, input);
    if (!gradient_ready && gradient != kNotYet) next_arrival = std::min(next_arrival, gradient);
  }
  if (best < 0 && halves_) {
    best = weight_to_run(device, now, next_arrival);
    best_kind = Kind::kWeight;
  }
  best < 0 ? set_wake(at, next_arrival) : start({best, best_kind, 0}, now);
}

/// The lowest-numbered stage of the device that can run a gradient of weights now; -1 if there is
/// none.
StageId ListScheduler::weight_to_run(const Device& device, Nanos now, Nanos next_arrival) const {
  for (std::size_t i = device.stages; i-- > 0;) {
    const StageId s = on_device_[device.first + i];
    const Progress& progress = progress_[s];
    if (progress.done[2] >= progress.done[1]) continue;
    const Nanos end = now + pipeline_->stages[s].weight;
    // Staying idle is safe: the arrival wakes the device.
    if (rule_.weights_wait && next_arrival < end) continue;
    return s;
  }
  return -1;
}

void ListScheduler::start(Op op, Nanos now) {
  const Stage& stage = pipeline_->stages[op.stage];
  Device& device = devices_[stage.device];
  Micro& done = progress_[op.stage].done[op.kind == Kind::kForward  ? 0
                                         : op.kind == Kind::kWeight ? 2
                                                                    : 1];
  op.micro = done++;
  device.held += memory_change(stage, op.kind);
  const Nanos end = now + duration(stage, op.kind);
  late_ |= now >= device.latest;
  device.latest += end - now;
  device.free_at = end;
  out_.orders[stage.device].push_back(op);
  set_wake(stage.device, end);
  if (op.kind != Kind::kWeight) send(op, end);
}

void ListScheduler::send(const Op& op, Nanos end) {
  const auto micros = static_cast<std::size_t>(pipeline_->micro_batches);
  const bool is_forward = op.kind == Kind::kForward;
  const StageId to = op.stage + (is_forward ? 1 : -1);
  if (to < 0) return;
  if (to == static_cast<StageId>(progress_.size())) {
    gradient_there_[static_cast<std::size_t>(op.stage) * micros + op.micro] = end;
    return;
  }
  const Boundary& boundary = pipeline_->boundaries[std::min(op.stage, to)];
  const Transfer& transfer = is_forward ? boundary.forward : boundary.backward;
  // On links that several devices share, transfers run in the order in which this function is
  // called. This order is a guess; simulate() computes the real order.
  Nanos sent = end;
  for (const LinkId link : transfer.links) sent = std::max(sent, link_free_[link]);
  for (const LinkId link : transfer.links) link_free_[link] = sent + transfer.time;
  const Nanos there = sent + transfer.time + transfer.latency;
  (is_forward ? input_there_ : gradient_there_)[static_cast<std::size_t>(to) * micros + op.micro] =
      there;
  // A busy device needs no wake-up, because it looks for an op when it becomes free.
  const DeviceId receiver = pipeline_->stages[to].device;
  if (there >= devices_[receiver].free_at && there < wakes_[leaves_ + receiver].time) {
    set_wake(receiver, there);
  }
}

Result<Schedule> list_schedule(const Pipeline& pipeline, const PriorityRule& rule, Nanos limit) {
  ListScheduler scheduler;
  switch (scheduler.run(pipeline, rule, limit)) {
    case ListScheduler::End::kDone:
      return std::move(scheduler.schedule());
    case ListScheduler::End::kTooLong:
      return fail(ErrorCode::kInfeasible, "the schedule would take too long");
    case ListScheduler::End::kNoMemory:
      break;
  }
  return fail(ErrorCode::kInfeasible, "memory runs out before the step is done");
}

std::array<PriorityRule, 8> zero_bubble_rules() {
  std::array<PriorityRule, 8> rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    rules[i].weights_wait = (i & 1) != 0;
    rules[i].limits_in_flight = (i & 2) != 0;
    rules[i].forwards_first = (i & 4) != 0;
  }
  return rules;
}

std::vector<PriorityRule> different_rules(const Pipeline& pipeline) {
  std::vector<PriorityRule> rules;
  for (const bool weights_wait : {false, true}) {
    for (PriorityRule rule : zero_bubble_rules()) {
      if (rule.weights_wait != weights_wait) continue;
      if (pipeline.split_backward) rules.push_back(rule);
      rule.whole_backwards = true;
      // Whole backwards leave no gradients of weights that could wait.
      if (!weights_wait) rules.push_back(rule);
    }
  }
  return rules;
}

Result<Schedule> zb_auto(const Pipeline& pipeline) {
  std::optional<Schedule> best;
  Nanos shortest = 0;
  Result<Schedule> last = fail(ErrorCode::kInfeasible, "");
  for (const PriorityRule& rule : zero_bubble_rules()) {
    last = list_schedule(pipeline, rule);
    if (!last) continue;
    const auto timeline = simulate(pipeline, *last);
    if (!timeline || (best && timeline->makespan >= shortest)) continue;
    shortest = timeline->makespan;
    best = std::move(*last);
  }
  if (!best) return last;
  return std::move(*best);
}

}  // namespace weft::pipeline
