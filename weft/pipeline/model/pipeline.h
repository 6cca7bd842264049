// SPDX-License-Identifier: Apache-2.0
// A Pipeline describes one synchronous training step: stages placed on devices, micro-batches that
// pass through the stages forward and backward, transfers over links, and memory limits. The
// duration of the step also depends on the order of ops on every device, which is a Schedule.
// simulate() computes when every op of a scheduled pipeline runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::pipeline {

using StageId = std::int32_t;
using DeviceId = std::int32_t;
using LinkId = std::int32_t;
using Micro = std::int32_t;  ///< number of a micro-batch

/// What a stage does with one micro-batch. A backward computes the gradients of the input and of
/// the weights in one op. Zero-bubble schedules run these two halves as separate ops, kInput and
/// kWeight. Other stages wait only for kInput. letter() gives the letters that torch uses.
enum class Kind : std::uint8_t { kForward, kInput, kWeight, kBackward };

/// Times may be in any unit as long as the whole pipeline uses the same one. Weft itself uses
/// nanoseconds.
struct Stage {
  DeviceId device = 0;
  Nanos forward = 0;
  Nanos input = 0;   ///< gradient of the input, which the stage before waits for
  Nanos weight = 0;  ///< gradient of the weights, which may run as late as the end of the step
  /// Memory change per op of each kind. A positive change takes memory when the op starts; a
  /// negative one frees memory when the op ends. An op kBackward makes both changes: input_memory
  /// and weight_memory.
  Bytes forward_memory = 0, input_memory = 0, weight_memory = 0;
  /// Duration of the all-reduce of a replicated stage. The all-reduce starts after the last
  /// gradient of the stage. The step does not end before the all-reduce ends.
  Nanos all_reduce = 0;
  /// The all-reduce occupies these links; messages on them wait for it.
  std::vector<LinkId> reduce_links = {};
};

/// A message between two stages. The op that needs its data cannot start before it arrives.
struct Transfer {
  Nanos time = 0;     ///< how long the message keeps its links busy
  Nanos latency = 0;  ///< from the end of `time` to the arrival; no link is busy meanwhile
  /// All of these links are busy for `time`. A link serves messages in the order in which they
  /// become ready.
  std::vector<LinkId> links;
};

/// The messages between a stage and the next stage, in each direction.
struct Boundary {
  Transfer forward, backward;
};

struct Pipeline {
  std::string name;
  Micro micro_batches = 1;
  std::vector<Stage> stages;
  std::vector<Boundary> boundaries;  ///< boundaries[s] lies between stages s and s + 1
  std::vector<Bytes> memory_limits;  ///< per device; empty: no limits
  bool split_backward = true;        ///< schedules may run the halves of a backward separately
  int decimals = 0;  ///< the times of the input file were multiplied by ten to this power
  /// Whether the all-reduces of stages on one device run one after the other, in the order in which
  /// their gradients are complete. If not, these all-reduces may overlap.
  bool reduces_in_turn = false;

  DeviceId devices() const;  ///< the largest device number plus one
  LinkId links() const;      ///< the largest link number plus one
};

/// Checks every number: no time is negative, the number of boundaries is right, either all devices
/// have a memory limit or none has, and one micro-batch fits on every stage. The Error says which
/// value is wrong.
Status check(const Pipeline& pipeline);

/// Makes a pipeline with one device per stage. Messages take the time `latency` and do not wait for
/// links. Tests and the reader of instance files (schedule/instances.h) use it.
Pipeline make_chain(const std::vector<Nanos>& forward, const std::vector<Nanos>& input,
                    const std::vector<Nanos>& weight, Nanos latency, Micro micro_batches);

Nanos duration(const Stage& stage, Kind kind);
Bytes memory_change(const Stage& stage, Kind kind);
char letter(Kind kind);  ///< F, I, W, B
/// Prints a time in the unit of the input file, for example "12.5" if `decimals` is 1.
std::string print_time(const Pipeline& pipeline, Nanos time);

}  // namespace weft::pipeline
