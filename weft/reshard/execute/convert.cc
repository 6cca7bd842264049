// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/convert.h"

#include <limits>
#include <string>

#include "weft/reshard/execute/numbers.h"

namespace weft::reshard::execute {
namespace {

/// What C++ would leave undefined is the nearest number there is.
template <class To, class From>
To whole_number(From value) {
  // Limits as the type of the value may be rounded up, beyond what the integer holds.
  constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr auto kHigh = static_cast<From>(std::numeric_limits<To>::max());
  if (value != value) return 0;
  if (value <= kLow) return std::numeric_limits<To>::min();
  if (value >= kHigh) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class To, class From>
To converted(From value) {
  if constexpr (is_half<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, Truth>) {
    return converted<To>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (is_complex<From>) {
    using Part = typename To::value_type;
    return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
  } else if constexpr (is_complex<To>) {
    return {static_cast<typename To::value_type>(value), 0};
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Truth>) {
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

}  // namespace

Result<Convert> conversion(std::string_view from, std::string_view to) {
  Convert found = nullptr;
  with_type(from, [&](auto before) {
    with_type(to, [&](auto after) {
      using From = decltype(before);
      using To = decltype(after);
      if constexpr (!is_complex<From> || is_complex<To>) found = convert_all<From, To>;
    });
  });
  if (found != nullptr) return found;
  return fail(ErrorCode::kUsage, "elements of type '" + std::string(from) + "' cannot become '" +
                                     std::string(to) + "' on the way: cast them before or after");
}

}  // namespace weft::reshard::execute
