// SPDX-License-Identifier: Apache-2.0
// A profile says what each layer of a model costs. It is the input of every planner. The layers
// form an acyclic graph, usually a chain. Times and sizes are for one micro-batch on a device of
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
  std::string id;    ///< unique; the edges of a profile file refer to it
  std::string name;  ///< shown to users
  Nanos forward = 0;
  Nanos backward = 0;    ///< the whole backward, including `weight`
  Nanos weight = 0;      ///< the part of `backward` that computes the gradients of parameters
  Bytes activation = 0;  ///< the output, which the next layers read
  Bytes parameters = 0;
  /// Memory that a micro-batch keeps from its forward to its backward. It is set to `activation` if
  /// the format of the profile does not contain this value.
  Bytes stash = 0;
};

struct LayerEdge {
  std::int32_t from = 0, to = 0;
};

struct Profile {
  std::string name;
  std::vector<Layer> layers;
  std::vector<LayerEdge> edges;  ///< without duplicates

  std::vector<std::vector<std::int32_t>> successors() const;
  std::vector<std::vector<std::int32_t>> predecessors() const;
};

/// Reads a profile from a file or from text. The content of the file decides which format it has:
/// PipeDream graphs (DAPPLE uses the same format), Weft's own JSON, the JSON of SPP's profiler, the
/// graphs of dnn-partitioning and Piper, and the tables of Chimera (FILE#8x24). Fails for other
/// content, for a cycle, and for a negative or missing time.
Result<Profile> read_profile(const std::string& path);
Result<Profile> parse_profile(std::string_view text, const std::string& name,
                              std::string_view wanted = {});

/// The layers that load data: their name starts with "Input", they have no predecessor, no backward
/// and no parameters. The profiles of PipeDream and DAPPLE include the time of these layers,
/// although data loaders run on the host beside the devices.
std::vector<std::int32_t> input_layers(const Profile& profile);
/// Adds a note to `diagnostics` for each input layer whose time would become part of the plan.
void note_input_time(const Profile& profile, Diagnostics& diagnostics);
/// Sets the time of input layers to zero. The layers stay in the profile.
void drop_input_time(Profile& profile);

/// Checks that ids are unique, no time or size is negative, no sum overflows, and the graph has no
/// cycle. Removes repeated edges.
Status check_profile(Profile& profile);

/// A topological order of the layers. Of all layers that may come next, it takes the layer that
/// keeps the fewest bytes alive, so that cuts of the order send few bytes. If several layers keep
/// equally few bytes, it takes the layer that stands first in the file. The time is quadratic in
/// the number of layers at worst.
std::vector<std::int32_t> linear_order(const Profile& profile);

}  // namespace weft::pipeline
