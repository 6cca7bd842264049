// SPDX-License-Identifier: Apache-2.0
// Meshes, shapes and types as people type them.
#pragma once

#include <string_view>

#include "weft/base/result.h"
#include "weft/reshard/layout/sharding.h"

namespace weft::reshard {

/// "x=2,y=4"; devices as "0,2,1,3" in row-major order, or empty.
Result<Mesh> parse_mesh(std::string_view axes, std::string_view devices);
/// "1024,4096"; "" or "-" is a scalar.
Result<Shape> parse_shape(std::string_view text);
/// "x,y", "-,x+y", "x:(1)2,-": one entry a dimension, axes most significant first. `partial`: axes
/// along which summands lie, "z" or "z+w", or empty.
Result<Sharding> parse_sharding(const Mesh& mesh, std::string_view dims, std::string_view partial);

}  // namespace weft::reshard
