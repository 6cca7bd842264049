// SPDX-License-Identifier: Apache-2.0
// Computes when every op and transfer of a scheduled pipeline starts and ends. All planners and
// schedulers in weft/pipeline use this one simulator, so their figures can be compared.
//
// A device runs its ops in the order of the schedule, one at a time. An op starts as soon as the
// device is free and the data that the op needs has arrived:
//   - a forward needs the output of the previous stage;
//   - the gradient of the input needs the gradient from the next stage, and its own forward;
//   - the gradient of the weights needs the gradient of the input.
// A transfer starts when its op has ended and its links are free. A link serves transfers in the
// order in which they become ready. Ties go to the lower boundary, then to the forward direction,
// then to the lower micro-batch, whichever device sends. An all-reduce becomes ready with the last
// gradient of its stage. It holds its links like a transfer, and transfers that become ready at the
// same time go first. The step ends when the last op and the last all-reduce have ended.
#pragma once

#include <array>
#include <utility>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

struct Span {
  Nanos start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Sent {
  std::int32_t boundary = 0;  ///< it passes between this stage and the next one
  bool is_backward = false;
  Micro micro = 0;
  Span span;          ///< while the links are held
  Nanos arrival = 0;  ///< span.end plus the latency
};

struct Timeline {
  std::vector<std::vector<Span>> ops;  ///< ops[d][i] is the time of Schedule::orders[d][i]
  std::vector<Sent> transfers;         ///< sorted by boundary, direction, micro-batch
  Nanos makespan = 0;
  std::vector<Bytes> peaks;  ///< per device: the most memory that it holds at any time
};

/// Memory that a device holds from `time` on.
struct MemoryStep {
  Nanos time = 0;
  Bytes held = 0;
};

/// The pipeline must pass check(). Fails if the schedule does not pass its own check(), or if its
/// orders deadlock. Ignores memory limits: see fits(). Takes time linear in the ops; transfers that
/// share links with other devices take a logarithmic factor more.
Result<Timeline> simulate(const Pipeline& pipeline, const Schedule& schedule);

/// The simulator itself, for planners that time many thousand schedules. It reuses its buffers,
/// prepares once what all schedules of a pipeline have in common, and stops a run as soon as the
/// schedule is known to take too long.
class Simulator {
 public:
  /// Sets the pipeline of the following runs. Keeps a reference to it.
  void load(const Pipeline& pipeline);

  enum class End { kDone, kStuck, kTooLong };
  /// The schedule must pass check(). kStuck: the orders deadlock. kTooLong: the schedule takes
  /// `limit` or more. If `out` is given, it receives the timeline without the peaks.
  End run(const Schedule& schedule, Nanos limit, Timeline* out = nullptr);

  Nanos makespan() const { return makespan_; }  ///< of the last run, if it returned kDone
  std::int64_t ops() const { return ops_; }     ///< ops simulated in all runs so far
  /// After kStuck: a device that waits, and the index of the op that it cannot start.
  std::pair<DeviceId, std::size_t> stuck() const;

 private:
  /// Something that occupies links: one direction of a boundary, or the all-reduce of a stage.
  /// carried_ holds both directions of every boundary, forward first, and then the all-reduces.
  struct Carried {
    const std::vector<LinkId>* links = nullptr;
    DeviceId sender = 0;
    Nanos time = 0, latency = 0;
    StageId to = 0;
    DeviceId receiver = 0;
    /// One device alone sends everything on these links, so transfers become ready in the order in
    /// which the device produces them. They need no queue.
    bool at_once = true;
  };
  struct Pending {
    Nanos ready;
    std::size_t carried;
    Micro micro;
    bool operator>(const Pending& other) const;
  };

  std::size_t index(StageId stage, Micro micro) const {
    return static_cast<std::size_t>(stage) * pipeline_->micro_batches + micro;
  }
  bool is_reduce(std::size_t carried) const { return carried >= reduces_; }
  void find_turns();
  void start(const Schedule& schedule, Nanos limit);
  bool advance_all(const Schedule& schedule);
  const Nanos* needed(const Op& op) const;
  void finish(const Op& op, Nanos end);
  void send(const Pending& pending);
  void reduce(const Pending& pending);
  void pass(const Pending& pending);

  const Pipeline* pipeline_ = nullptr;
  std::vector<Carried> carried_;
  std::size_t reduces_ = 0;
  std::vector<std::array<Nanos, 4>> durations_;  ///< by stage and kind
  std::vector<Nanos> work_;                      ///< per device: duration of all of its ops
  std::vector<Nanos> tail_;  ///< per device: the least time from its last op to the end of the step
  std::vector<std::size_t> joined_;  ///< joins links that some transfer uses together (union-find)
  std::vector<DeviceId> senders_;    ///< per set of joined_ links: its only sender, or kSeveral
  std::vector<bool> instant_ops_;    ///< per device: two of its ops may end at the same time

  std::vector<Nanos> input_there_, gradient_there_, forward_end_, input_end_;
  std::vector<Nanos> link_free_, device_free_, reduce_free_;
  std::vector<Nanos> latest_;  ///< per device: if its next op starts later, the limit is missed
  std::vector<Micro> gradients_left_;  ///< per stage: weight gradients until its all-reduce starts
  std::vector<std::size_t> next_;      ///< per device: index of its next op
  std::vector<const Nanos*> waits_for_;  ///< per device: the arrival it waits for, or nullptr
  std::vector<DeviceId> awake_;          ///< devices that may be able to run their next op
  std::vector<Pending> waiting_;         ///< min-heap of transfers that queue for shared links
  Nanos makespan_ = 0;
  std::int64_t ops_ = 0;
  Timeline* out_ = nullptr;
};

/// Whether no device exceeds its memory limit. Needs no times: the order of the ops of a device
/// determines what it holds.
bool fits(const Pipeline& pipeline, const Schedule& schedule);
/// Whether no device exceeds its memory limit, by the peaks of a timeline.
bool fits(const Pipeline& pipeline, const Timeline& timeline);

/// How the memory of one device changes over time, in the order of its ops.
std::vector<MemoryStep> memory_curve(const Pipeline& pipeline, const Schedule& schedule,
                                     const Timeline& timeline, DeviceId device);

}  // namespace weft::pipeline
