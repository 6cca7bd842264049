// SPDX-License-Identifier: Apache-2.0
// This is the third implementation of the rules for plans. The others are the planner's simulator
// and the Python replay in tests/cli. This one differs from the simulator on purpose: all messages,
// also those that need no queue, wait in one queue and pass in the order of readiness.
#include "weft/pipeline/verify/times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "weft/base/counted.h"

namespace weft::pipeline::verify {
namespace {

using Devices = std::vector<std::int32_t>;

/// Nanoseconds per byte; infinite without a link.
double per_byte(std::int64_t bandwidth) {
  return bandwidth > 0 ? 1e9 / static_cast<double>(bandwidth)
                       : std::numeric_limits<double>::infinity();
}

double members(const std::vector<bool>& side, const Devices& group) {
  double count = 0;
  for (const std::int32_t device : group) count += side[device] ? 1 : 0;
  return count;
}

/// The share of the bytes from one group to another that crosses a shared link from side `a` to
/// side `b`: every sender sends an equal part to every receiver.
double crossing(const std::vector<bool>& a, const std::vector<bool>& b, const Devices& from,
                const Devices& to) {
  return members(a, from) * members(b, to) /
         (static_cast<double>(from.size()) * static_cast<double>(to.size()));
}

StageTimes times_of(const PlanData& plan, const StageData& stage, Bytes input_bytes) {
  double forward = 0, backward = 0, weight = 0;
  Bytes parameters = 0, stash = 0;
  for (std::int32_t i = stage.first; i < stage.last; ++i) {
    forward += static_cast<double>(plan.layers[i].forward);
    backward += static_cast<double>(plan.layers[i].backward);
    weight += static_cast<double>(plan.layers[i].weight);
    parameters += plan.layers[i].parameters;
    stash += plan.layers[i].stash;
  }
  if (stage.recompute) {
    backward += forward;
    stash = input_bytes;
  }
  const double work = group_work(plan, stage.devices);
  StageTimes times;
  times.forward = std::llround(forward * work);
  // A stage that recomputes runs whole backwards. Otherwise it would have to keep the recomputed
  // activations until the gradient of the weights runs later.
  if (!stage.recompute) times.weight = std::llround(weight * work);
  times.input = std::llround(backward * work) - times.weight;
  if (stage.devices.size() > 1 && parameters > 0) {
    times.reduce =
        std::llround(reduce_rate(plan, stage.devices) * static_cast<double>(parameters)) +
        reduce_latency(plan, stage.devices);
  }
  // Replicas split the samples of a micro-batch, so each keeps its part, rounded up.
  const auto replicas = static_cast<Bytes>(stage.devices.size());
  times.kept = (stash + replicas - 1) / replicas;
  return times;
}

/// Knows when links are free. Call send() and reduce() in the order in which messages and
/// all-reduces become ready.
class Links {
 public:
  explicit Links(const PlanData& plan) : plan_(plan), cuts_(plan.cuts()) {
    own_.assign(plan.groups * plan.groups, 0);
    shared_.assign(plan.shared.size() * 2, 0);
    reduced_.assign(plan.groups, 0);
    stages_.assign(plan.groups, 0);
    for (const StageData& stage : plan.stages) ++stages_[stage.group];
    carries_.assign(own_.size(), false);
    for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
      const std::size_t one = plan.stages[s].group, next = plan.stages[s + 1].group;
      carries_[one * plan.groups + next] = carries_[next * plan.groups + one] = true;
    }
  }
  /// Sends the result of an op that ended at `ready` to the next stage, or, if `back` is true, to
  /// the previous stage. Returns the time of its arrival.
  Nanos send(std::size_t from, bool back, Nanos ready) {
    const StageData& sender = plan_.stages[from];
    const StageData& receiver = plan_.stages[back ? from - 1 : from + 1];
    if (sender.group == receiver.group) return ready;
    const Bytes bytes = cuts_[back ? sender.first : sender.last];
    const Nanos time = std::llround(channel_rate(plan_, sender.devices, receiver.devices) *
                                    static_cast<double>(bytes));
    std::vector<Nanos*> held{&own_[sender.group * plan_.groups + receiver.group]};
    for (const std::size_t link : links_held(plan_, sender.devices, receiver.devices)) {
      held.push_back(&shared_[link]);
    }
    Nanos start = ready;
    for (const Nanos* free : held) start = std::max(start, *free);
    for (Nanos* free : held) *free = start + time;
    return start + time + channel_latency(plan_, sender.devices, receiver.devices);
  }
  /// All-reduces the gradients of a stage that are complete at `ready`; returns the end. The
  /// all-reduce waits for earlier all-reduces of its group and, if the group has several stages,
  /// for all messages from and to the group.
  Nanos reduce(std::size_t s, Nanos ready, Nanos takes) {
    const StageData& stage = plan_.stages[s];
    std::vector<Nanos*> held{&reduced_[stage.group]};
    if (stages_[stage.group] > 1) {
      for (std::size_t other = 0; other < plan_.groups; ++other) {
        if (!carries_[stage.group * plan_.groups + other]) continue;
        held.push_back(&own_[stage.group * plan_.groups + other]);
        held.push_back(&own_[other * plan_.groups + stage.group]);
      }
      for (const std::size_t link : links_held(plan_, stage.devices, stage.devices)) {
        held.push_back(&shared_[link]);
      }
    }
    for (const Nanos* free : held) ready = std::max(ready, *free);
    for (Nanos* free : held) *free = ready + takes;
    return ready + takes;
  }

