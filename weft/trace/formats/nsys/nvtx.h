// SPDX-License-Identifier: Apache-2.0
// What the texts of NVTX ranges give away: framework operators, training steps, NCCL arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::trace::nsys {

/// "aten::mm, seq = 3, op_id = 7, sizes = [[4, 8], [8, 2]]", as torch.autograd.profiler.emit_nvtx()
/// writes operators.
struct RangeText {
  std::string_view name;  ///< up to the first argument
  bool is_op = false;     ///< it has arguments of emit_nvtx()
  std::int64_t sequence = -1;
  std::string_view sizes;
};
RangeText parse_range(std::string_view text);

/// Ranges that mark steps, by how plainly they say so. Only the plainest sort of a file counts:
/// "iteration 3" may be inside of "step 1".
enum class StepSort : std::uint8_t { kProfilerStep, kStep, kIteration, kUnnumbered, kNone };
struct StepText {
  StepSort sort = StepSort::kNone;
  std::int64_t number = -1;  ///< -1: unnumbered
};
/// "ProfilerStep#5", "step 5", "train_step_5", "Iteration: 5"; "training step" without a number.
StepText parse_step(std::string_view name);

/// Arguments that NCCL attaches to its ranges; exported as JSON text only with --include-json.
struct NcclPayload {
  std::string communicator;
  std::int64_t bytes = -1;
  std::int64_t ranks = -1;
  std::int64_t rank = -1;  ///< inside of the communicator
  std::int64_t peer = -1;
};
/// nullopt if the text holds none of them.
std::optional<NcclPayload> parse_nccl_payload(std::string_view json);

}  // namespace weft::trace::nsys
