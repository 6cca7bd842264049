// SPDX-License-Identifier: Apache-2.0
// A drawing of which device holds which part of the array, before and after.
#pragma once

#include <string>

#include "weft/reshard/layout/problem.h"

namespace weft::reshard {

/// An SVG document with two panels. Each shows the array along the two dimensions that are cut into
/// most pieces. Each piece is labelled with the devices that hold some of it, at most six.
std::string picture(const Problem& problem);

}  // namespace weft::reshard
