// SPDX-License-Identifier: Apache-2.0
// Parses meshes, shapes and shardings as users type them on the command line. Errors are kUsage, or
// kBadInput if make_mesh() or Mesh::axis() refuses the mesh.
#pragma once

#include <string_view>

#include "weft/base/result.h"
#include "weft/reshard/layout/sharding.h"

namespace weft::reshard {

/// Axes are "x=2,y=4". Devices are "0,2,1,3" in row-major order; empty stands for 0, 1, 2, ...
Result<Mesh> parse_mesh(std::string_view axes, std::string_view devices);
/// "1024,4096"; "" or "-" is a scalar.
Result<Shape> parse_shape(std::string_view text);
/// `dims` has one entry per dimension, with axes most significant first: "x,y", "-,x+y",
/// "x:(1)2,-". `partial` names the axes along which devices hold summands: "z", "z+w", or empty.
Result<Sharding> parse_sharding(const Mesh& mesh, std::string_view dims, std::string_view partial);

}  // namespace weft::reshard
