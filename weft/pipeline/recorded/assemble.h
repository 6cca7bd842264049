// SPDX-License-Identifier: Apache-2.0
// Builds the graph of a job that runs recorded pieces in a new order. The graph has the same form
// as the graph of a recording. So the usual replay computes how long its step is.
#pragma once

#include "weft/graph/graph.h"
#include "weft/pipeline/recorded/program.h"
#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// A stage of the new pipeline: the layers [first, last) of the model. Layer numbers count up over
/// all recorded stages.
struct StageLayers {
  std::int32_t first = 0, last = 0;
  DeviceId device = 0;  ///< the rank that runs the stage, as an index into Recording::stages
};

/// Divides the recorded layers into `stages` stages: stage s runs on rank s modulo the number of
/// ranks. With as many stages as ranks, the stages are the recorded stages; otherwise all get equal
/// numbers of layers. Fails with kUsage if there are fewer layers than stages, or if the layers
/// could not be found.
Result<std::vector<StageLayers>> divide_layers(const Recording& recording, std::int32_t stages);

/// The forward or backward of one micro-batch on a stage of the new pipeline, made of the layers of
/// one recorded step. If `micro` is larger than all recorded numbers, a recorded micro-batch is
/// used a second time. The first micro-batch of a step is not used for this (unless it is the only
/// one), because it also contains work that happens only at the start of a step.
Piece forward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                    Micro micro);
Piece backward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                     Micro micro);

/// Builds the graph, with one step for each recorded step. `program` must be a program for these
/// stages.
Result<graph::Graph> assemble(const Recording& recording, const std::vector<StageLayers>& stages,
                              const Program& program);

}  // namespace weft::pipeline::recorded
