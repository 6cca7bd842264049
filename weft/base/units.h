// SPDX-License-Identifier: Apache-2.0
// The two quantities every room speaks in. Doubles never cross a header: a sum of nanoseconds must
// be the same on every thread count and every machine.
#pragma once

#include <cstdint>

namespace weft {

/// A point in time or a length of time, in nanoseconds. Points are relative to the run's epoch.
using Nanos = std::int64_t;
/// A size in bytes.
using Bytes = std::int64_t;

constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;

}  // namespace weft
