// SPDX-License-Identifier: Apache-2.0
// Reads profiles and orders their layers. Reading takes three steps: parse_any() recognizes the
// format and calls its parser in profiles/, check_profile() checks the layers as a whole, and the
// profile gets a title for people. linear_order() turns the layer graph into the chain that
// planners cut.
#include "weft/pipeline/model/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <unordered_map>

#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/pipeline/model/profiles/formats.h"

namespace weft::pipeline {
namespace {

constexpr DiagnosticKind kInputTime{
    "pipeline-input-time", Severity::kInfo,
    "the profile has a layer that loads data, and the plan counts its time as device time",
    "use --drop-input-time if data loaders run on the host, beside the devices"};

using Neighbours = std::vector<std::vector<std::int32_t>>;  ///< per layer

/// The layers that a topological sort cannot order: they lie on a cycle or after a cycle.
std::vector<std::int32_t> unordered(const Profile& profile) {
  const Neighbours next = profile.successors();
  std::vector<std::int32_t> missing(profile.layers.size(), 0), ready;
  for (const LayerEdge& edge : profile.edges) ++missing[edge.to];
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
  }
  while (!ready.empty()) {
    const std::int32_t layer = ready.back();
    ready.pop_back();
    for (const std::int32_t to : next[layer]) {
      if (--missing[to] == 0) ready.push_back(to);
    }
  }
  std::vector<std::int32_t> left;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] > 0) left.push_back(static_cast<std::int32_t>(i));
  }
  return left;
}

/// Limits the sums of times and of sizes so that they stay far below 2^63.
Status check_sums(const Profile& profile) {
  constexpr double kMost = 1e17;
  double times = 0, sizes = 0;
  for (const Layer& layer : profile.layers) {
    times += static_cast<double>(layer.forward) + static_cast<double>(layer.backward);
    for (const Bytes size : {layer.activation, layer.parameters, layer.stash}) {
      sizes += static_cast<double>(size);
    }
    if (times > kMost) {
      return bad_input(
          fmt::format("the layers up to '{}' take {:.3g} s for one micro-batch; give times in "
                      "milliseconds",
                      layer.id, times * 1e-9));
    }
    if (sizes > kMost) {
      return bad_input(
          fmt::format("the sizes of the layers up to '{}' add up to {:.3g} bytes; give sizes in "
                      "bytes",
                      layer.id, sizes));
    }
  }
  return {};
}

}  // namespace

Neighbours Profile::successors() const {
  Neighbours next(layers.size());
  for (const LayerEdge& edge : edges) next[edge.from].push_back(edge.to);
  return next;
}

Neighbours Profile::predecessors() const {
  Neighbours before(layers.size());
  for (const LayerEdge& edge : edges) before[edge.to].push_back(edge.from);
  return before;
}

std::vector<std::int32_t> input_layers(const Profile& profile) {
  const Neighbours before = profile.predecessors();
  std::vector<std::int32_t> inputs;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const Layer& layer = profile.layers[i];
    if (layer.name.starts_with("Input") && before[i].empty() && layer.backward == 0 &&
        layer.parameters == 0) {
      inputs.push_back(static_cast<std::int32_t>(i));
    }
  }
  return inputs;
}

void note_input_time(const Profile& profile, Diagnostics& diagnostics) {
  for (const std::int32_t input : input_layers(profile)) {
    const Layer& layer = profile.layers[input];
    if (layer.forward == 0) continue;
    diagnostics.add(kInputTime, fmt::format("{} ({}), {:.3f} ms per micro-batch", layer.id,
                                            layer.name, static_cast<double>(layer.forward) * 1e-6));
  }
}

void drop_input_time(Profile& profile) {
  for (const std::int32_t input : input_layers(profile)) profile.layers[input].forward = 0;
}

