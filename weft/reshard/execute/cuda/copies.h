// SPDX-License-Identifier: Apache-2.0
// What a launch shall do, as the caller says it: boxes copied, combined or filled. And the same as
// plain numbers, which is how it gets into the library of the kernels from any language.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/reshard/execute/cuda/job.h"
#include "weft/reshard/execute/host/strided_copy.h"

namespace weft::reshard::execute::cuda {

struct Copy {
  static constexpr std::int32_t kNoBuffer = -1;

  /// kNoBuffer: instead of a source there are two numbers, `from` and `more`. With kCopy they are
  /// the bytes of an element to fill the target with, with kScale each element becomes
  /// element * from / more.
  std::int32_t from_buffer = 0;
  std::int32_t to_buffer = 0;
  std::int64_t from = 0, to = 0;  ///< bytes into the buffers
  std::int64_t element = 1;       ///< bytes: 1, 2, 4, 8 or 16
  Type type = Type::kBytes;       ///< of what is combined or scaled
  /// kCopy replaces; else the source is combined into what the target holds.
  Operation operation = Operation::kCopy;
  std::int64_t more = 0;
  std::vector<CopyLoop> loops;  ///< in any order

  bool has_source() const { return from_buffer != kNoBuffer; }
};

/// kBytes where there is none of that name. Names as in problems: f32, bf16, i64, c128, pred, ...
Type type_of(std::string_view name);
/// kCopy where there is none. An average is added up, and scaled in the end.
Operation operation_of(std::string_view name);
/// Bytes of an element; 0 for kBytes.
std::int64_t size_of(Type type);
/// Complex numbers have no order.
bool can_combine(Type type, Operation operation);

/// For each copy kHead numbers: from_buffer, from, to_buffer, to, element, type, operation, more,
/// how many loops; then for each loop its extent, and its strides in source and target.
inline constexpr std::size_t kHead = 9;
std::vector<std::int64_t> encode(const std::vector<Copy>& copies);
/// What is wrong with the numbers; empty if nothing is. `buffers`: how many there are.
std::string decode(std::span<const std::int64_t> numbers, std::int64_t buffers,
                   std::vector<Copy>& copies);

}  // namespace weft::reshard::execute::cuda
