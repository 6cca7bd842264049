// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/simulate.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace weft::pipeline {
namespace {

constexpr Nanos kUnknown = -1;

/// What links carry: the two directions of every boundary, then the all-reduce of every stage.
struct Carried {
  const std::vector<LinkId>& links;
  DeviceId device;  ///< that has it to send
};

Carried carried(const Pipeline& pipeline, std::size_t i) {
  const std::size_t directions = pipeline.boundaries.size() * 2;
  if (i >= directions) {
    const Stage& stage = pipeline.stages[i - directions];
    return {stage.reduce_links, stage.device};
  }
  const Boundary& boundary = pipeline.boundaries[i / 2];
  return {(i % 2 == 0 ? boundary.forward : boundary.backward).links,
          pipeline.stages[i / 2 + i % 2].device};
}

/// Devices that may end two ops at once, since one of them takes no time: what these send is ready
/// at the same time, too.
std::vector<bool> may_hurry(const Pipeline& pipeline) {
  std::vector<bool> hurry(static_cast<std::size_t>(pipeline.devices()));
  for (const Stage& stage : pipeline.stages) {
    if (stage.forward == 0 || stage.input == 0) hurry[stage.device] = true;
  }
  return hurry;
}

/// Of all that is carried, what has its turn on its links as soon as its op ends, because one
/// device sends all that these links carry, one after the other.
std::vector<bool> served_at_once(const Pipeline& pipeline) {
  const std::size_t count = pipeline.boundaries.size() * 2 + pipeline.stages.size();
  std::vector<std::size_t> group(pipeline.links());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto root = [&](std::size_t link) {
    while (group[link] != link) link = group[link] = group[group[link]];
    return link;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto& links = carried(pipeline, i).links;
    for (const LinkId link : links) group[root(link)] = root(links.front());
  }
  constexpr DeviceId kNobody = -1, kSeveral = -2;
  const std::vector<bool> hurry = may_hurry(pipeline);
  std::vector<DeviceId> sender(group.size(), kNobody);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [links, device] = carried(pipeline, i);
    if (links.empty()) continue;
    DeviceId& known = sender[root(links.front())];
    known = (known == kNobody || known == device) && !hurry[device] ? device : kSeveral;
  }
  std::vector<bool> at_once(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& links = carried(pipeline, i).links;
    at_once[i] = links.empty() || sender[root(links.front())] != kSeveral;
  }
  return at_once;
}

class Simulation {
 public:
  Simulation(const Pipeline& pipeline, const Schedule& schedule)
      : pipeline_(pipeline), schedule_(schedule), at_once_(served_at_once(pipeline)) {
    const std::size_t ops = pipeline.stages.size() * static_cast<std::size_t>(micros());
    for (auto* times : {&input_there_, &gradient_there_, &forward_end_, &input_end_}) {
      times->assign(ops, kUnknown);
    }
    std::fill_n(input_there_.begin(), micros(), 0);
    std::fill(gradient_there_.end() - micros(), gradient_there_.end(), 0);
    link_free_.assign(pipeline.links(), 0);
    next_.assign(schedule.orders.size(), 0);
    device_free_.assign(schedule.orders.size(), 0);
    reduce_free_.assign(schedule.orders.size(), 0);
    gradients_left_.assign(pipeline.stages.size(), micros());
    out_.ops.resize(schedule.orders.size());
    for (std::size_t d = 0; d < schedule.orders.size(); ++d) {
      out_.ops[d].resize(schedule.orders[d].size());
    }
    out_.transfers.resize(pipeline.boundaries.size() * 2 * static_cast<std::size_t>(micros()));
  }

  Result<Timeline> run() {
    for (std::size_t d = 0; d < next_.size(); ++d) advance_all(static_cast<DeviceId>(d));
    while (!waiting_.empty()) {
      // Whatever becomes ready later does so after one of those that wait now has passed.
      const Pending first = waiting_.top();
      waiting_.pop();
      if (is_reduce(first))
        reduce(first);
      else
        advance_all(pass(first));
    }
    for (std::size_t d = 0; d < next_.size(); ++d) {
      if (next_[d] < schedule_.orders[d].size()) {
        return fail(ErrorCode::kInfeasible, "the orders of the devices wait for each other: " +
                                                print(schedule_.orders[d][next_[d]]) +
                                                " on device " + std::to_string(d) +
                                                " can never start");
      }
    }
    for (const Nanos free : device_free_) out_.makespan = std::max(out_.makespan, free);
    find_peaks();
    return std::move(out_);
  }

 private:
  /// A transfer that is ready. `direction` is twice the boundary, one more for backward; behind all
  /// of these, all-reduces by stage.
  struct Pending {
    Nanos ready;
    std::size_t direction;
    Micro micro;
    bool operator>(const Pending& other) const {
      return std::tie(ready, direction, micro) >
             std::tie(other.ready, other.direction, other.micro);
    }
  };

  Micro micros() const { return pipeline_.micro_batches; }
  std::size_t index(StageId stage, Micro micro) const {
    return static_cast<std::size_t>(stage) * micros() + micro;
  }

