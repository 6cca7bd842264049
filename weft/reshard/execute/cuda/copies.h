// SPDX-License-Identifier: Apache-2.0
// What a caller asks for: boxes to copy, combine, fill or scale. And the same encoded as plain
// numbers, which is how any language passes it to the library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/reshard/execute/cuda/work_list.h"
#include "weft/reshard/execute/host/strided_copy.h"

namespace weft::reshard::execute::cuda {

struct Copy {
  static constexpr std::int32_t kNoBuffer = -1;

  /// kNoBuffer: there is no source, and `from` and `more` are two numbers. With kCopy they are the
  /// bytes of an element to fill the target with. With kScale each element becomes
  /// element * from / more.
  std::int32_t from_buffer = 0;
  std::int32_t to_buffer = 0;
  std::int64_t from = 0, to = 0;  ///< offsets in the buffers, in bytes
  std::int64_t element = 1;       ///< bytes: 1, 2, 4, 8 or 16
  Type type = Type::kBytes;       ///< only for combining and scaling
  /// kCopy replaces. Others combine the source into what the target holds.
  Operation operation = Operation::kCopy;
  std::int64_t more = 0;
  std::vector<CopyLoop> loops;  ///< in any order

  bool has_source() const { return from_buffer != kNoBuffer; }
};

/// kBytes if there is no type of that name. Names as in problems: f32, bf16, i64, c128, pred, ...
Type type_of(std::string_view name);
/// kCopy if there is none. An average is combined as a sum, and scaled at the end.
Operation operation_of(std::string_view name);
/// Bytes of an element; 0 for kBytes.
std::int64_t size_of(Type type);
/// Whether the operation is defined for the type. Complex numbers have no order.
bool can_combine(Type type, Operation operation);

/// For each copy, kHead numbers: from_buffer, from, to_buffer, to, element, type, operation, more,
/// and the number of loops. Then for each loop its extent and its strides in source and target.
inline constexpr std::size_t kHead = 9;
std::vector<std::int64_t> encode(const std::vector<Copy>& copies);
/// Returns what is wrong with the numbers; empty: nothing. `buffers`: how many buffers there are.
std::string decode(std::span<const std::int64_t> numbers, std::int64_t buffers,
                   std::vector<Copy>& copies);

}  // namespace weft::reshard::execute::cuda
