// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/convert.h"

#include <limits>
#include <string>

#include "weft/reshard/execute/host/numbers.h"

namespace weft::reshard::execute {
namespace {

/// Converts a float to an integer. If the value is outside of the integer's range, C++ leaves the
/// result undefined; here it is the nearest limit. NaN gives 0.
template <class To, class From>
To whole_number(From value) {
  // As a float, a limit may be rounded to a number that the integer cannot hold. So compare with <=
  // and >=.
  constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr auto kHigh = static_cast<From>(std::numeric_limits<To>::max());
  if (value != value) return 0;
  if (value <= kLow) return std::numeric_limits<To>::min();
  if (value >= kHigh) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class To, class From>
To converted(From value) {
  // First convert to a type that C++ can convert itself: half-precision numbers to floats, booleans
  // to 0 and 1.
  if constexpr (is_half<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, Bool8>) {
    return converted<To>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (is_complex<From>) {
    using Part = typename To::value_type;
    return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
  } else if constexpr (is_complex<To>) {
    return {static_cast<typename To::value_type>(value), 0};
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Bool8>) {
    return {static_cast<std::uint8_t>(value != From{})};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return whole_number<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_all(const std::byte* from, std::byte* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    store(to + i * static_cast<std::int64_t>(sizeof(To)),
          converted<To>(load<From>(from + i * static_cast<std::int64_t>(sizeof(From)))));
  }
}

template <class From, class To>
void convert_rows(const std::byte* from, std::int64_t from_step, std::byte* to,
                  std::int64_t to_step, std::int64_t bytes, std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(To));
  if (bytes == kSize) {
    for (std::int64_t i = 0; i < count; ++i) {
      store(to + i * to_step, converted<To>(load<From>(from + i * from_step)));
    }
    return;
  }
  for (std::int64_t row = 0; row < count; ++row, from += from_step, to += to_step) {
    convert_all<From, To>(from, to, bytes / kSize);
  }
}

/// Calls take(From{}, To{}) with the types that have these names. Returns false if there is no
/// conversion from the first type to the second.
template <class Take>
bool with_types(std::string_view from, std::string_view to, const Take& take) {
  bool found = false;
  with_type(from, [&](auto before) {
    with_type(to, [&](auto after) {
      using From = decltype(before);
      using To = decltype(after);
      if constexpr (!is_complex<From> || is_complex<To>) {
        take(From{}, To{});
        found = true;
      }
    });
  });
  return found;
}

tl::unexpected<Error> cannot(std::string_view from, std::string_view to) {
  return fail(ErrorCode::kUsage, "elements of type '" + std::string(from) +
                                     "' cannot be cast to '" + std::string(to) +
                                     "' during the run: cast them before or after it");
}

}  // namespace

Result<Convert> conversion(std::string_view from, std::string_view to) {
  Convert found = nullptr;
  const bool known = with_types(from, to, [&](auto before, auto after) {
    found = convert_all<decltype(before), decltype(after)>;
  });
  if (!known) return cannot(from, to);
  return found;
}

Result<CombineRows> conversion_rows(std::string_view from, std::string_view to) {
  CombineRows found = nullptr;
  const bool known = with_types(from, to, [&](auto before, auto after) {
    found = convert_rows<decltype(before), decltype(after)>;
  });
  if (!known) return cannot(from, to);
  return found;
}

}  // namespace weft::reshard::execute
