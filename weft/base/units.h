// SPDX-License-Identifier: Apache-2.0
// Times and sizes. Both are integers, never doubles: a sum of nanoseconds must be the same with any
// number of threads and on every machine.
#pragma once

#include <cstdint>

namespace weft {

/// A point in time or a duration, in nanoseconds. Points in time are relative to the run's epoch.
using Nanos = std::int64_t;
/// A size in bytes.
using Bytes = std::int64_t;

constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;

}  // namespace weft
