// SPDX-License-Identifier: Apache-2.0
// A drawing of who holds what, before and after.
#pragma once

#include <string>

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// SVG. The array is shown along the two dimensions that are cut most; each part names the devices
/// that hold some of it, as many as there is room for.
std::string picture(const Problem& problem);

}  // namespace weft::reshard
