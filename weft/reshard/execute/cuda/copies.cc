// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes copies. The numbers may come from a program in any language. So decode()
// checks them: buffers must exist, offsets and loops must not be negative, no kernel may divide by
// 0, and the type must allow the operation. It cannot check whether offsets and loops stay within a
// buffer, because it does not know the sizes of buffers.
#include "weft/reshard/execute/cuda/copies.h"

#include <algorithm>

#include "weft/reshard/execute/host/numbers.h"

namespace weft::reshard::execute::cuda {
namespace {

/// The Type for each element type of the host.
Type number_of(Float16) { return Type::kF16; }
Type number_of(BFloat16) { return Type::kBf16; }
Type number_of(float) { return Type::kF32; }
Type number_of(double) { return Type::kF64; }
Type number_of(std::int8_t) { return Type::kI8; }
Type number_of(std::int16_t) { return Type::kI16; }
Type number_of(std::int32_t) { return Type::kI32; }
Type number_of(std::int64_t) { return Type::kI64; }
Type number_of(std::uint8_t) { return Type::kU8; }
Type number_of(std::uint16_t) { return Type::kU16; }
Type number_of(std::uint32_t) { return Type::kU32; }
Type number_of(std::uint64_t) { return Type::kU64; }
Type number_of(std::complex<float>) { return Type::kC64; }
Type number_of(std::complex<double>) { return Type::kC128; }
Type number_of(Bool8) { return Type::kBool; }

/// What is wrong with one copy, apart from its loops. Empty if nothing is wrong.
std::string_view fault(std::span<const std::int64_t> head, std::int64_t buffers) {
  const std::int64_t element = head[4], type = head[5], operation = head[6];
  const bool has_source = head[0] != Copy::kNoBuffer;
  if (has_source && (head[0] < 0 || head[0] >= buffers)) return "no such source buffer";
  if (head[2] < 0 || head[2] >= buffers) return "no such target buffer";
  if ((has_source && head[1] < 0) || head[3] < 0) return "an offset is negative";
  if (element <= 0 || element > 16 || (element & (element - 1)) != 0) {
    return "elements must have 1, 2, 4, 8 or 16 bytes";
  }
  if (type < 0 || type > static_cast<int>(Type::kBool)) return "no such type";
  if (operation < 0 || operation > static_cast<int>(Operation::kScale)) return "no such operation";
  const auto known = static_cast<Operation>(operation);
  if (known == Operation::kCopy) return "";
  if ((known == Operation::kScale) == has_source) {
    return has_source ? "scaling takes no source" : "this operation needs a source";
  }
  if (known == Operation::kScale && head[7] == 0) return "cannot divide by 0";
  if (!can_combine(static_cast<Type>(type), known))
    return "the operation is not defined for this type";
  if (size_of(static_cast<Type>(type)) != element) return "the type has elements of another size";
  return "";
}

}  // namespace

Type type_of(std::string_view name) {
  Type found = Type::kBytes;
  with_type(name, [&](auto type) { found = number_of(type); });
  return found;
}

Operation operation_of(std::string_view name) {
  if (name == "sum" || name == "avg") return Operation::kSum;
  if (name == "min") return Operation::kMin;
  if (name == "max") return Operation::kMax;
  if (name == "prod") return Operation::kProd;
  if (name == "scale") return Operation::kScale;
  return Operation::kCopy;
}

std::int64_t size_of(Type type) {
  switch (type) {
    case Type::kBytes:
      return 0;
    case Type::kI8:
    case Type::kU8:
    case Type::kBool:
      return 1;
    case Type::kF16:
    case Type::kBf16:
    case Type::kI16:
    case Type::kU16:
      return 2;
    case Type::kF32:
    case Type::kI32:
    case Type::kU32:
      return 4;
    case Type::kF64:
    case Type::kI64:
    case Type::kU64:
    case Type::kC64:
      return 8;
    case Type::kC128:
      return 16;
  }
  return 0;
}

bool can_combine(Type type, Operation operation) {
  if (type == Type::kBytes || operation == Operation::kCopy) return false;
  const bool complex = type == Type::kC64 || type == Type::kC128;
  const bool ordered = operation == Operation::kMin || operation == Operation::kMax;
  return !(complex && ordered);
}

std::vector<std::int64_t> encode(const std::vector<Copy>& copies) {
  std::vector<std::int64_t> numbers;
  for (const Copy& copy : copies) {
    numbers.insert(numbers.end(),
                   {copy.from_buffer, copy.from, copy.to_buffer, copy.to, copy.element,
                    static_cast<std::int64_t>(copy.type), static_cast<std::int64_t>(copy.operation),
                    copy.more, static_cast<std::int64_t>(copy.loops.size())});
    for (const CopyLoop& loop : copy.loops) {
      numbers.insert(numbers.end(), {loop.extent, loop.from, loop.to});
    }
  }
  return numbers;
}

std::string decode(std::span<const std::int64_t> numbers, std::int64_t buffers,
                   std::vector<Copy>& copies) {
  for (std::size_t at = 0; at < numbers.size();) {
    const auto wrong = [&](std::string_view what) {
      return "copy " + std::to_string(copies.size()) + ": " + std::string(what);
    };
    static_assert(kHead == 9, "the next message names this number");
    if (numbers.size() - at < kHead) return wrong("its first nine numbers are incomplete");
    const std::span head = numbers.subspan(at, kHead);
    at += kHead;
    if (const std::string_view what = fault(head, buffers); !what.empty()) return wrong(what);
    Copy copy{static_cast<std::int32_t>(head[0]),
              static_cast<std::int32_t>(head[2]),
              head[1],
              head[3],
              head[4],
              static_cast<Type>(head[5]),
              static_cast<Operation>(head[6]),
              head[7],
              {}};
    const std::int64_t loops = head[8];
    // Compare by division, because 3 times a large number of loops could overflow.
    if (loops < 0 || loops > static_cast<std::int64_t>((numbers.size() - at) / 3)) {
      return wrong("its loops are incomplete");
    }
    for (std::int64_t i = 0; i < loops; ++i, at += 3) {
      if (std::min({numbers[at], numbers[at + 1], numbers[at + 2]}) < 0) {
        return wrong("an extent or a stride is negative");
      }
      copy.loops.push_back({numbers[at], numbers[at + 1], numbers[at + 2]});
    }
    copies.push_back(std::move(copy));
  }
  return {};
}

}  // namespace weft::reshard::execute::cuda
