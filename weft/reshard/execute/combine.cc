// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/combine.h"

#include <bit>
#include <complex>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace weft::reshard::execute {
namespace {

/// The upper half of a float.
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

/// IEEE binary16, without branches, so that loops over it become vector code.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (wide >> 16) & 0x8000u, magnitude = wide & 0x7FFFFFFFu;
    // Normal: the exponent gets another bias, the mantissa is rounded to even.
    const std::uint32_t normal =
        (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal: adding 0.5 puts the last bit that counts where the mantissa ends, rounded.
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

/// A truth value of one byte: anything but 0 is true.
struct Truth {
  std::uint8_t byte = 0;
};

template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<std::complex<T>> = true;
template <class T>
constexpr bool is_half = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

/// Signed sums and products wrap around like unsigned ones, where C++ would leave them undefined.
template <class T, class Work>
T wrapped(T a, T b, const Work& work) {
  if constexpr (std::is_integral_v<T>) {
    // Small ones would become int.
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(work(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return work(a, b);
  }
}

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
  static Truth of(Truth a, Truth b) { return {static_cast<std::uint8_t>((a.byte | b.byte) != 0)}; }
};
struct Product {
  template <class T>
  static T of(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
  static Truth of(Truth a, Truth b) {
    return {static_cast<std::uint8_t>(a.byte != 0 && b.byte != 0)};
  }
};
/// What is not a number stays so.
struct Least {
  template <class T>
  static T of(T a, T b) {
    return (b < a || b != b) ? b : a;
  }
  static Truth of(Truth a, Truth b) { return Product::of(a, b); }
};
struct Most {
  template <class T>
  static T of(T a, T b) {
    return (b > a || b != b) ? b : a;
  }
  static Truth of(Truth a, Truth b) { return Sum::of(a, b); }
};

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

template <class T, class Op>
void combine_one(const std::byte* from, std::byte* to) {
  if constexpr (is_half<T>) {
    store(to, T(Op::of(static_cast<float>(load<T>(to)), static_cast<float>(load<T>(from)))));
  } else {
    store(to, Op::of(load<T>(to), load<T>(from)));
  }
}

template <class T, class Op>
void rows_of(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
             std::int64_t bytes, std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (bytes == kSize) {
    for (std::int64_t i = 0; i < count; ++i) {
      combine_one<T, Op>(from + i * from_step, to + i * to_step);
    }
    return;
  }
  for (std::int64_t row = 0; row < count; ++row, from += from_step, to += to_step) {
    for (std::int64_t i = 0; i < bytes; i += kSize) combine_one<T, Op>(from + i, to + i);
  }
}

/// Calls take(T{}) with the type of that name; false where there is none.
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
  if (is("bool", "pred")) return take(Truth{}), true;
  return false;
}

template <class T>
T number(double value) {
  if constexpr (std::is_same_v<T, Truth>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (is_half<T> || std::is_same_v<T, std::complex<float>>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// The largest or smallest value of a type.
template <class T>
T extreme(bool largest) {
  if constexpr (std::is_integral_v<T>) {
    return largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  } else if constexpr (std::is_same_v<T, Truth>) {
    return number<T>(largest ? 1 : 0);
  } else if constexpr (is_complex<T>) {
    return T{};
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    return number<T>(largest ? infinity : -infinity);
  }
}

template <class T>
CombineRows rows_for(std::string_view reduction) {
  if (reduction == "sum") return rows_of<T, Sum>;
  if (reduction == "prod") return rows_of<T, Product>;
  if constexpr (!std::is_same_v<T, Truth>) {
    if (reduction == "avg") return rows_of<T, Sum>;
  }
  if constexpr (!is_complex<T>) {
    if (reduction == "min") return rows_of<T, Least>;
    if (reduction == "max") return rows_of<T, Most>;
  }
  return nullptr;
}

tl::unexpected<Error> cannot(const Elements& elements) {
  return fail(ErrorCode::kUsage, "elements of type '" + elements.type + "' cannot be reduced by '" +
                                     elements.reduction +
                                     "': move them as another type, or add them up before");
}

template <class T>
void scale_all(const Elements& elements, std::byte* memory, Bytes bytes) {
  for (Bytes at = 0; at < bytes; at += static_cast<Bytes>(sizeof(T))) {
    const T value = load<T>(memory + at);
    if constexpr (std::is_same_v<T, Truth>) {
      store(memory + at, value);
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      const auto times = static_cast<Wide>(elements.times), over = static_cast<Wide>(elements.over);
      const auto wide = static_cast<Wide>(value);
      store(memory + at, static_cast<T>(wide / over * times + wide % over * times / over));
    } else if constexpr (is_half<T>) {
      store(memory + at, T(static_cast<float>(value) * static_cast<float>(elements.times) /
                           static_cast<float>(elements.over)));
    } else {
      store(memory + at, value * number<T>(static_cast<double>(elements.times)) /
                             number<T>(static_cast<double>(elements.over)));
    }
  }
}

}  // namespace

Result<CombineRows> combine_rows(const Elements& elements) {
  CombineRows rows = nullptr;
  with_type(elements.type, [&](auto type) { rows = rows_for<decltype(type)>(elements.reduction); });
  if (rows == nullptr) return cannot(elements);
  return rows;
}

void combine(const StridedCopy& copy, const std::byte* from, std::byte* to, CombineRows rows) {
  if (copy.bytes() == 0) return;
  std::vector<CopyLoop> loops = copy.loops();
  if (loops.empty()) loops.push_back({1, 0, 0});
  const CopyLoop inner = loops.back();
  loops.pop_back();
  std::vector<std::int64_t> at(loops.size(), 0);
  for (;;) {
    rows(from, inner.from, to, inner.to, copy.run_bytes(), inner.extent);
    std::size_t dim = loops.size();
    for (; dim > 0; --dim) {
      const CopyLoop& loop = loops[dim - 1];
      from += loop.from;
      to += loop.to;
      if (++at[dim - 1] < loop.extent) break;
      from -= loop.from * loop.extent;
      to -= loop.to * loop.extent;
      at[dim - 1] = 0;
    }
    if (dim == 0) return;
  }
}

Result<Pattern> neutral_element(const Elements& elements) {
  WEFT_TRY(combine_rows(elements));
  Pattern pattern{};
  with_type(elements.type, [&](auto type) {
    using T = decltype(type);
    T value = number<T>(0);
    if (elements.reduction == "prod") value = number<T>(1);
    if (elements.reduction == "min") value = extreme<T>(true);
    if (elements.reduction == "max") value = extreme<T>(false);
    store(pattern.data(), value);
  });
  return pattern;
}

void fill(const Region& region, const Pattern& pattern, std::byte* buffer) {
  std::vector<CopyLoop> loops;
  for (const Loop& loop : region.loops) loops.push_back({loop.extent, 0, loop.stride});
  StridedCopy(std::move(loops), region.element).run(pattern.data(), buffer + region.offset);
}

Status scale(const Elements& elements, std::byte* memory, Bytes bytes) {
  if (elements.times == elements.over) return {};
  const bool known = with_type(
      elements.type, [&](auto type) { scale_all<decltype(type)>(elements, memory, bytes); });
  if (!known) return cannot(elements);
  return {};
}

}  // namespace weft::reshard::execute