 private:
  const PlanData& plan_;
  std::vector<Bytes> cuts_;
  std::vector<Nanos> own_, shared_;  ///< when each link is free; own_: by sending and receiving
                                     ///< group
  std::vector<bool> carries_;        ///< for own_: whether the two groups exchange messages
  std::vector<Nanos> reduced_;       ///< per group: when its last all-reduce ends
  std::vector<std::size_t> stages_;  ///< per group: its number of stages
};

/// Checks that every forward occurs once, and that every gradient occurs once, as a whole or in its
/// two halves. All of these ops must be on the devices of their stage.
Status check_orders(const PlanData& plan) {
  std::vector<std::set<std::pair<char, std::int32_t>>> seen(plan.stages.size());
  const auto wrong = [](std::size_t stage, const char* what) {
    return fail(ErrorCode::kInfeasible, "the order of stage " + std::to_string(stage) + " " + what);
  };
  if (plan.orders.size() != plan.groups) {
    return fail(ErrorCode::kInfeasible, counted(plan.orders.size(), "order") + " for " +
                                            counted(plan.groups, "group") + " of devices");
  }
  for (std::size_t group = 0; group < plan.orders.size(); ++group) {
    for (const OpData& op : plan.orders[group]) {
      const auto s = static_cast<std::size_t>(op.stage);
      if (s >= plan.stages.size() || plan.stages[s].group != group) {
        return fail(ErrorCode::kInfeasible, "order " + std::to_string(group) +
                                                " holds an op of stage " + std::to_string(s) +
                                                ", which has other devices");
      }
      if (op.micro >= plan.micro_batches)
        return wrong(s, "holds a micro-batch that does not exist");
      if (!seen[s].insert({op.kind, op.micro}).second) return wrong(s, "runs an op twice");
    }
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (std::int32_t m = 0; m < plan.micro_batches; ++m) {
      const bool whole = seen[s].contains({'B', m});
      const bool halves = seen[s].contains({'I', m}) && seen[s].contains({'W', m});
      const bool any_half = seen[s].contains({'I', m}) || seen[s].contains({'W', m});
      if (!seen[s].contains({'F', m}) || !(whole ? !any_half : halves)) {
        return wrong(s, "lacks an op, or runs a gradient both whole and in halves");
      }
    }
  }
  return {};
}

class Replay {
 public:
  explicit Replay(const PlanData& plan) : plan_(plan), links_(plan), times_(stage_times(plan)) {
    const std::size_t count = plan.stages.size();
    const auto cells = std::vector<Nanos>(static_cast<std::size_t>(plan.micro_batches), kLater);
    input_.assign(count, cells);
    gradient_.assign(count, cells);
    forward_done_.assign(count, cells);
    input_done_.assign(count, cells);
    std::fill(input_.front().begin(), input_.front().end(), 0);
    std::fill(gradient_.back().begin(), gradient_.back().end(), 0);
    gradients_left_.assign(count, plan.micro_batches);
    next_.assign(plan.groups, 0);
    free_.assign(plan.groups, 0);
    held_.assign(plan.groups, 0);
    most_.assign(plan.groups, 0);
  }