  /// When the op may start as far as others are concerned, or kUnknown.
  Nanos ready(const Op& op) const {
    const std::size_t i = index(op.stage, op.micro);
    if (op.kind == Kind::kForward) return input_there_[i];
    if (op.kind == Kind::kWeight) return input_end_[i];
    if (forward_end_[i] == kUnknown || gradient_there_[i] == kUnknown) return kUnknown;
    return std::max(forward_end_[i], gradient_there_[i]);
  }

  /// Runs ops of the device, and of those it wakes, until all wait.
  void advance_all(DeviceId device) {
    awake_.push_back(device);
    while (!awake_.empty()) {
      const DeviceId d = awake_.back();
      awake_.pop_back();
      const auto& order = schedule_.orders[d];
      while (next_[d] < order.size()) {
        const Op& op = order[next_[d]];
        const Nanos when = ready(op);
        if (when == kUnknown) break;
        const Nanos start = std::max(when, device_free_[d]);
        const Nanos end = start + duration(pipeline_.stages[op.stage], op.kind);
        device_free_[d] = end;
        out_.ops[d][next_[d]++] = {start, end};
        finish(op, end);
      }
    }
  }

  void finish(const Op& op, Nanos end) {
    const std::size_t i = index(op.stage, op.micro);
    if (op.kind == Kind::kForward) {
      forward_end_[i] = end;
      if (op.stage + 1 < static_cast<StageId>(pipeline_.stages.size())) {
        send({end, static_cast<std::size_t>(op.stage) * 2, op.micro});
      }
      return;
    }
    if (op.kind != Kind::kWeight) {
      input_end_[i] = end;
      if (op.stage > 0) send({end, static_cast<std::size_t>(op.stage) * 2 - 1, op.micro});
    }
    if (op.kind == Kind::kInput || --gradients_left_[op.stage] > 0) return;
    if (pipeline_.stages[op.stage].all_reduce > 0) {
      send({end, pipeline_.boundaries.size() * 2 + static_cast<std::size_t>(op.stage), 0});
    }
  }

  bool is_reduce(const Pending& pending) const {
    return pending.direction >= pipeline_.boundaries.size() * 2;
  }

  void send(const Pending& pending) {
    if (!at_once_[pending.direction]) {
      waiting_.push(pending);
    } else if (is_reduce(pending)) {
      reduce(pending);
    } else {
      awake_.push_back(pass(pending));
    }
  }

  void reduce(const Pending& pending) {
    const Stage& stage = pipeline_.stages[pending.direction - pipeline_.boundaries.size() * 2];
    Nanos start = pending.ready;
    if (pipeline_.reduces_in_turn) start = std::max(start, reduce_free_[stage.device]);
    for (const LinkId link : stage.reduce_links) start = std::max(start, link_free_[link]);
    const Nanos end = start + stage.all_reduce;
    reduce_free_[stage.device] = end;
    for (const LinkId link : stage.reduce_links) link_free_[link] = end;
    out_.makespan = std::max(out_.makespan, end);
  }

  /// Lets a transfer pass its links; the device that may go on then.
  DeviceId pass(const Pending& pending) {
    const std::size_t boundary = pending.direction / 2;
    const bool is_backward = pending.direction % 2 == 1;
    const Transfer& transfer = is_backward ? pipeline_.boundaries[boundary].backward
                                           : pipeline_.boundaries[boundary].forward;
    Nanos start = pending.ready;
    for (const LinkId link : transfer.links) start = std::max(start, link_free_[link]);
    const Nanos end = start + transfer.time;
    for (const LinkId link : transfer.links) link_free_[link] = end;
    const Nanos arrival = end + transfer.latency;
    out_.transfers[pending.direction * micros() + pending.micro] = {
        static_cast<std::int32_t>(boundary), is_backward, pending.micro, {start, end}, arrival};
    const auto to = static_cast<StageId>(boundary + (is_backward ? 0 : 1));
    (is_backward ? gradient_there_ : input_there_)[index(to, pending.micro)] = arrival;
    return pipeline_.stages[to].device;
  }

  void find_peaks() {
    for (const auto& order : schedule_.orders) {
      Bytes held = 0, peak = 0;
      for (const Op& op : order) {
        held += memory_change(pipeline_.stages[op.stage], op.kind);
        peak = std::max(peak, held);
      }
      out_.peaks.push_back(peak);
    }
  }

  const Pipeline& pipeline_;
  const Schedule& schedule_;
  std::vector<bool> at_once_;
  std::vector<Nanos> input_there_, gradient_there_, forward_end_, input_end_;
  std::vector<Nanos> link_free_, device_free_, reduce_free_;
  std::vector<Micro> gradients_left_;  ///< by stage, until all of its parameters' are there
  std::vector<std::size_t> next_;
  std::vector<DeviceId> awake_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> waiting_;
  Timeline out_;
};

}  // namespace

Result<Timeline> simulate(const Pipeline& pipeline, const Schedule& schedule) {
  WEFT_TRY(check(pipeline, schedule));
  return Simulation(pipeline, schedule).run();
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
