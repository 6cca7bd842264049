// SPDX-License-Identifier: Apache-2.0
// The device name of ranks that compute on the CPU. It is needed because frameworks treat the CPU
// as a device too.
#pragma once

namespace weft::trace {

/// The entry in RankTrace::devices for a rank whose device is the CPU of its host.
constexpr const char* kHostAsDevice = "CPU";

}  // namespace weft::trace
