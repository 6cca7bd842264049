// SPDX-License-Identifier: Apache-2.0
// When every op and transfer of a scheduled pipeline starts and ends. All planners and schedulers
// of the room ask this one simulator, so their figures can be compared.
//
// A device runs its ops in their order, one at a time, each as soon as what it needs is there:
// a forward the result of the stage before, the gradient of the input that of the stage behind (and
// its own forward), the gradient of the weights that of the input. A transfer starts when its op
// ends and its links are free; a link serves in the order of readiness, equal ones by boundary,
// forwards first, then by micro-batch, whoever sends them. An all-reduce is ready when the last
// gradient of its stage is; it holds its links like a transfer, and comes behind transfers that are
// ready at the same time. The step ends when the last op and the last all-reduce do.
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
  std::int32_t boundary = 0;  ///< between this stage and the next
  bool is_backward = false;
  Micro micro = 0;
  Span span;          ///< while the links are held
  Nanos arrival = 0;  ///< span.end and the latency
};

struct Timeline {
  std::vector<std::vector<Span>> ops;  ///< beside Schedule::orders
  std::vector<Sent> transfers;         ///< by boundary, direction, micro-batch
  Nanos makespan = 0;
  std::vector<Bytes> peaks;  ///< most memory held, by device
};

/// Memory that a device holds from `time` on.
struct MemoryStep {
  Nanos time = 0;
  Bytes held = 0;
};

/// The pipeline must pass check(). Fails where the schedule does not, or where its orders wait for
/// each other for ever. Memory limits are not looked at: see fits(). Linear in ops, but for
/// transfers that share links across devices (a logarithm more).
Result<Timeline> simulate(const Pipeline& pipeline, const Schedule& schedule);

/// The simulator itself, for planners that time very many schedules: it keeps its memory, looks at
/// nothing twice that schedules of a pipeline have in common, and leaves a schedule as soon as it
/// is known to take too long.
class Simulator {
 public:
  /// Whose schedules come next. Keeps a reference.
  void load(const Pipeline& pipeline);

  enum class End { kDone, kStuck, kTooLong };
  /// The schedule must pass check(). kStuck: orders wait for each other for ever; kTooLong: it
  /// takes `limit` or more. `out`, where there is one, gets all of the timeline but the peaks.
  End run(const Schedule& schedule, Nanos limit, Timeline* out = nullptr);

  Nanos makespan() const { return makespan_; }  ///< of the last run, if that was done
  std::int64_t ops() const { return ops_; }     ///< of all runs
  /// The first op of a stuck device.
  std::pair<DeviceId, std::size_t> stuck() const;

 private:
  /// What links carry: the two directions of every boundary, forward first, then the all-reduce of
  /// every stage.
  struct Carried {
    const std::vector<LinkId>* links = nullptr;
    DeviceId sender = 0;
    Nanos time = 0, latency = 0;
    StageId to = 0;
    DeviceId receiver = 0;
    bool at_once = true;  ///< has its turn as soon as its op ends: one device sends all there is
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
  std::vector<Nanos> work_, tail_;               ///< of each device: all ops; what follows the last
  std::vector<std::size_t> joined_;              ///< links that are held together
  std::vector<DeviceId> senders_;                ///< of links
  std::vector<bool> hurries_;                    ///< devices whose ops may end at once

  std::vector<Nanos> input_there_, gradient_there_, forward_end_, input_end_;
  std::vector<Nanos> link_free_, device_free_, reduce_free_;
  std::vector<Nanos> latest_;          ///< by device: when it must have come to the ops it has left
  std::vector<Micro> gradients_left_;  ///< by stage, until all of its parameters' are there
  std::vector<std::size_t> next_;
  std::vector<const Nanos*> waits_for_;  ///< by device
  std::vector<DeviceId> awake_;
  std::vector<Pending> waiting_;  ///< heap
  Nanos makespan_ = 0;
  std::int64_t ops_ = 0;
  Timeline* out_ = nullptr;
};

/// Whether no device ever holds more than it may: by the order of its ops alone.
bool fits(const Pipeline& pipeline, const Schedule& schedule);
/// Whether no device ever holds more than it may.
bool fits(const Pipeline& pipeline, const Timeline& timeline);

std::vector<MemoryStep> memory_curve(const Pipeline& pipeline, const Schedule& schedule,
                                     const Timeline& timeline, DeviceId device);

}  // namespace weft::pipeline
