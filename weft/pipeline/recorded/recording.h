// SPDX-License-Identifier: Apache-2.0
// Takes a recorded pipelined job apart into pieces that can run in another order:
// - the forward and the backward of each micro-batch, layer by layer, for each stage and step;
// - everything after the last backward of a step;
// - the host time of posting messages.
//
// Every rank must run one stage. The order of the stages follows from the messages: each stage
// sends to the next one.
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
  /// Host time to post a batch of one message, and a batch of several messages.
  Nanos post_one = 0, post_more = 0;
  /// Host time from the last launch of a pass to the first communication call of the post after
  /// this pass.
  Nanos leave_forward = 0, leave_backward = 0;
  /// Additional host time at the start of a pass, beyond the time between two layers.
  Nanos enter_forward = 0, enter_backward = 0;
};

struct StageRecord {
  std::int32_t rank = -1;
  std::int32_t layers = 1;       ///< layers that were found; 1 if none were
  std::vector<StageStep> steps;  ///< one per element of Recording::steps
  std::vector<Op> order;         ///< the ops of the first step, in order
  std::vector<Bytes> gradients;  ///< per layer: bytes of its parameter gradients
  /// `backward_kernels[layer]`: the kernels that the layer runs in all backwards of the first step.
  /// They are ops of Predictor::clean(), the graph without the cost of the profiler.
  std::vector<std::vector<graph::OpId>> backward_kernels;
  HostCosts host;
};

struct Recording {
  std::vector<std::int64_t> steps;
  Micro micro_batches = 0;
  std::vector<StageRecord> stages;
  MessageModel messages;
  /// `to_message`: the time from the end of compute to the start of a message that waited for this
  /// compute. `to_compute`: the time from the end of a message to the start of compute that waited
  /// for this message.
  Nanos to_message = 0, to_compute = 0;

  std::int32_t layers() const;
};

/// Uses the steps of the predictor, without the cost of the profiler. Fails with kUsage if the
/// recording shows no pipeline: there are no messages, ranks are missing, or forwards and backwards
/// cannot be told apart.
Result<Recording> take_apart(const predict::Job& job, const predict::Predictor& predictor,
                             const std::vector<cost::LinkTable>& links);

}  // namespace weft::pipeline::recorded
