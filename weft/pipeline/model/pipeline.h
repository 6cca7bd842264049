// SPDX-License-Identifier: Apache-2.0
// One synchronous training step as a pipeline: stages placed on devices, micro-batches that pass
// through them forwards and back, transfers over links, memory. What the step costs depends on the
// order of the ops on every device, a Schedule; simulate() tells when everything happens then.
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

/// What a stage does with one micro-batch. Backward is both gradients in one; its two halves can
/// be ops of their own, of which only the first keeps other stages waiting. Letters as in torch.
enum class Kind : std::uint8_t { kForward, kInput, kWeight, kBackward };

/// Times may be in any unit that the whole pipeline shares; Weft's own are nanoseconds.
struct Stage {
  DeviceId device = 0;
  Nanos forward = 0;
  Nanos input = 0;   ///< gradient of the input: what the stage before waits for
  Nanos weight = 0;  ///< gradient of the weights: may wait until the end
  /// Memory that an op of each kind takes (positive, when it starts) or frees (negative, at its
  /// end). A whole backward does what both of its halves do.
  Bytes forward_memory = 0, input_memory = 0, weight_memory = 0;
  Nanos all_reduce = 0;  ///< of a replicated stage: after its last gradient, before the step ends
  std::vector<LinkId> reduce_links = {};  ///< held meanwhile, so that messages wait
};

/// What stands between the end of an op and the start of the one that needs its result.
struct Transfer {
  Nanos time = 0;             ///< its links are busy so long
  Nanos latency = 0;          ///< passes after that, and keeps no link busy
  std::vector<LinkId> links;  ///< all are held for `time`; each serves in the order of readiness
};

/// Between a stage and the next one.
struct Boundary {
  Transfer forward, backward;
};

struct Pipeline {
  std::string name;
  Micro micro_batches = 1;
  std::vector<Stage> stages;
  std::vector<Boundary> boundaries;  ///< one less than stages
  std::vector<Bytes> memory_limits;  ///< of each device; empty: no limits
  bool split_backward = true;        ///< schedules may run the halves of a backward apart
  int decimals = 0;                  ///< times are those of a file times ten to this power
  /// All-reduces of the stages of a device run one after the other, as their gradients are ready.
  bool reduces_in_turn = false;

  DeviceId devices() const;  ///< one more than the largest number of a device
  LinkId links() const;
};

/// Sense of every number: nothing negative, as many boundaries as needed, no device without limit
/// where others have one, a first micro-batch that fits. An Error says which is wrong.
Status check(const Pipeline& pipeline);

/// A chain of equal devices, one a stage, links of their own: for tests and files of instances.
Pipeline make_chain(const std::vector<Nanos>& forward, const std::vector<Nanos>& input,
                    const std::vector<Nanos>& weight, Nanos latency, Micro micro_batches);

Nanos duration(const Stage& stage, Kind kind);
Bytes memory_change(const Stage& stage, Kind kind);
char letter(Kind kind);  ///< F, I, W, B
/// In the unit of the file, "12.5", where the pipeline has decimals; else as it is.
std::string print_time(const Pipeline& pipeline, Nanos time);

}  // namespace weft::pipeline
