// SPDX-License-Identifier: Apache-2.0
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

void ListScheduler::load(const Pipeline& pipeline, const Taste& taste, Nanos limit) {
  pipeline_ = &pipeline;
  taste_ = taste;
  halves_ = pipeline.split_backward && !taste.whole_backwards;
  late_ = false;
  const std::size_t stages = pipeline.stages.size();
  const auto devices = static_cast<std::size_t>(pipeline.devices());
  const auto micros = static_cast<std::size_t>(pipeline.micro_batches);
  input_there_.assign(stages * micros, kNotYet);
  gradient_there_.assign(stages * micros, kNotYet);
  std::fill_n(input_there_.begin(), micros, 0);
  lanes_.resize(stages);
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
    lanes_[s] = {};
  }
  for (Device& device : devices_) {
    if (device.stages == 0) continue;
    // Stages come from the last one on: the first is behind all others.
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

/// Of the two below, the one that wakes first; of equals the lower number.
ListScheduler::Wake ListScheduler::first_of(std::size_t at) const {
  const Wake &one = wakes_[2 * at], &other = wakes_[2 * at + 1];
  return other.time < one.time ? other : one;
}

void ListScheduler::set_wake(DeviceId device, Nanos time) {
  std::size_t at = leaves_ + static_cast<std::size_t>(device);
  wakes_[at].time = time;
  for (at /= 2; at > 0; at /= 2) wakes_[at] = first_of(at);
}

ListScheduler::End ListScheduler::run(const Pipeline& pipeline, const Taste& taste, Nanos limit) {
  load(pipeline, taste, limit);
  while (wakes_[1].time != kNever && !late_) {
    const Wake wake = wakes_[1];
    start_best(wake.device, wake.time);
  }
  if (late_) return End::kTooLong;
  for (const Lane& lane : lanes_) {
    if (lane.done[0] < pipeline.micro_batches || lane.done[1] < pipeline.micro_batches ||
        (halves_ && lane.done[2] < pipeline.micro_batches)) {
      return End::kNoMemory;
    }
  }
  return End::kDone;
}

/// Memory that the oldest micro-batch of a device may still need there: nobody else may take it, or
/// forwards of an early stage could keep those of a late one out for ever.
bool ListScheduler::forward_fits(const Device& device, StageId s) const {
  if (pipeline_->memory_limits.empty()) return true;
  const Stage& stage = pipeline_->stages[s];
  Bytes need = device.held + stage.forward_memory;
  if (lanes_[s].done[0] != lanes_[device.first_stage].done[1]) need += device.others;
  return need <= pipeline_->memory_limits[stage.device];
}

bool ListScheduler::is_lean(StageId s) const {
  if (!taste_.lean) return true;
  const Lane& lane = lanes_[s];
  return lane.done[0] - lane.done[1] < static_cast<Micro>(lanes_.size()) - s;
}

/// Starts the best op that is ready, or sets when the device has to look again: what is ready later
/// than that wakes it when it is sent.
void ListScheduler::start_best(DeviceId at, Nanos now) {
  Device& device = devices_[at];
  const Micro micros = pipeline_->micro_batches;
  StageId best = -1;
  Kind best_kind = Kind::kForward;
  Nanos next_arrival = kNever;
  for (std::size_t i = 0; i < device.stages; ++i) {  // late stages first
    const StageId s = on_device_[device.first + i];
    const Lane& lane = lanes_[s];
    const std::size_t row = static_cast<std::size_t>(s) * micros;
    const Nanos gradient =
        lane.done[1] < lane.done[0] ? gradient_there_[row + lane.done[1]] : kNotYet;
    Nanos input = lane.done[0] < micros ? input_there_[row + lane.done[0]] : kNotYet;
    if (input != kNotYet && !(is_lean(s) && forward_fits(device, s))) input = kNotYet;
    const bool forward_ready = input != kNotYet && input <= now;
    const bool gradient_ready = gradient != kNotYet && gradient <= now;
    if (taste_.forwards_first ? forward_ready : gradient_ready) {
      best = s;
      best_kind = taste_.forwards_first ? Kind::kForward : gradient_kind();
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

/// The first stage whose weights may run now; -1 where none may.
StageId ListScheduler::weight_to_run(const Device& device, Nanos now, Nanos next_arrival) const {
  for (std::size_t i = device.stages; i-- > 0;) {
    const StageId s = on_device_[device.first + i];
    const Lane& lane = lanes_[s];
    if (lane.done[2] >= lane.done[1]) continue;
    const Nanos end = now + pipeline_->stages[s].weight;
    // Whoever waits is woken by what arrives.
    if (taste_.patient && next_arrival < end) continue;
    return s;
  }
  return -1;
}

void ListScheduler::start(Op op, Nanos now) {
  const Stage& stage = pipeline_->stages[op.stage];
  Device& device = devices_[stage.device];
  Micro& done = lanes_[op.stage].done[op.kind == Kind::kForward  ? 0
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
  if (to == static_cast<StageId>(lanes_.size())) {
    gradient_there_[static_cast<std::size_t>(op.stage) * micros + op.micro] = end;
    return;
  }
  const Boundary& boundary = pipeline_->boundaries[std::min(op.stage, to)];
  const Transfer& transfer = is_forward ? boundary.forward : boundary.backward;
  // Turns on links that several devices share are guessed here; simulate() knows better.
  Nanos sent = end;
  for (const LinkId link : transfer.links) sent = std::max(sent, link_free_[link]);
  for (const LinkId link : transfer.links) link_free_[link] = sent + transfer.time;
  const Nanos there = sent + transfer.time + transfer.latency;
  (is_forward ? input_there_ : gradient_there_)[static_cast<std::size_t>(to) * micros + op.micro] =
      there;
  // Whoever is busy looks when that is over.
  const DeviceId receiver = pipeline_->stages[to].device;
  if (there >= devices_[receiver].free_at && there < wakes_[leaves_ + receiver].time) {
    set_wake(receiver, there);
  }
}

Result<Schedule> list_schedule(const Pipeline& pipeline, const Taste& taste, Nanos limit) {
  ListScheduler scheduler;
  switch (scheduler.run(pipeline, taste, limit)) {
    case ListScheduler::End::kDone:
      return std::move(scheduler.schedule());
    case ListScheduler::End::kTooLong:
      return fail(ErrorCode::kInfeasible, "it takes too long");
    case ListScheduler::End::kNoMemory:
      break;
  }
  return fail(ErrorCode::kInfeasible, "memory runs out before the step is done");
}

std::array<Taste, 8> zero_bubble_tastes() {
  std::array<Taste, 8> tastes;
  for (std::size_t i = 0; i < tastes.size(); ++i) {
    tastes[i].patient = (i & 1) != 0;
    tastes[i].lean = (i & 2) != 0;
    tastes[i].forwards_first = (i & 4) != 0;
  }
  return tastes;
}

std::vector<Taste> different_tastes(const Pipeline& pipeline) {
  std::vector<Taste> tastes;
  for (const bool patient : {false, true}) {
    for (Taste taste : zero_bubble_tastes()) {
      if (taste.patient != patient) continue;
      if (pipeline.split_backward) tastes.push_back(taste);
      taste.whole_backwards = true;
      if (!patient) tastes.push_back(taste);  // patience is about weights alone
    }
  }
  return tastes;
}

Result<Schedule> zb_auto(const Pipeline& pipeline) {
  std::optional<Schedule> best;
  Nanos shortest = 0;
  Result<Schedule> last = fail(ErrorCode::kInfeasible, "");
  for (const Taste& taste : zero_bubble_tastes()) {
    last = list_schedule(pipeline, taste);
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
