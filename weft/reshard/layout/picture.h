// SPDX-License-Identifier: Apache-2.0
// Draws which device holds which part of the array, before and after the redistribution.
#pragma once

#include <string>

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// Returns an SVG document with two panels, one for the source and one for the target. Each panel
/// shows the two dimensions of the array that are cut into most pieces. Each piece is labelled with
/// at most six of the devices that hold some of it.
std::string picture(const Problem& problem);

}  // namespace weft::reshard
