// SPDX-License-Identifier: Apache-2.0
// What a model costs, layer by layer: the input of every planner. Layers form a graph without
// cycles; a chain is the common case. Times and sizes are those of one micro-batch on a device of
// speed 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::pipeline {

struct Layer {
  std::string id;    ///< unique; edges of files name it
  std::string name;  ///< for people
  Nanos forward = 0;
  Nanos backward = 0;    ///< all of it
  Nanos weight = 0;      ///< the part of `backward` that only makes gradients of parameters
  Bytes activation = 0;  ///< output, which the next layers take
  Bytes parameters = 0;
  /// What a micro-batch keeps from forward to backward; files that do not say give `activation`.
  Bytes stash = 0;
};

struct LayerEdge {
  std::int32_t from = 0, to = 0;
};

struct Profile {
  std::string name;
  std::vector<Layer> layers;
  std::vector<LayerEdge> edges;  ///< no two alike

  std::vector<std::vector<std::int32_t>> successors() const;
  std::vector<std::vector<std::int32_t>> predecessors() const;
};

/// PipeDream graphs (DAPPLE's profiles are such), Weft's own JSON, the profiler's of SPP, graphs of
/// dnn-partitioning and Piper, tables of Chimera (FILE#8x24); told apart by content. A file that is
/// none of them, a cycle, a negative or missing time is an Error.
Result<Profile> read_profile(const std::string& path);
Result<Profile> parse_profile(std::string_view text, const std::string& name,
                              std::string_view wanted = {});

/// Layers that load data: called Input..., nothing before them, no backward, no parameters. Their
/// time is in PipeDream's and DAPPLE's profiles, although loaders run beside the devices.
std::vector<std::int32_t> input_layers(const Profile& profile);
/// Says so where their time is part of the plan.
void note_input_time(const Profile& profile, Diagnostics& diagnostics);
/// They stay, and take no time.
void drop_input_time(Profile& profile);

/// Ids are unique, edges join layers that exist, no time or size is negative, there is no cycle.
/// Removes repeated edges.
Status check_profile(Profile& profile);

/// Layers in an order in which each comes after those it needs. Among those that may come next, the
/// one that keeps the fewest bytes alive, then the first of the file: cuts of the order are small.
std::vector<std::int32_t> linear_order(const Profile& profile);

}  // namespace weft::pipeline
