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

#include "weft/pipeline/schedule.h"

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

/// Whether no device ever holds more than it may.
bool fits(const Pipeline& pipeline, const Timeline& timeline);

std::vector<MemoryStep> memory_curve(const Pipeline& pipeline, const Schedule& schedule,
                                     const Timeline& timeline, DeviceId device);

}  // namespace weft::pipeline
