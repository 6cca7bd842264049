// SPDX-License-Identifier: Apache-2.0
// Computes a number that distinguishes sets of plans.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// A hash of everything that determines which data any device sends. Devices that were given the
/// same plans and options get the same number.
std::uint64_t fingerprint(const std::vector<Array>& arrays, const ProgramOptions& options);

}  // namespace weft::reshard::execute
