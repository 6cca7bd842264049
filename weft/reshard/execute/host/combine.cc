// SPDX-License-Identifier: Apache-2.0
// Reduces elements. There is one template instance per reduction and type. combine_rows() chooses
// the instance. Rows of a single element have a separate, simpler loop.
#include "weft/reshard/execute/host/combine.h"

#include <limits>
#include <string_view>
#include <type_traits>

#include "weft/reshard/execute/host/numbers.h"

namespace weft::reshard::execute {
namespace {

/// Computes with integers that wrap around. Signed integers are computed as unsigned integers,
/// because C++ leaves the overflow of signed integers undefined.
template <class T, class Work>
T wrapped(T a, T b, const Work& work) {
  if constexpr (std::is_integral_v<T>) {
    // C++ would promote types narrower than int to int, whose overflow is undefined. So use
    // std::uint32_t for these types.
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(work(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return work(a, b);
  }
}

/// For booleans, a sum is `or` and a product is `and`.
struct Sum {
  template <class T>
  static T of(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
  static Bool8 of(Bool8 a, Bool8 b) { return {static_cast<std::uint8_t>((a.byte | b.byte) != 0)}; }
};
struct Product {
  template <class T>
  static T of(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
  static Bool8 of(Bool8 a, Bool8 b) {
    return {static_cast<std::uint8_t>(a.byte != 0 && b.byte != 0)};
  }
};
/// A NaN on either side gives a NaN.
struct Least {
  template <class T>
  static T of(T a, T b) {
    return (b < a || b != b) ? b : a;
  }
  static Bool8 of(Bool8 a, Bool8 b) { return Product::of(a, b); }
};
struct Most {
  template <class T>
  static T of(T a, T b) {
    return (b > a || b != b) ? b : a;
  }
  static Bool8 of(Bool8 a, Bool8 b) { return Sum::of(a, b); }
};

template <class T, class Op>
void combine_one(const std::byte* from, std::byte* to) {
  // Half-precision numbers are computed as floats and rounded after each operation.
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

template <class T>
T number(double value) {
  if constexpr (std::is_same_v<T, Bool8>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (is_half<T> || std::is_same_v<T, std::complex<float>>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// The largest or smallest value of a type. For floats this is plus or minus infinity.
template <class T>
T extreme(bool largest) {
  if constexpr (std::is_integral_v<T>) {
    return largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  } else if constexpr (std::is_same_v<T, Bool8>) {
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
  if constexpr (!std::is_same_v<T, Bool8>) {
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
                                     "': move them as another type, or reduce them first");
}

template <class T>
void scale_all(const Elements& elements, std::byte* memory, Bytes bytes) {
  for (Bytes at = 0; at < bytes; at += static_cast<Bytes>(sizeof(T))) {
    const T value = load<T>(memory + at);
    if constexpr (std::is_same_v<T, Bool8>) {
      store(memory + at, value);
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      const auto times = static_cast<Wide>(elements.times), over = static_cast<Wide>(elements.over);
      const auto wide = static_cast<Wide>(value);
      // Divide into quotient and remainder first, so that large values do not overflow.
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
  // Unknown types and undefined reductions both leave the pointer null.
  if (rows == nullptr) return cannot(elements);
  return rows;
}

void run(const StridedCopy& copy, const std::byte* from, std::byte* to, const RowWork& work) {
  if (work.rows == nullptr) return copy.run(from, to);
  if (copy.bytes() == 0) return;
  std::vector<CopyLoop> loops = copy.loops();
  for (CopyLoop& loop : loops) loop.from *= work.width_ratio;
  if (loops.empty()) loops.push_back({1, 0, 0});
  const CopyLoop inner = loops.back();
  loops.pop_back();
  LoopWalk walk(loops, from, to);
  do {
    work.rows(walk.from, inner.from, walk.to, inner.to, copy.run_bytes(), inner.extent);
  } while (walk.next());
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
  // All strides of the source are 0, so the copy reads the same element again and again.
  StridedCopy(std::move(loops), region.element).run(pattern.data(), buffer + region.offset);
}

Status scale(const Elements& elements, std::byte* memory, Bytes bytes) {
  // Nothing has to be scaled: this is not an average, or it is an average whose number of groups
  // does not change.
  if (elements.times == elements.over) return {};
  const bool known = with_type(
      elements.type, [&](auto type) { scale_all<decltype(type)>(elements, memory, bytes); });
  if (!known) return cannot(elements);
  return {};
}

}  // namespace weft::reshard::execute
