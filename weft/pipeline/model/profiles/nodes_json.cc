// SPDX-License-Identifier: Apache-2.0
// Parses the formats of dnn-partitioning and Piper. They have a list of nodes and a list of edges
// between node ids.
//
// A graph of dnn-partitioning has separate forward and backward nodes. Nodes with the same
// colorClass must share a device, so they become one layer: its forward and backward are the sums
// over its nodes. Edges from backward nodes mirror forward edges and are left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"
#include "weft/pipeline/model/profiles/formats.h"

namespace weft::pipeline::profiles {
namespace {

Result<std::int64_t> node_number(const JsonValue& node, const std::string& id, const char* field,
                                 int digits) {
  const JsonValue* value = node.find(field);
  const auto number =
      value && value->is_number() ? parse_scaled(value->text, digits) : std::nullopt;
  if (!number) return bad_input(fmt::format("node '{}' needs a number '{}'", id, field));
  return *number;
}

std::string text_of(const JsonValue& of, const char* field) {
  const JsonValue* value = of.find(field);
  return value && (value->is_number() || value->is_string()) ? value->text : std::string();
}

/// Whether a flag is set. Files write a set flag as true or as 1.
bool is_set(const JsonValue& node, const char* field) {
  const JsonValue* value = node.find(field);
  return value && (value->kind == JsonKind::kTrue || (value->is_number() && value->text != "0"));
}

/// An edge between two nodes, numbered by their positions in the file, and the bytes that it
/// carries.
struct NodeEdge {
  std::size_t from = 0, to = 0;
  Bytes bytes = 0;
};

Result<std::vector<NodeEdge>> edges_of(const JsonValue& root, const char* bytes_field) {
  std::map<std::string, std::size_t> number;
  const std::vector<JsonValue>& nodes = root.find("nodes")->items;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string id = text_of(nodes[i], "id");
    if (id.empty() || !number.emplace(id, i).second) {
      return bad_input(fmt::format("node {} has no unique 'id'", i));
    }
  }
  std::vector<NodeEdge> edges;
  const JsonValue* list = root.find("edges");
  if (!list || !list->is_array()) return bad_input("the list 'edges' is missing");
  for (const JsonValue& item : list->items) {
    const auto from = number.find(text_of(item, "sourceId"));
    const auto to = number.find(text_of(item, "destId"));
    if (from == number.end() || to == number.end()) {
      return bad_input("the 'sourceId' or 'destId' of an edge is the id of no node");
    }
    const JsonValue* size = item.find(bytes_field);
    const auto bytes = size && size->is_number() ? parse_scaled(size->text, 0) : Bytes{0};
    if (!bytes || *bytes < 0)
      return bad_input(fmt::format("the '{}' of an edge must be a number of bytes", bytes_field));
    edges.push_back({from->second, to->second, *bytes});
  }
  return edges;
}

/// Adds a number to a sum over the nodes of a layer. Returns false on overflow.
bool add(std::int64_t& sum, std::int64_t number) {
  return !__builtin_add_overflow(sum, number, &sum);
}

}  // namespace

Result<Profile> parse_dnn_partitioning(const JsonValue& root) {
  const std::vector<JsonValue>& nodes = root.find("nodes")->items;
  WEFT_ASSIGN(const std::vector<NodeEdge> edges, edges_of(root, "size"));
  Profile profile;
  std::map<std::string, std::int32_t> layer_of_colour;
  std::vector<std::int32_t> layer_of(nodes.size());
  std::vector<bool> is_backward(nodes.size()), has_forward(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string id = text_of(nodes[i], "id"), colour = text_of(nodes[i], "colorClass");
    const auto next = static_cast<std::int32_t>(profile.layers.size());
    const auto [found, is_new] =
        layer_of_colour.emplace(colour.empty() ? "node " + id : "colour " + colour, next);
    if (is_new) {
      Layer layer;
      layer.id = id;
      layer.name = text_of(nodes[i], "name");
      profile.layers.push_back(std::move(layer));
    }
    layer_of[i] = found->second;
    is_backward[i] = is_set(nodes[i], "isBackwardNode");
    if (!is_backward[i]) has_forward[layer_of[i]] = true;
    Layer& layer = profile.layers[layer_of[i]];
    WEFT_ASSIGN(const Nanos time, node_number(nodes[i], id, "fpgaLatency", 6));
    WEFT_ASSIGN(const Bytes size, node_number(nodes[i], id, "size", 0));
    if (time < 0) return bad_input(fmt::format("node '{}' has a negative time", id));
    if (!add(is_backward[i] ? layer.backward : layer.forward, time) ||
        (!is_backward[i] && !add(layer.stash, size))) {
      return bad_input(fmt::format("the times or sizes up to node '{}' are too large", id));
    }
  }
  // All edges of a node carry the same output, so its size is the largest of them, not the sum.
  std::vector<Bytes> output(nodes.size(), 0);
  for (const NodeEdge& edge : edges) {
    if (is_backward[edge.from] || layer_of[edge.from] == layer_of[edge.to]) continue;
    // An edge from a forward node to the backward of another layer only says that an activation is
    // kept. It does not order the two layers, so it is left out. A layer without forward nodes,
    // such as a loss, still needs the edge.
    if (is_backward[edge.to] && has_forward[layer_of[edge.to]]) continue;
    output[edge.from] = std::max(output[edge.from], edge.bytes);
    profile.edges.push_back({layer_of[edge.from], layer_of[edge.to]});
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!add(profile.layers[layer_of[i]].activation, output[i]))
      return bad_input("the sum of the sizes is too large");
  }
  return profile;
}

Result<Profile> parse_piper(const JsonValue& root) {
  const std::vector<JsonValue>& nodes = root.find("nodes")->items;
  WEFT_ASSIGN(const std::vector<NodeEdge> edges, edges_of(root, "communicationCost"));
  Profile profile;
  for (const JsonValue& node : nodes) {
    Layer layer;
    layer.id = text_of(node, "id");
    layer.name = text_of(node, "name");
    const JsonValue* variants = node.find("TMPCs");
    const JsonValue* on_one_device = variants ? variants->find("1") : nullptr;
    if (!on_one_device || on_one_device->items.empty()) {
      return bad_input(fmt::format("node '{}' has no 'TMPCs' for one device", layer.id));
    }
    // The first variant keeps all activations; the other variants recompute them.
    const JsonValue& plain = on_one_device->items.front();
    WEFT_ASSIGN(const Nanos time, node_number(plain, layer.id, "timePerSample", 9));
    layer.forward = time / 3;
    layer.backward = time - layer.forward;
    WEFT_ASSIGN(layer.parameters, node_number(plain, layer.id, "parameterSize", 0));
    WEFT_ASSIGN(layer.stash, node_number(plain, layer.id, "memoryUsageA", 0));
    profile.layers.push_back(std::move(layer));
  }
  for (const NodeEdge& edge : edges) {
    Layer& layer = profile.layers[edge.from];
    layer.activation = std::max(layer.activation, edge.bytes);
    profile.edges.push_back(
        {static_cast<std::int32_t>(edge.from), static_cast<std::int32_t>(edge.to)});
  }
  return profile;
}

}  // namespace weft::pipeline::profiles
