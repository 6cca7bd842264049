// SPDX-License-Identifier: Apache-2.0
// Takes a recorded pipelined job apart into pieces that can run in another order: for each stage,
// step and micro-batch the forward and the backward, layer by layer; what follows the last
// backward; and the host time of posting messages. Every rank must run one stage. The order of the
// stages follows from which rank sends to which.
#pragma once

#include <vector>

#include "weft/pipeline/recorded/messages.h"
#include "weft/pipeline/recorded/piece.h"
#include "weft/pipeline/schedule/schedule.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// A forward or backward of one micro-batch: its layers, in the order of the model. A backward runs
/// them from the last to the first.
using Pass = std::vector<Piece>;

/// One step of one stage.
struct StageStep {
  std::vector<Pass> forwards, backwards;  ///< per micro-batch
  Piece rest;       ///< the optimizer and everything else after the last backward
  Nanos begin = 0;  ///< host work before the first message or op
};

/// What the host of a rank spends around passes and messages.
struct HostCosts {
  Nanos post_one = 0, post_more = 0;  ///< to post a batch of one message, of several
  /// From the last launch of a pass to the first call of the post after it.
  Nanos leave_forward = 0, leave_backward = 0;
  /// Before the first layer of a pass, in addition to the time between two layers.
  Nanos enter_forward = 0, enter_backward = 0;
};

struct StageRecord {
  std::int32_t rank = -1;
  std::int32_t layers = 1;       ///< layers that were found; 1 if none were
  std::vector<StageStep> steps;  ///< one per element of Recording::steps
  std::vector<Op> order;         ///< of the first step
  std::vector<Bytes> gradients;  ///< per layer: bytes of its parameter gradients
  /// Per layer, in all backwards of the first step: kernels of the predictor's clean graph.
  std::vector<std::vector<graph::OpId>> backward_kernels;
  HostCosts host;
};

struct Recording {
  std::vector<std::int64_t> steps;
  Micro micro_batches = 0;
  std::vector<StageRecord> stages;
  MessageModel messages;
  /// From the end of compute to the start of a message that waited for it, and from the end of a
  /// message to the start of compute that waited for it.
  Nanos to_message = 0, to_compute = 0;

  std::int32_t layers() const;
};

/// Uses the steps of the predictor, without the cost of the profiler. Fails with kUsage if the
/// recording shows no pipeline: there are no messages, ranks are missing, or forwards and backwards
/// cannot be told apart.
Result<Recording> take_apart(const predict::Job& job, const predict::Predictor& predictor,
                             const std::vector<cost::LinkTable>& links);

}  // namespace weft::pipeline::recorded
