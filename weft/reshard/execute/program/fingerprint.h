// SPDX-License-Identifier: Apache-2.0
// A number that tells two sets of plans apart.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Of everything that decides what any device sends: equal on all devices that were given the same.
std::uint64_t fingerprint(const std::vector<Array>& arrays, const ProgramOptions& options);

}  // namespace weft::reshard::execute
