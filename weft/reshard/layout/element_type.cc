// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/element_type.h"

#include <array>

namespace weft::reshard {
namespace {

bool complex(std::string_view dtype) { return dtype.starts_with('c'); }

Result<Bytes> known_size(const std::string& dtype) {
  const Bytes size = item_size(dtype);
  if (size > 0) return size;
  return fail(ErrorCode::kBadInput,
              "unknown element type '" + dtype + "'; known types include f32, bf16 and c128");
}

}  // namespace

Bytes item_size(std::string_view dtype) {
  struct Type {
    std::string_view name;
    Bytes bytes;
  };
  constexpr std::array<Type, 31> types = {
      {{"f32", 4},        {"f64", 8},   {"bf16", 2},  {"f16", 2},      {"i32", 4},
       {"s32", 4},        {"int", 4},   {"i64", 8},   {"s64", 8},      {"ui32", 4},
       {"u32", 4},        {"ui64", 8},  {"u64", 8},   {"c64", 8},      {"c128", 16},
       {"i8", 1},         {"s8", 1},    {"ui8", 1},   {"u8", 1},       {"i16", 2},
       {"s16", 2},        {"f8", 1},    {"pred", 1},  {"float32", 4},  {"float64", 8},
       {"float16", 2},    {"int32", 4}, {"int64", 8}, {"bfloat16", 2}, {"complex64", 8},
       {"complex128", 16}}};
  for (const Type& type : types) {
    if (type.name == dtype) return type.bytes;
  }
  return 0;
}

Result<Cast> make_cast(const std::string& from, const std::string& to) {
  Cast cast{from, to, 0, 0};
  WEFT_ASSIGN(cast.from_size, known_size(from));
  WEFT_ASSIGN(cast.to_size, known_size(to));
  if (complex(from) && !complex(to)) {
    return fail(ErrorCode::kInfeasible,
                "a cast from " + from + " to " + to + " would lose the imaginary parts");
  }
  return cast;
}

Status check_reduction(std::string_view dtype, std::string_view reduction) {
  if (complex(dtype) && (reduction == "min" || reduction == "max")) {
    return fail(ErrorCode::kInfeasible, "the " + std::string(reduction) +
                                            " of complex numbers is undefined: they have no order");
  }
  return {};
}

}  // namespace weft::reshard
