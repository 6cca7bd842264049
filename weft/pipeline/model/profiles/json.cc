// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/document.h"

#include <fmt/format.h>

#include <unordered_map>

#include "weft/base/decimal.h"
#include "weft/pipeline/model/profiles/formats.h"

namespace weft::pipeline::profiles {
namespace {

/// The number of a field times 10^digits. If the field is absent, returns `missing`, or fails if
/// there is no such default.
Result<std::int64_t> layer_number(const JsonValue& layer, const std::string& id, const char* field,
                                  int digits, std::optional<std::int64_t> missing = std::nullopt) {
  const JsonValue* value = layer.find(field);
  if (!value && missing) return *missing;
  const auto number =
      value && value->is_number() ? parse_scaled(value->text, digits) : std::nullopt;
  if (number) return *number;
  // The JSON reader takes NaN for a number, because Python writes it.
  if (value && value->is_number() && !value->text.ends_with("NaN")) {
    return bad_input(
        fmt::format("layer '{}': '{}' is {}, which is too large", id, field, value->text));
  }
  return bad_input(fmt::format("layer '{}' needs a number '{}'", id, field));
}

/// Reads NAME_ms (in profiles) or NAME_ns (in plan files, in which times must stay exact).
Result<Nanos> time_of(const JsonValue& layer, const std::string& id, const std::string& what,
                      std::optional<Nanos> missing = std::nullopt) {
  const std::string nanos = what + "_ns";
  if (layer.find(nanos)) return layer_number(layer, id, nanos.c_str(), 0);
  return layer_number(layer, id, (what + "_ms").c_str(), 6, missing);
}

std::string text_of(const JsonValue* value, std::string otherwise) {
  return value && (value->is_string() || value->is_number()) ? value->text : std::move(otherwise);
}

Result<Layer> layer_of(const JsonValue& value, std::size_t position) {
  if (!value.is_object()) return bad_input(fmt::format("layer {} is not an object", position));
  Layer layer;
  layer.name = text_of(value.find("name"), fmt::format("layer {}", position));
  layer.id = text_of(value.find("id"), value.find("name") ? layer.name : std::to_string(position));
  WEFT_ASSIGN(layer.forward, time_of(value, layer.id, "forward"));
  WEFT_ASSIGN(layer.backward, time_of(value, layer.id, "backward"));
  WEFT_ASSIGN(layer.weight, time_of(value, layer.id, "weight", 0));
  WEFT_ASSIGN(layer.activation, layer_number(value, layer.id, "activation_bytes", 0, 0));
  WEFT_ASSIGN(layer.parameters, layer_number(value, layer.id, "parameter_bytes", 0, 0));
  WEFT_ASSIGN(layer.stash, layer_number(value, layer.id, "stash_bytes", 0, layer.activation));
  return layer;
}

void make_chain(Profile& profile) {
  for (std::size_t i = 1; i < profile.layers.size(); ++i) {
    profile.edges.push_back({static_cast<std::int32_t>(i - 1), static_cast<std::int32_t>(i)});
  }
}

Result<Profile> own(const JsonValue& root, const JsonValue& layers) {
  Profile profile;
  profile.name = text_of(root.find("name"), "");
  for (const JsonValue& item : layers.items) {
    WEFT_ASSIGN(Layer layer, layer_of(item, profile.layers.size()));
    profile.layers.push_back(std::move(layer));
  }
  const JsonValue* edges = root.find("edges");
  if (!edges) {
    make_chain(profile);
    return profile;
  }
  if (!edges->is_array())
    return bad_input("'edges' must be a list; leave it out for a chain of layers");
  std::unordered_map<std::string_view, std::int32_t> index;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    index.emplace(profile.layers[i].id, static_cast<std::int32_t>(i));
  }
  for (const JsonValue& edge : edges->items) {
    if (edge.items.size() != 2) {
      return bad_input("an edge must be [id, id]: a layer and a layer that reads its output");
    }
    const auto from = index.find(edge.items[0].text), to = index.find(edge.items[1].text);
    if (from == index.end() || to == index.end()) {
      return bad_input(fmt::format("an edge names layer '{}', which does not exist",
                                   edge.items[from == index.end() ? 0 : 1].text));
    }
    profile.edges.push_back({from->second, to->second});
  }
  return profile;
}

/// Reads the format of SPP's profiler: an object that maps each layer to four numbers. The layers
/// are in the order of the model.
Result<Profile> spp(const JsonValue& root) {
  Profile profile;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    const std::vector<JsonValue>& facts = root.items[i].items;
    Layer layer;
    layer.id = layer.name = root.keys[i];
    std::int64_t* const fields[] = {&layer.forward, &layer.backward, &layer.activation,
                                    &layer.parameters};
    for (std::size_t f = 0; f < 4; ++f) {
      const auto number =
          // The two times are microseconds.
          facts[f].is_number() ? parse_scaled(facts[f].text, f < 2 ? 3 : 0) : std::nullopt;
      if (!number && facts[f].is_number()) {
        return bad_input(fmt::format("layer '{}': {} is too large", layer.id, facts[f].text));
      }
      if (!number) return bad_input(fmt::format("layer '{}' needs four numbers", layer.id));
      *fields[f] = *number;
    }
    layer.stash = layer.activation;
    profile.layers.push_back(std::move(layer));
  }
  make_chain(profile);
  return profile;
}

}  // namespace

Result<Profile> parse_json_profile(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue root, parse_json(text, name));
  const JsonValue* layers = root.find("layers");
  if (layers && layers->is_array()) return own(root, *layers);
  const JsonValue* nodes = root.find("nodes");
  if (nodes && nodes->is_array() && !nodes->items.empty()) {
    if (nodes->items.front().find("fpgaLatency")) return parse_dnn_partitioning(root);
    if (nodes->items.front().find("TMPCs")) return parse_piper(root);
  }
  // Files in SPP's format have no name or version that identifies them, so this format is tried
  // last.
  bool fours = !root.items.empty();
  for (const JsonValue& item : root.items) fours &= item.is_array() && item.items.size() == 4;
  if (root.is_object() && fours) return spp(root);
  return bad_input(
      "this JSON is not a profile: it has no list 'layers' (see docs/formats/pipeline.md)");
}

}  // namespace weft::pipeline::profiles
