// SPDX-License-Identifier: Apache-2.0
// The graph of a job that runs a program made of recorded pieces: what the replay of any recording
// is done with tells how long its step is.
#pragma once

#include "weft/graph/graph.h"
#include "weft/pipeline/recorded/program.h"
#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// A stage of the new pipeline: consecutive layers of the model, [first, last) over all recorded
/// stages.
struct StageLayers {
  std::int32_t first = 0, last = 0;
  DeviceId device = 0;  ///< position of its rank in Recording::stages
};

/// The recorded layers dealt out evenly: stage s of `stages` runs on rank s modulo their number. As
/// recorded where every rank keeps one stage. An Error (kUsage) where layers cannot be told apart,
/// or there are fewer of them than stages.
Result<std::vector<StageLayers>> deal_out(const Recording& recording, std::int32_t stages);

/// What a micro-batch of the new pipeline costs its stage in a recorded step. Micro-batches beyond
/// the recorded ones cost what these do, but for the first of a step.
Piece forward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                    Micro micro);
Piece backward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                     Micro micro);

/// One graph step for each recorded step.
Result<graph::Graph> assemble(const Recording& recording, const std::vector<StageLayers>& stages,
                              const Program& program);

}  // namespace weft::pipeline::recorded
