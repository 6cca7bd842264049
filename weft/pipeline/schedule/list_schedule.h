// SPDX-License-Identifier: Apache-2.0
// Schedules made in the order of time: whenever a device is free it starts the best op that is
// ready and fits into memory. For pipelines of any size.
#pragma once

#include <array>
#include <limits>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

/// What is best, where several ops are ready.
struct Taste {
  bool forwards_first = false;  ///< rather than gradients of inputs
  /// Weights wait where an op that others need is known to come before they would end.
  bool patient = false;
  /// No more micro-batches on the way than there are stages behind, as in 1F1B.
  bool lean = false;
  bool whole_backwards = false;  ///< do not halve them, though the pipeline would allow it
};

/// Respects memory limits. Fails where no order of this kind fits into them, or where it would take
/// `limit` or more, as far as is known before links are simulated.
Result<Schedule> list_schedule(const Pipeline& pipeline, const Taste& taste,
                               Nanos limit = std::numeric_limits<Nanos>::max());

/// The same for planners that make very many: keeps its memory.
class ListScheduler {
 public:
  enum class End { kDone, kTooLong, kNoMemory };
  /// As list_schedule(). kNoMemory: no order of this kind fits.
  End run(const Pipeline& pipeline, const Taste& taste, Nanos limit);
  /// Of the last run, if that was done.
  Schedule& schedule() { return out_; }

 private:
  struct Lane {
    std::array<Micro, 3> done = {0, 0, 0};  ///< forwards, gradients of inputs, weights
  };
  struct Device {
    std::size_t first = 0, stages = 0;  ///< in on_device_
    StageId first_stage = 0;
    Bytes held = 0;
    Bytes others = 0;  ///< what a forward takes of each stage but the first
    Nanos free_at = 0;
    Nanos latest = 0;  ///< when it must have come to the ops it has left
  };
  struct Wake {
    Nanos time;
    DeviceId device;
  };

  void load(const Pipeline& pipeline, const Taste& taste, Nanos limit);
  Wake first_of(std::size_t at) const;
  void set_wake(DeviceId device, Nanos time);
  Kind gradient_kind() const { return halves_ ? Kind::kInput : Kind::kBackward; }
  bool forward_fits(const Device& device, StageId s) const;
  bool is_lean(StageId s) const;
  void start_best(DeviceId at, Nanos now);
  StageId weight_to_run(const Device& device, Nanos now, Nanos next_arrival) const;
  void start(Op op, Nanos now);
  void send(const Op& op, Nanos end);

  const Pipeline* pipeline_ = nullptr;
  Taste taste_;
  bool halves_ = true;
  bool late_ = false;
  std::vector<Lane> lanes_;                          ///< by stage
  std::vector<Nanos> input_there_, gradient_there_;  ///< by stage and micro-batch
  std::vector<Device> devices_;
  std::vector<StageId> on_device_;  ///< by device, the last stage first
  std::vector<Nanos> link_free_;
  /// When each device has to look next, as a tree: the least of all is at 1, devices are from
  /// leaves_ on.
  std::vector<Wake> wakes_;
  std::size_t leaves_ = 1;
  Schedule out_;
};

/// The eight tastes of the zero-bubble heuristic: all of patient, lean and forwards_first.
std::array<Taste, 8> zero_bubble_tastes();

/// Those with backwards in halves or whole that may make different schedules of the pipeline, the
/// impatient ones first.
std::vector<Taste> different_tastes(const Pipeline& pipeline);

/// The best of list_schedule() over zero_bubble_tastes(), by simulated time.
Result<Schedule> zb_auto(const Pipeline& pipeline);

}  // namespace weft::pipeline
