// SPDX-License-Identifier: Apache-2.0
// What a rank really does with the order of its ops: when it posts messages, which of them
// together, and what it waits for. torch.distributed.pipelining posts the messages of a rank on one
// stream, one batch behind the other, each behind the compute issued so far; compute waits for what
// it receives. So a batch that waits for its peer holds up all that follow, which no order tells.
#pragma once

#include <compare>
#include <string_view>
#include <vector>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline::recorded {

/// The result of a forward on its way to the next stage, or the gradient on its way back.
struct Message {
  StageId boundary = 0;  ///< between this stage and the next
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
  Op op;                   ///< kCompute
  std::vector<End> batch;  ///< kPost: what goes at once
  std::size_t post = 0;    ///< kWait: compute goes on behind this post of the device (its number)
  bool operator==(const Instruction&) const = default;
};

struct Program {
  std::vector<std::vector<Instruction>> devices;
};

/// How torch's class of that name (gpipe, 1f1b, interleaved) runs the schedule of that family.
/// An Error (kUsage) for other names.
Result<Program> torch_program(std::string_view family, const Pipeline& pipeline,
                              const Schedule& schedule);

/// Whether that class takes so many micro-batches: 1F1B wants as many as there are stages, or more,
/// interleaved 1F1B rounds of equal length.
bool torch_takes(std::string_view family, const Pipeline& pipeline);

}  // namespace weft::pipeline::recorded
