// SPDX-License-Identifier: Apache-2.0
// Frameworks call the processors of a host a device, too.
#pragma once

namespace weft::trace {

/// What RankTrace::devices names for a rank whose device is the host it runs on.
constexpr const char* kHostAsDevice = "CPU";

}  // namespace weft::trace