  Result<Replayed> run() {
    for (std::size_t g = 0; g < next_.size(); ++g) run_ops(g);
    Replayed out;
    while (!waiting_.empty()) {
      // No group can run any further, so nothing can become ready before the first message of the
      // queue.
      const Message first = waiting_.top();
      waiting_.pop();
      if (first.kind == Message::Kind::kGradients)
        out.step =
            std::max(out.step, links_.reduce(first.stage, first.ready, times_[first.stage].reduce));
      else
        pass(first);
    }
    for (std::size_t g = 0; g < next_.size(); ++g) {
      if (next_[g] < plan_.orders[g].size()) {
        return fail(ErrorCode::kInfeasible, "stage " +
                                                std::to_string(plan_.orders[g][next_[g]].stage) +
                                                " deadlocks: it waits for an op that never runs");
      }
      out.step = std::max(out.step, free_[g]);
    }
    out.most = most_;
    return out;
  }

 private:
  static constexpr Nanos kLater = std::numeric_limits<Nanos>::max();
  /// A message or an all-reduce whose op has ended and which waits for links. Ties in readiness go
  /// by `turn`: the lower boundary first, forwards before backwards, all-reduces after all
  /// messages.
  struct Message {
    enum class Kind { kThere, kBack, kGradients };
    Nanos ready;
    std::size_t turn;
    std::int32_t micro;
    std::size_t stage;
    Kind kind;
    bool operator>(const Message& other) const {
      return std::tie(ready, turn, micro) > std::tie(other.ready, other.turn, other.micro);
    }
  };

  Nanos ready(const OpData& op) const {
    const auto s = static_cast<std::size_t>(op.stage);
    if (op.kind == 'F') return input_[s][op.micro];
    if (op.kind == 'W') return input_done_[s][op.micro];
    return std::max(forward_done_[s][op.micro], gradient_[s][op.micro]);
  }

  /// Runs the ops of a group until one needs data that has not arrived.
  void run_ops(std::size_t g) {
    for (; next_[g] < plan_.orders[g].size(); ++next_[g]) {
      const OpData& op = plan_.orders[g][next_[g]];
      const Nanos when = ready(op);
      if (when == kLater) return;
      const StageTimes& times = times_[static_cast<std::size_t>(op.stage)];
      const Nanos length = op.kind == 'F'   ? times.forward
                           : op.kind == 'I' ? times.input
                           : op.kind == 'W' ? times.weight
                                            : times.input + times.weight;
      free_[g] = std::max(when, free_[g]) + length;
      // A forward takes memory; the gradient of the weights, alone or in a whole backward, frees
      // it.
      if (op.kind == 'F') most_[g] = std::max(most_[g], held_[g] += times.kept);
      if (op.kind == 'W' || op.kind == 'B') held_[g] -= times.kept;
      finish(op, free_[g]);
    }
  }

  void finish(const OpData& op, Nanos end) {
    const auto s = static_cast<std::size_t>(op.stage);
    if (op.kind == 'F') {
      forward_done_[s][op.micro] = end;
      if (s + 1 < plan_.stages.size())
        waiting_.push({end, 2 * s, op.micro, s, Message::Kind::kThere});
      return;
    }
    if (op.kind != 'W') {
      input_done_[s][op.micro] = end;
      if (s > 0) waiting_.push({end, 2 * s - 1, op.micro, s, Message::Kind::kBack});
    }
    if (op.kind != 'I' && --gradients_left_[s] == 0 && times_[s].reduce > 0) {
      waiting_.push({end, 2 * plan_.stages.size() + s, 0, s, Message::Kind::kGradients});
    }
  }

  void pass(const Message& message) {
    const bool back = message.kind == Message::Kind::kBack;
    const std::size_t to = back ? message.stage - 1 : message.stage + 1;
    (back ? gradient_ : input_)[to][message.micro] =
        links_.send(message.stage, back, message.ready);
    run_ops(plan_.stages[to].group);
  }

