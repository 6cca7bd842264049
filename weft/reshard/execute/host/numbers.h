// SPDX-License-Identifier: Apache-2.0
// The element types with which the library can compute, found by their names. Only .cc files that
// compute should include this file.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace weft::reshard::execute {

/// bfloat16: the upper half of a float, rounded to nearest, ties to even.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (wide + 0x7FFFu + ((wide >> 16) & 1u)) >> 16;
    bits = static_cast<std::uint16_t>(value != value ? (wide >> 16) | 0x40u : rounded);
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// IEEE binary16. Its conversions have no branches, so that loops over them can be vectorised.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (wide >> 16) & 0x8000u, magnitude = wide & 0x7FFFFFFFu;
    // Normal numbers: change the bias of the exponent, round the mantissa to even.
    const std::uint32_t normal =
        (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal numbers: adding 0.5 aligns the last bit that counts with the end of the mantissa.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u;
    const std::uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
    const std::uint32_t finite = magnitude < 0x38800000u ? small : normal;
    bits = static_cast<std::uint16_t>(sign | (magnitude >= 0x477FF000u ? special : finite));
  }
  operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFu) << 13;
    const std::uint32_t special = magnitude >= 0x0F800000u ? 0x38000000u : 0u;
    const std::uint32_t normal = magnitude + 0x38000000u + special;
    const float small = std::bit_cast<float>(magnitude + 0x38800000u) -
                        std::bit_cast<float>(std::uint32_t{0x38800000u});
    return std::bit_cast<float>(
        sign | (magnitude < 0x00800000u ? std::bit_cast<std::uint32_t>(small) : normal));
  }
};

/// A boolean of one byte: anything but 0 is true.
struct Bool8 {
  std::uint8_t byte = 0;
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void store(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof(T));
}

/// Calls take(T{}) with the type T of that name. Returns false if there is no such type.
template <class Take>
bool with_type(std::string_view name, const Take& take) {
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (is("f32", "float32")) return take(float{}), true;
  if (is("f64", "float64")) return take(double{}), true;
  if (is("bf16", "bfloat16")) return take(BFloat16{}), true;
  if (is("f16", "float16")) return take(Float16{}), true;
  if (is("i8", "s8", "int8")) return take(std::int8_t{}), true;
  if (is("i16", "s16", "int16")) return take(std::int16_t{}), true;
  if (is("i32", "s32", "int32", "int")) return take(std::int32_t{}), true;
  if (is("i64", "s64", "int64")) return take(std::int64_t{}), true;
  if (is("u8", "ui8", "uint8")) return take(std::uint8_t{}), true;
  if (is("u16", "ui16", "uint16")) return take(std::uint16_t{}), true;
  if (is("u32", "ui32", "uint32")) return take(std::uint32_t{}), true;
  if (is("u64", "ui64", "uint64")) return take(std::uint64_t{}), true;
  if (is("c64", "complex64")) return take(std::complex<float>{}), true;
  if (is("c128", "complex128")) return take(std::complex<double>{}), true;
  if (is("bool", "pred")) return take(Bool8{}), true;
  return false;
}

}  // namespace weft::reshard::execute
