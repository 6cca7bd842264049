// SPDX-License-Identifier: Apache-2.0
// Parses the texts of NVTX ranges: framework operators, training steps, arguments of NCCL calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::trace::nsys {

/// The text of a range. torch.autograd.profiler.emit_nvtx() writes operators in the form
/// "aten::mm, seq = 3, op_id = 7, sizes = [[4, 8], [8, 2]]".
struct RangeText {
  std::string_view name;       ///< the text before the first argument
  bool is_op = false;          ///< the text has arguments of emit_nvtx()
  std::int64_t sequence = -1;  ///< autograd sequence number; -1 if the text has none
  std::string_view sizes;      ///< input shapes; empty if the text has none
};
RangeText parse_range(std::string_view text);

/// Kinds of ranges that may mark steps, the most explicit kind first. Only the most explicit kind
/// of a rank is used, because kinds may nest: "iteration 3" may be inside "step 1".
enum class StepSort : std::uint8_t { kProfilerStep, kStep, kIteration, kUnnumbered, kNone };
struct StepText {
  StepSort sort = StepSort::kNone;
  std::int64_t number = -1;  ///< -1 if the name has no number
};
/// Recognises names such as "ProfilerStep#5", "step 5", "train_step_5" and "Iteration: 5", and
/// names without number such as "training step".
StepText parse_step(std::string_view name);

/// Arguments that NCCL attaches to its NVTX ranges; -1 or empty if absent. nsys exports them (as
/// JSON text) only with --include-json=true.
struct NcclPayload {
  std::string communicator;
  std::int64_t bytes = -1;
  std::int64_t ranks = -1;
  std::int64_t rank = -1;  ///< within the communicator
  std::int64_t peer = -1;  ///< within the communicator
};
/// nullopt if the text has none of these arguments.
std::optional<NcclPayload> parse_nccl_payload(std::string_view json);

}  // namespace weft::trace::nsys