  const PlanData& plan_;
  Links links_;
  std::vector<StageTimes> times_;
  std::vector<std::vector<Nanos>> input_, gradient_, forward_done_, input_done_;
  std::vector<std::int32_t> gradients_left_;  ///< per stage
  std::vector<std::size_t> next_;             ///< per group, like all below
  std::vector<Nanos> free_;
  std::vector<Bytes> held_, most_;  ///< ops run in order, so memory changes in order too
  std::priority_queue<Message, std::vector<Message>, std::greater<>> waiting_;
};

}  // namespace

double channel_rate(const PlanData& plan, const Devices& from, const Devices& to) {
  const double pairs = static_cast<double>(from.size()) * static_cast<double>(to.size());
  double rate = 0;
  for (const std::int32_t sender : from) {
    for (const std::int32_t receiver : to) {
      rate = std::max(rate, per_byte(plan.bandwidth[sender][receiver]) / pairs);
    }
  }
  for (const SharedData& link : plan.shared) {
    const double most = std::max(crossing(link.one, link.other, from, to),
                                 crossing(link.other, link.one, from, to));
    if (most > 0) rate = std::max(rate, most * per_byte(link.bandwidth));
  }
  return rate;
}

std::vector<std::size_t> links_held(const PlanData& plan, const Devices& from, const Devices& to) {
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < plan.shared.size(); ++i) {
    const SharedData& link = plan.shared[i];
    if (crossing(link.one, link.other, from, to) > 0) held.push_back(2 * i);
    if (crossing(link.other, link.one, from, to) > 0) held.push_back(2 * i + 1);
  }
  return held;
}

Nanos channel_latency(const PlanData& plan, const Devices& from, const Devices& to) {
  Nanos latency = 0;
  for (const std::int32_t sender : from) {
    for (const std::int32_t receiver : to) {
      if (sender != receiver) latency = std::max(latency, plan.latency[sender][receiver]);
    }
  }
  return latency;
}

double group_work(const PlanData& plan, const Devices& group) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const std::int32_t device : group) slowest = std::min(slowest, plan.speed[device]);
  return 1 / (static_cast<double>(group.size()) * slowest);
}

double reduce_rate(const PlanData& plan, const Devices& group) {
  double rate = 0;
  for (const std::int32_t from : group) {
    for (const std::int32_t to : group) {
      if (from != to) rate = std::max(rate, per_byte(plan.bandwidth[from][to]));
    }
  }
  for (const SharedData& link : plan.shared) {
    if (members(link.one, group) > 0 && members(link.other, group) > 0) {
      rate = std::max(rate, per_byte(link.bandwidth));
    }
  }
  const auto r = static_cast<double>(group.size());
  return 2 * (r - 1) / r * rate;
}

Nanos reduce_latency(const PlanData& plan, const Devices& group) {
  return 2 * static_cast<Nanos>(group.size() - 1) * channel_latency(plan, group, group);
}

std::vector<StageTimes> stage_times(const PlanData& plan) {
  const std::vector<Bytes> cuts = plan.cuts();
  std::vector<StageTimes> times;
  for (const StageData& stage : plan.stages) {
    times.push_back(times_of(plan, stage, cuts[stage.first]));
  }
  return times;
}

Result<Replayed> replay(const PlanData& plan) {
  // A missing link would make times infinite, which must not reach the arithmetic of the replay.
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Devices& own = plan.stages[s].devices;
    double worst = reduce_rate(plan, own);
    if (s + 1 < plan.stages.size() && plan.stages[s].group != plan.stages[s + 1].group) {
      const Devices& next = plan.stages[s + 1].devices;
      worst = std::max({worst, channel_rate(plan, own, next), channel_rate(plan, next, own)});
    }
    if (std::isinf(worst)) {
      return fail(ErrorCode::kInfeasible,
                  "the devices of stage " + std::to_string(s) + " lack a link that the plan needs");
    }
  }
  WEFT_TRY(check_orders(plan));
  return Replay(plan).run();
}

}  // namespace weft::pipeline::verify
