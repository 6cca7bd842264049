// SPDX-License-Identifier: Apache-2.0
// List scheduling: whenever a device is free, it starts the op with the highest priority among
// those that are ready and fit into memory. This is fast enough for pipelines of any size, but it
// does not guarantee the shortest schedule.
#pragma once

#include <array>
#include <limits>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

/// Which op a device starts if several are ready. Gradients of weights always come last.
struct PriorityRule {
  bool forwards_first = false;  ///< forwards go before gradients of inputs; if not, after them
  /// Whether a device may stay idle instead of running a gradient of weights. It stays idle if
  /// other devices need an op whose data is known to arrive before the gradient would end.
  bool weights_wait = false;
  /// A stage never has more micro-batches in flight than there are stages from it to the end, as in
  /// 1F1B.
  bool limits_in_flight = false;
  bool whole_backwards = false;  ///< run backwards whole even if the pipeline could split them
};

/// Respects memory limits. Fails if this rule leads to an order that runs out of memory or takes
/// `limit` or more. The time is an estimate, because links are simulated only roughly.
Result<Schedule> list_schedule(const Pipeline& pipeline, const PriorityRule& rule,
                               Nanos limit = std::numeric_limits<Nanos>::max());

/// Makes list schedules for planners that need many thousands of them. It reuses its buffers.
class ListScheduler {
 public:
  enum class End { kDone, kTooLong, kNoMemory };
  /// Makes a schedule as list_schedule() does. kNoMemory: the order ran out of memory.
  End run(const Pipeline& pipeline, const PriorityRule& rule, Nanos limit);
  /// The schedule of the last run, if it returned kDone.
  Schedule& schedule() { return out_; }

 private:
  /// How far a stage has come.
  struct Progress {
    std::array<Micro, 3> done = {0, 0, 0};  ///< forwards, gradients of inputs, of weights
  };
  struct Device {
    std::size_t first = 0, stages = 0;  ///< range in on_device_
    StageId first_stage = 0;            ///< lowest-numbered stage on the device
    Bytes held = 0;
    /// The sum over the device's other stages (all except first_stage) of the memory that one
    /// forward of the stage takes.
    Bytes others = 0;
    Nanos free_at = 0;
    Nanos latest = 0;  ///< if the next op starts later, the limit is missed
  };
  struct Wake {
    Nanos time;
    DeviceId device;
  };

  void load(const Pipeline& pipeline, const PriorityRule& rule, Nanos limit);
  Wake first_of(std::size_t at) const;
  void set_wake(DeviceId device, Nanos time);
  Kind gradient_kind() const { return halves_ ? Kind::kInput : Kind::kBackward; }
  bool forward_fits(const Device& device, StageId s) const;
  bool may_start_forward(StageId s) const;
  void start_best(DeviceId at, Nanos now);
  StageId weight_to_run(const Device& device, Nanos now, Nanos next_arrival) const;
  void start(Op op, Nanos now);
  void send(const Op& op, Nanos end);

  const Pipeline* pipeline_ = nullptr;
  PriorityRule rule_;
  bool halves_ = true;
  bool late_ = false;
  std::vector<Progress> progress_;                   ///< by stage
  std::vector<Nanos> input_there_, gradient_there_;  ///< by stage and micro-batch
  std::vector<Device> devices_;
  std::vector<StageId> on_device_;  ///< by device, the last stage first
  std::vector<Nanos> link_free_;
  /// When each device must look for an op next. A tournament tree: the earliest is at index 1, the
  /// devices are at indices from leaves_ on.
  std::vector<Wake> wakes_;
  std::size_t leaves_ = 1;
  Schedule out_;
};

/// The eight rules of the zero-bubble heuristic (ZB-auto): all combinations of weights_wait,
/// limits_in_flight and forwards_first.
std::array<PriorityRule, 8> zero_bubble_rules();

/// All rules, with backwards whole or in halves, that can give different schedules of this
/// pipeline. Rules without weights_wait come first.
std::vector<PriorityRule> different_rules(const Pipeline& pipeline);

/// The best list_schedule() over zero_bubble_rules(), by simulated time.
Result<Schedule> zb_auto(const Pipeline& pipeline);

}  // namespace weft::pipeline
