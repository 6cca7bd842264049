// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

namespace weft::reshard::execute {
namespace {

template <class T>
T combined(const char* type, const char* reduction, T a, T b) {
  const auto rows = combine_rows({type, reduction});
  EXPECT_TRUE(rows) << type << " " << reduction;
  if (!rows) return T{};
  // Reduce a single element, and also an element in the middle of a row. The results must be equal.
  T into = a, row_into[9], row_from[9];
  std::fill(row_into, row_into + 9, a);
  std::fill(row_from, row_from + 9, b);
  const auto bytes = [](auto* at) { return reinterpret_cast<std::byte*>(at); };
  (*rows)(bytes(&b), 0, bytes(&into), 0, sizeof(T), 1);
  (*rows)(bytes(row_from), 0, bytes(row_into), 0, sizeof(row_into), 1);
  EXPECT_EQ(std::memcmp(&into, &row_into[5], sizeof(T)), 0) << type << " " << reduction;
  return into;
}

template <class T>
void expect_arithmetic(const char* type) {
  EXPECT_EQ(combined<T>(type, "sum", T(5), T(7)), T(12)) << type;
  EXPECT_EQ(combined<T>(type, "avg", T(5), T(7)), T(12)) << type;
  EXPECT_EQ(combined<T>(type, "prod", T(5), T(7)), T(35)) << type;
  EXPECT_EQ(combined<T>(type, "min", T(5), T(7)), T(5)) << type;
  EXPECT_EQ(combined<T>(type, "max", T(5), T(7)), T(7)) << type;
  for (const char* reduction : {"sum", "avg", "prod", "min", "max"}) {
    const auto pattern = neutral_element({type, reduction});
    ASSERT_TRUE(pattern);
    T neutral;
    std::memcpy(&neutral, pattern->data(), sizeof(T));
    EXPECT_EQ(combined<T>(type, reduction, neutral, T(9)), T(9)) << type << " " << reduction;
  }
  T twelve = T(12);
  ASSERT_TRUE(scale({type, "avg", 1, 4}, reinterpret_cast<std::byte*>(&twelve), sizeof(T)));
  EXPECT_EQ(twelve, T(3)) << type;
}

TEST(Combine, WorksForAllTypesAndReductions) {
  expect_arithmetic<float>("f32");
  expect_arithmetic<double>("f64");
  expect_arithmetic<std::int8_t>("i8");
  expect_arithmetic<std::int16_t>("i16");
  expect_arithmetic<std::int32_t>("i32");
  expect_arithmetic<std::int64_t>("i64");
  expect_arithmetic<std::uint8_t>("u8");
  expect_arithmetic<std::uint16_t>("u16");
  expect_arithmetic<std::uint32_t>("u32");
  expect_arithmetic<std::uint64_t>("u64");
  using Complex = std::complex<double>;
  EXPECT_EQ(combined<Complex>("c128", "prod", {0, 1}, {0, 1}), Complex(-1, 0));
  EXPECT_EQ(combined<std::complex<float>>("c64", "sum", {1, 2}, {3, 4}), std::complex<float>(4, 6));
  EXPECT_EQ(combined<std::uint8_t>("bool", "sum", 1, 1), 1);
  EXPECT_EQ(combined<std::uint8_t>("bool", "prod", 2, 0), 0);
}

TEST(Combine, SumsOfIntegersWrapAround) {
  EXPECT_EQ(combined<std::int32_t>("i32", "sum", std::numeric_limits<std::int32_t>::max(), 1),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(combined<std::int16_t>("i16", "prod", 300, 300), static_cast<std::int16_t>(90000));
}

TEST(Combine, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* reduction : {"min", "max", "sum"}) {
    EXPECT_TRUE(std::isnan(combined<float>("f32", reduction, nan, 1)));
    EXPECT_TRUE(std::isnan(combined<float>("f32", reduction, 1, nan)));
  }
}

TEST(Combine, RefusesUndefinedReductions) {
  for (const Elements& elements : {Elements{"c64", "min"}, Elements{"bool", "avg"},
                                   Elements{"f8", "sum"}, Elements{"f32", "median"}}) {
    const auto rows = combine_rows(elements);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, ErrorCode::kUsage);
    EXPECT_NE(rows.error().message.find(elements.type), std::string::npos);
  }
}

/// The value of a 16-bit float with `exponent_bits` bits of exponent, by its definition.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = (bits & ((1 << mantissa_bits) - 1)) / std::ldexp(1.0, mantissa_bits);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias);
  return sign * std::ldexp(1 + mantissa, exponent - bias);
}

TEST(Combine, HalvesAreRoundedToNearest) {
  struct Half {
    const char* type;
    int exponent_bits;
  };
  std::mt19937 random(3);
  for (const Half half : {Half{"f16", 5}, Half{"bf16", 8}}) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {  // the maximum of a number and itself
      const auto number = static_cast<std::uint16_t>(bits);
      const double value = value_of(number, half.exponent_bits);
      const std::uint16_t same = combined<std::uint16_t>(half.type, "max", number, number);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(value_of(same, half.exponent_bits)));
      } else {
        ASSERT_EQ(same, number) << half.type;
      }
    }
    for (int trial = 0; trial < 20'000; ++trial) {
      const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
      const double x = value_of(a, half.exponent_bits), y = value_of(b, half.exponent_bits);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      // The library adds half-precision numbers as floats.
      const double exact = static_cast<float>(x) + static_cast<float>(y);
      const std::uint16_t sum = combined<std::uint16_t>(half.type, "sum", a, b);
      const double error = std::abs(value_of(sum, half.exponent_bits) - exact);
      if (!std::isfinite(error)) continue;
      for (const int step : {-1, 1}) {
        const double other = value_of(static_cast<std::uint16_t>(sum + step), half.exponent_bits);
        if (std::isfinite(other)) {
          ASSERT_LE(error, std::abs(other - exact)) << half.type << " " << x << " " << y;
        }
      }
    }
  }
}

TEST(Combine, FillsRegionsWithTheNeutralElement) {
  std::vector<std::int32_t> buffer(24, 7);
  const Region region{0, 0, 4, 4, {{3, 24}, {2, 4}}};
  fill(region, *neutral_element({"i32", "max"}), reinterpret_cast<std::byte*>(buffer.data()));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const bool inside = i % 6 == 1 || i % 6 == 2;
    EXPECT_EQ(buffer[i], inside && i < 18 ? std::numeric_limits<std::int32_t>::min() : 7) << i;
  }
}

}  // namespace
}  // namespace weft::reshard::execute