Status check_profile(Profile& profile) {
  if (profile.layers.empty()) return bad_input("the profile has no layers");
  std::unordered_map<std::string_view, int> ids;
  for (const Layer& layer : profile.layers) {
    if (++ids[layer.id] > 1) {
      return bad_input(fmt::format("two layers have the id '{}'", layer.id));
    }
    if (layer.forward < 0 || layer.backward < 0 || layer.weight < 0) {
      return bad_input(fmt::format("layer '{}' has a negative time; profile it again", layer.id));
    }
    if (layer.activation < 0 || layer.parameters < 0 || layer.stash < 0) {
      return bad_input(fmt::format("layer '{}' has a negative size", layer.id));
    }
    if (layer.weight > layer.backward) {
      return bad_input(
          fmt::format("layer '{}': weight gradients take longer than the whole backward, which "
                      "includes them",
                      layer.id));
    }
  }
  WEFT_TRY(check_sums(profile));
  const auto key = [](const LayerEdge& edge) { return std::tie(edge.from, edge.to); };
  std::set<std::tuple<std::int32_t, std::int32_t>> seen;
  std::erase_if(profile.edges,
                [&](const LayerEdge& edge) { return !seen.insert(key(edge)).second; });
  const std::vector<std::int32_t> left = unordered(profile);
  if (!left.empty()) {
    return bad_input(
        fmt::format("the edges between layers form a cycle (through or before '{}'); a pipeline "
                    "needs layers that can be ordered",
                    profile.layers[left.front()].id));
  }
  return {};
}

std::vector<std::int32_t> linear_order(const Profile& profile) {
  const Neighbours next = profile.successors(), before = profile.predecessors();
  std::vector<std::int32_t> missing(profile.layers.size(), 0), readers(profile.layers.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    missing[i] = static_cast<std::int32_t>(before[i].size());
    readers[i] = static_cast<std::int32_t>(next[i].size());
  }
  // How many more bytes are alive after the layer has run than before. Its own output is added,
  // unless nothing reads it. The outputs of which this layer is the last reader are subtracted.
  const auto growth = [&](std::int32_t layer) {
    Bytes bytes = next[layer].empty() ? 0 : profile.layers[layer].activation;
    for (const std::int32_t from : before[layer]) {
      if (readers[from] == 1) bytes -= profile.layers[from].activation;
    }
    return bytes;
  };
  std::vector<std::int32_t> order, ready;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
  }
  while (!ready.empty()) {
    auto best = ready.begin();
    for (auto at = ready.begin(); at != ready.end(); ++at) {
      if (std::pair(growth(*at), *at) < std::pair(growth(*best), *best)) best = at;
    }
    const std::int32_t layer = *best;
    ready.erase(best);
    order.push_back(layer);
    for (const std::int32_t from : before[layer]) --readers[from];
    for (const std::int32_t to : next[layer]) {
      if (--missing[to] == 0) ready.push_back(to);
    }
  }
  return order;
}

namespace {

Result<Profile> parse_any(std::string_view text, const std::string& name, std::string_view wanted) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return bad_input("the file is empty");
  if (text[first] == '{') return profiles::parse_json_profile(text, name);
  if (profiles::is_chimera(text)) return profiles::parse_chimera(text, wanted);
  return profiles::parse_pipedream(text);
}

/// The file name. PipeDream names all of its files graph.txt and puts each in a folder with the
/// name of the model, so for such files the name of the folder is the title.
std::string title_of(const std::filesystem::path& file) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(file, ignored).parent_path();
  const bool named_by_folder = file.filename() == "graph.txt" && folder.has_filename();
  return (named_by_folder ? folder : file).filename().string();
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const std::string& name,
                              std::string_view wanted) {
  Result<Profile> profile = parse_any(text, name, wanted);
  Status checked = profile ? check_profile(*profile) : Status(tl::unexpected(profile.error()));
  if (!checked) {
    Error error = checked.error();
    if (error.file.empty()) error.file = name;
    return tl::unexpected(std::move(error));
  }
  profile->name = printable(profile->name.empty() ? title_of(name) : std::move(profile->name));
  return profile;
}

Result<Profile> read_profile(const std::string& path) {
  // FILE#PART selects a part of the file, as for clusters. A file whose own name contains '#' is
  // opened under that name.
  const std::size_t mark = path.rfind('#');
  std::error_code ignored;
  if (mark == std::string::npos || std::filesystem::exists(path, ignored)) {
    WEFT_ASSIGN(const std::string text, read_file(path));
    return parse_profile(text, path);
  }
  const std::string file = path.substr(0, mark);
  WEFT_ASSIGN(const std::string text, read_file(file));
  return parse_profile(text, file, std::string_view(path).substr(mark + 1));
}

}  // namespace weft::pipeline
