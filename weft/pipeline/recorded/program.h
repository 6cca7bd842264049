// SPDX-License-Identifier: Apache-2.0
// A program describes everything that a rank does to run its ops in their order. It says when the
// rank posts messages, which messages form one batch, and which messages compute waits for.
// torch.distributed.pipelining posts all messages of a rank on one stream, one batch after the
// other. Each batch waits for the compute that was issued before it. Compute waits for the messages
// that it needs. So a batch that waits for its peer delays all later batches. The order of ops
// alone does not show this delay, so predictions need the program.
#pragma once

#include <compare>
#include <string_view>
#include <vector>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline::recorded {

/// The output of a forward for the next stage, or the gradient for the previous stage.
struct Message {
  StageId boundary = 0;  ///< it passes between this stage and the next one
  bool is_backward = false;
  Micro micro = 0;
  auto operator<=>(const Message&) const = default;
};

/// One side of a message.
struct End {
  Message message;
  bool sends = false;
  bool operator==(const End&) const = default;
};

struct Instruction {
  enum class Kind : std::uint8_t { kCompute, kPost, kWait } kind = Kind::kCompute;
  Op op;                   ///< for kCompute: the op to run
  std::vector<End> batch;  ///< for kPost: the messages that are posted together
  /// For kWait: compute waits for the post with this number. Each device counts its posts from 0.
  std::size_t post = 0;
  bool operator==(const Instruction&) const = default;
};

struct Program {
  std::vector<std::vector<Instruction>> devices;
};

/// The program that torch's class for gpipe, 1f1b or interleaved runs for this schedule. Fails with
/// kUsage for other names, and with kInfeasible if the orders deadlock.
Result<Program> torch_program(std::string_view family, const Pipeline& pipeline,
                              const Schedule& schedule);

/// Whether torch's class accepts this number of micro-batches: 1F1B needs at least as many as there
/// are stages; interleaved 1F1B needs a number that divides into equal rounds.
bool torch_takes(std::string_view family, const Pipeline& pipeline);

}  // namespace weft::pipeline::recorded
