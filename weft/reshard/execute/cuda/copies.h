// SPDX-License-Identifier: Apache-2.0
// Describes the work of a GPU as a list of copies. A Copy is what a caller asks for: a box to copy,
// combine, fill or scale. A list of copies can be encoded as plain numbers. In this form, any
// programming language can pass it to the library.
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

  /// kNoBuffer: there is no source, and `from` and `more` are two numbers. With kCopy, these
  /// numbers are the bytes of the element with which the target is filled. With kScale, each
  /// element becomes element * from / more.
  std::int32_t from_buffer = 0;
  std::int32_t to_buffer = 0;
  std::int64_t from = 0, to = 0;  ///< offsets in the buffers, in bytes
  std::int64_t element = 1;       ///< bytes: 1, 2, 4, 8 or 16
  Type type = Type::kBytes;       ///< only for combining and scaling
  /// kCopy replaces the target. Other operations combine the source into the target's data.
  Operation operation = Operation::kCopy;
  std::int64_t more = 0;
  std::vector<CopyLoop> loops;  ///< in any order

  bool has_source() const { return from_buffer != kNoBuffer; }
};

/// The type of that name; kBytes if there is none. Names are the same as in problems: f32, bf16,
/// i64, c128, pred, ...
Type type_of(std::string_view name);
/// The operation of that name; kCopy if there is none. An average is combined as a sum, and scaled
/// at the end.
Operation operation_of(std::string_view name);
/// Bytes of an element; 0 for kBytes.
std::int64_t size_of(Type type);
/// Whether the operation is defined for the type. Complex numbers have no order.
bool can_combine(Type type, Operation operation);

/// Encodes copies as numbers. Each copy has kHead numbers: from_buffer, from, to_buffer, to,
/// element, type, operation, more, and the number of loops. Then follow three numbers for each
/// loop: its extent, its stride in the source, and its stride in the target.
inline constexpr std::size_t kHead = 9;
std::vector<std::int64_t> encode(const std::vector<Copy>& copies);
/// Decodes copies. Returns a description of what is wrong with the numbers; empty if they are
/// right. `buffers` is the number of buffers.
std::string decode(std::span<const std::int64_t> numbers, std::int64_t buffers,
                   std::vector<Copy>& copies);

}  // namespace weft::reshard::execute::cuda
