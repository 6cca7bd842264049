// SPDX-License-Identifier: Apache-2.0
// A recorded pipelined job taken apart: for each stage, step and micro-batch the forward and the
// backward, layer by layer, what comes behind the last of them, and what posting a message costs
// the host. Ranks run one stage each; stages follow from who sends to whom.
#pragma once

#include <vector>

#include "weft/pipeline/recorded/messages.h"
#include "weft/pipeline/recorded/piece.h"
#include "weft/pipeline/schedule/schedule.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// A forward or backward of one micro-batch. Its layers in the order of the model; a backward runs
/// the last first.
using Pass = std::vector<Piece>;

/// One step of one stage.
struct StageStep {
  std::vector<Pass> forwards, backwards;  ///< by micro-batch
  Piece rest;                             ///< optimizer and whatever else follows the backwards
  Nanos begin = 0;                        ///< host work before the first message or op
};

/// What the host of a rank spends around passes and messages.
struct HostCosts {
  Nanos post_one = 0, post_more = 0;  ///< to post a batch of one message, and of more
  /// From the last launch of a pass to the first call of the post behind it.
  Nanos leave_forward = 0, leave_backward = 0;
  /// Before the first layer of a pass, more than between two layers.
  Nanos enter_forward = 0, enter_backward = 0;
};

struct StageRecord {
  std::int32_t rank = -1;
  std::int32_t layers = 1;       ///< as far as they can be told apart
  std::vector<StageStep> steps;  ///< beside Recording::steps
  std::vector<Op> order;         ///< of the first step
  std::vector<Bytes> gradients;  ///< of each layer: as many bytes as it has parameters
  /// Of each layer, in all backwards of the first step: ops of the predictor's clean graph.
  std::vector<std::vector<graph::OpId>> backward_kernels;
  HostCosts host;
};

struct Recording {
  std::vector<std::int64_t> steps;
  Micro micro_batches = 0;
  std::vector<StageRecord> stages;
  MessageModel messages;
  /// From the end of compute to the start of a message that waited for it, and back.
  Nanos to_message = 0, to_compute = 0;

  std::int32_t layers() const;
};

/// Takes the steps of the predictor, cleaned of the profiler. An Error (kUsage) where the recording
/// shows no pipeline: no messages, forwards and backwards that cannot be told apart, ranks missing.
Result<Recording> take_apart(const predict::Job& job, const predict::Predictor& predictor,
                             const std::vector<cost::LinkTable>& links);

}  // namespace weft::pipeline::recorded
