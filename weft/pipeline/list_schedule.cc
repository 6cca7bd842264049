// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/list_schedule.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

#include "weft/pipeline/simulate.h"

namespace weft::pipeline {
namespace {

constexpr Nanos kUnknown = -1;

class Lister {
 public:
  Lister(const Pipeline& pipeline, const Taste& taste, Nanos limit)
      : pipeline_(pipeline), taste_(taste), lanes_(pipeline.stages.size()) {
    halves_ = pipeline.split_backward && !taste.whole_backwards;
    const auto micros = static_cast<std::size_t>(pipeline.micro_batches);
    const StageId stages = static_cast<StageId>(lanes_.size());
    for (StageId s = 0; s < stages; ++s) {
      lanes_[s].input_there.assign(micros, s == 0 ? 0 : kUnknown);
      lanes_[s].gradient_there.assign(micros, kUnknown);
    }
    free_at_.assign(pipeline.devices(), 0);
    held_.assign(pipeline.devices(), 0);
    on_device_.resize(pipeline.devices());
    for (StageId s = 0; s < stages; ++s) on_device_[pipeline.stages[s].device].push_back(s);
    latest_.assign(pipeline.devices(), limit);
    for (const Stage& stage : pipeline.stages) {
      latest_[stage.device] -=
          pipeline.micro_batches * (stage.forward + stage.input + stage.weight);
    }
    link_free_.assign(pipeline.links(), 0);
    out_.orders.resize(pipeline.devices());
  }

  Result<Schedule> run() {
    for (DeviceId d = 0; d < pipeline_.devices(); ++d) wake(0, d);
    while (!events_.empty() && !late_) {
      const auto [time, device] = events_.top();
      events_.pop();
      if (free_at_[device] <= time) start_best(device, time);
    }
    if (late_) return fail(ErrorCode::kInfeasible, "it takes too long");
    for (const Lane& lane : lanes_) {
      if (lane.done[0] < pipeline_.micro_batches || lane.done[1] < pipeline_.micro_batches ||
          (halves_ && lane.done[2] < pipeline_.micro_batches)) {
        return fail(ErrorCode::kInfeasible, "memory runs out before the step is done");
      }
    }
    return std::move(out_);
  }

 private:
  struct Lane {
    std::array<Micro, 3> done = {0, 0, 0};  ///< forwards, gradients of inputs, weights
    std::vector<Nanos> input_there, gradient_there;
  };
  using Event = std::pair<Nanos, DeviceId>;

  void wake(Nanos time, DeviceId device) { events_.emplace(time, device); }
  Kind gradient() const { return halves_ ? Kind::kInput : Kind::kBackward; }

  /// Memory that the oldest micro-batch of a device may still need there: nobody else may take it,
  /// or forwards of an early stage could keep those of a late one out for ever.
  bool forward_fits(StageId s) const {
    const Stage& stage = pipeline_.stages[s];
    if (pipeline_.memory_limits.empty()) return true;
    Bytes need = held_[stage.device] + stage.forward_memory;
    const auto& stages = on_device_[stage.device];
    const Micro oldest = lanes_[stages.front()].done[1];
    if (lanes_[s].done[0] != oldest) {
      for (std::size_t i = 1; i < stages.size(); ++i) {
        need += pipeline_.stages[stages[i]].forward_memory;
      }
    }
    return need <= pipeline_.memory_limits[stage.device];
  }

  bool is_lean(StageId s) const {
    if (!taste_.lean) return true;
    const Lane& lane = lanes_[s];
    return lane.done[0] - lane.done[1] < static_cast<Micro>(lanes_.size()) - s;
  }

  void start_best(DeviceId device, Nanos now) {
    using Key = std::tuple<int, StageId, StageId, Kind>;  // rank, late stages first
    std::optional<Key> best;
    Nanos next_arrival = kUnknown;
    const auto offer = [&](Nanos there, int rank, StageId s, Kind kind) {
      if (there == kUnknown) return;
      if (there > now) {
        if (next_arrival == kUnknown || there < next_arrival) next_arrival = there;
        return;
      }
      const Key key{rank, -s, s, kind};
      if (!best || key < *best) best = key;
    };
    for (const StageId s : on_device_[device]) {
      const Lane& lane = lanes_[s];
      const Micro micros = pipeline_.micro_batches;
      if (lane.done[0] < micros && is_lean(s) && forward_fits(s)) {
        offer(lane.input_there[lane.done[0]], taste_.forwards_first ? 0 : 1, s, Kind::kForward);
      }
      if (lane.done[1] < lane.done[0]) {
        offer(lane.gradient_there[lane.done[1]], taste_.forwards_first ? 1 : 0, s, gradient());
      }
    }
    if (!best && halves_) offer_weights(device, now, next_arrival, best);
    if (best) start({std::get<2>(*best), std::get<3>(*best), 0}, now);
  }

  void offer_weights(DeviceId device, Nanos now, Nanos next_arrival,
                     std::optional<std::tuple<int, StageId, StageId, Kind>>& best) {
    for (const StageId s : on_device_[device]) {
      const Lane& lane = lanes_[s];
      if (lane.done[2] >= lane.done[1]) continue;
      const Nanos end = now + pipeline_.stages[s].weight;
      // Whoever waits is woken by what arrives.
      if (taste_.patient && next_arrival != kUnknown && next_arrival < end) continue;
      best = {2, -s, s, Kind::kWeight};
      return;
    }
  }

  void start(Op op, Nanos now) {
    const Stage& stage = pipeline_.stages[op.stage];
    Lane& lane = lanes_[op.stage];
    Micro& done = lane.done[op.kind == Kind::kForward ? 0 : op.kind == Kind::kWeight ? 2 : 1];
    op.micro = done++;
    held_[stage.device] += memory_change(stage, op.kind);
    const Nanos end = now + duration(stage, op.kind);
    late_ |= now >= latest_[stage.device];
    latest_[stage.device] += end - now;
    free_at_[stage.device] = end;
    out_.orders[stage.device].push_back(op);
    wake(end, stage.device);
    if (op.kind == Kind::kWeight) return;
    const bool is_forward = op.kind == Kind::kForward;
    const StageId to = op.stage + (is_forward ? 1 : -1);
    if (to < 0) return;
    if (to == static_cast<StageId>(lanes_.size())) {
      lane.gradient_there[op.micro] = end;
      return;
    }
    const Boundary& boundary = pipeline_.boundaries[std::min(op.stage, to)];
    const Transfer& transfer = is_forward ? boundary.forward : boundary.backward;
    // Turns on links that several devices share are guessed here; simulate() knows better.
    Nanos sent = end;
    for (const LinkId link : transfer.links) sent = std::max(sent, link_free_[link]);
    for (const LinkId link : transfer.links) link_free_[link] = sent + transfer.time;
    const Nanos there = sent + transfer.time + transfer.latency;
    (is_forward ? lanes_[to].input_there : lanes_[to].gradient_there)[op.micro] = there;
    wake(there, pipeline_.stages[to].device);
  }

  const Pipeline& pipeline_;
  const Taste taste_;
  bool halves_ = true;
  std::vector<Lane> lanes_;
  std::vector<Nanos> free_at_, link_free_;
  std::vector<Nanos> latest_;  ///< by device: when it must have come to the ops it has left
  bool late_ = false;
  std::vector<Bytes> held_;
  std::vector<std::vector<StageId>> on_device_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Schedule out_;
};

}  // namespace

Result<Schedule> list_schedule(const Pipeline& pipeline, const Taste& taste, Nanos limit) {
  return Lister(pipeline, taste, limit).run();
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
