// SPDX-License-Identifier: Apache-2.0
// Builds the graph of a job that runs recorded pieces in a new order. It is a graph like that of
// any recording, so the usual replay computes how long its step is.
#pragma once

#include "weft/graph/graph.h"
#include "weft/pipeline/recorded/program.h"
#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// A stage of the new pipeline: consecutive layers of the model, [first, last) over all recorded
/// stages.
struct StageLayers {
  std::int32_t first = 0, last = 0;
  DeviceId device = 0;  ///< index of its rank in Recording::stages
};

/// Divides the recorded layers into `stages` stages: stage s runs on rank s modulo the number of
/// ranks. With as many stages as ranks, the stages are those of the recording; otherwise all get
/// equal numbers of layers. Fails with kUsage if there are fewer layers than stages, or if the
/// layers could not be found.
Result<std::vector<StageLayers>> divide_layers(const Recording& recording, std::int32_t stages);

/// The forward or backward of one micro-batch on a stage of the new pipeline, made of the layers of
/// one recorded step. Micro-batches beyond the recorded ones repeat these, except the first one of
/// a step, which also contains work that only the start of a step has.
Piece forward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                    Micro micro);
Piece backward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                     Micro micro);

/// Builds the graph, with one step for each recorded step. `program` must be for these stages.
Result<graph::Graph> assemble(const Recording& recording, const std::vector<StageLayers>& stages,
                              const Program& program);

}  // namespace weft::pipeline::recorded
