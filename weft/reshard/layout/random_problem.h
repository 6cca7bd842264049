// SPDX-License-Identifier: Apache-2.0
// Makes random problems, for tests of properties that must hold for every problem.
#pragma once

#include <algorithm>
#include <random>

#include "weft/base/check.h"
#include "weft/reshard/layout/problem.h"
#include "weft/reshard/layout/text.h"

namespace weft::reshard {

struct RandomShape {
  bool even = false;        ///< every dimension is divisible by the sizes of the two meshes
  bool partial = false;     ///< some axes may hold summands
  bool other_mesh = false;  ///< source and target have different meshes
};

/// Assigns the axes of the mesh to random dimensions, in random order. Each axis is used at most
/// once.
inline Sharding random_sharding(std::mt19937& random, const Mesh& mesh, std::size_t dims,
                                bool partial) {
  Sharding sharding;
  sharding.mesh = mesh;
  sharding.dims.resize(dims);
  std::vector<Axis> axes = mesh.axes;
  std::shuffle(axes.begin(), axes.end(), random);
  for (const Axis& axis : axes) {
    const std::size_t place = random() % (dims + 1 + (partial ? 1 : 0));
    if (place < dims) {
      sharding.dims[place].push_back(axis);
    } else if (place == dims + 1) {
      sharding.partial.push_back(axis);
    }
  }
  return sharding;
}

inline Mesh random_mesh(std::mt19937& random) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  const std::size_t axes = 1 + random() % 3;
  for (std::size_t i = 0; i < axes; ++i) {
    sizes.emplace_back(std::string(1, static_cast<char>('x' + i)), 1 + random() % 4);
  }
  const auto mesh = make_mesh(sizes, {});
  WEFT_CHECK(mesh.has_value());
  return *mesh;
}

inline Problem random_problem(unsigned seed, const RandomShape& kind) {
  std::mt19937 random(seed);
  const Mesh mesh = random_mesh(random);
  const Mesh other = kind.other_mesh ? random_mesh(random) : mesh;
  Shape shape(1 + random() % 3);
  for (std::int64_t& size : shape) {
    size = kind.even ? mesh.size() * other.size() : static_cast<std::int64_t>(random() % 14);
  }
  const SplitRule rules[] = {SplitRule::kCeilFlat, SplitRule::kCeilNested, SplitRule::kBalanced};
  const SplitRule rule = rules[random() % 3];
  const Sharding from = random_sharding(random, mesh, shape.size(), kind.partial);
  const Sharding to = random_sharding(random, other, shape.size(), kind.partial);
  const auto problem = make_problem(shape, 4, from, to, rule);
  WEFT_CHECK(problem.has_value());
  return *problem;
}

/// Makes a problem from the notation of the command line: parsed("x=2,y=4", "8,8", "x,y", "-,x+y").
inline Problem parsed(const char* mesh_text, const char* shape_text, const char* from,
                      const char* to, const char* from_partial = "", const char* to_partial = "",
                      SplitRule rule = SplitRule::kCeilFlat) {
  const auto mesh = parse_mesh(mesh_text, "");
  const auto shape = parse_shape(shape_text);
  WEFT_CHECK(mesh && shape);
  const auto before = parse_sharding(*mesh, from, from_partial);
  const auto after = parse_sharding(*mesh, to, to_partial);
  WEFT_CHECK(before && after);
  const auto problem = make_problem(*shape, 4, *before, *after, rule);
  WEFT_CHECK(problem.has_value());
  return *problem;
}

}  // namespace weft::reshard
