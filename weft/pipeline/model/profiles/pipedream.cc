// SPDX-License-Identifier: Apache-2.0
// Parses PipeDream's graph format, line by line. A line with key=value facts is a layer; a line
// with two ids is an edge. Edges may name layers of later lines, so they are resolved at the end.
#include <fmt/format.h>

#include <unordered_map>

#include "weft/base/decimal.h"
#include "weft/pipeline/model/profiles/formats.h"

namespace weft::pipeline::profiles {
namespace {

constexpr std::string_view kBetween = " -- ";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

tl::unexpected<Error> bad(std::size_t line, const std::string& what) {
  return fail(ErrorCode::kBadInput, fmt::format("line {}: {}", line, what));
}

/// The text between "key=" and the next comma or the end; nullopt if there is no such key.
std::optional<std::string_view> value_of(std::string_view facts, std::string_view key) {
  const std::size_t at = facts.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = facts.substr(at + key.size());
  if (rest.empty() || rest.front() != '=') return std::nullopt;
  rest.remove_prefix(1);
  return trimmed(rest.substr(0, rest.find(',')));
}

/// Reads a size: a number, or for a layer with several outputs a list "[1.0; 2.0]", which is
/// summed.
std::optional<Bytes> bytes_of(std::string_view text) {
  if (text.empty() || text.front() != '[') return parse_scaled(text, 0);
  if (text.back() != ']') return std::nullopt;
  Bytes sum = 0;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    const auto part = parse_scaled(trimmed(rest.substr(0, end)), 0);
    if (!part || __builtin_add_overflow(sum, *part, &sum)) return std::nullopt;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return sum;
}

Result<Layer> layer_of(std::string_view id, std::string_view rest, std::size_t line) {
  // The name is the printed module of a program and may contain the separator itself. So the name
  // ends at the last separator before the first fact.
  const std::size_t facts_at = rest.find("forward_compute_time=");
  if (facts_at == std::string_view::npos) {
    return bad(line, fmt::format("layer '{}' has no forward_compute_time", id));
  }
  const std::string_view facts = rest.substr(facts_at);
  std::string_view name = trimmed(rest.substr(0, facts_at));
  if (name.ends_with("--")) name = trimmed(name.substr(0, name.size() - 2));
  Layer layer;
  layer.id = id;
  layer.name = name;
  const auto time = [&](const char* key) {
    const auto text = value_of(facts, key);
    return text ? parse_scaled(*text, 6) : std::nullopt;
  };
  const auto forward = time("forward_compute_time"), backward = time("backward_compute_time");
  if (!forward || !backward) {
    return bad(line, fmt::format("layer '{}' needs a {}_compute_time, a number of milliseconds", id,
                                 forward ? "backward" : "forward"));
  }
  layer.forward = *forward;
  layer.backward = *backward;
  const auto activation = value_of(facts, "activation_size");
  const auto parameters = value_of(facts, "parameter_size");
  const auto size = activation ? bytes_of(*activation) : std::nullopt;
  const auto weights = parameters
                           ? bytes_of(trimmed(parameters->substr(0, parameters->find(kBetween))))
                           : std::nullopt;
  if (!size || !weights) {
    return bad(line, fmt::format("layer '{}' needs a {}, a number of bytes", id,
                                 size ? "parameter_size" : "activation_size"));
  }
  // The format does not say how much memory a micro-batch keeps, so the size of the output is used.
  layer.activation = layer.stash = *size;
  layer.parameters = *weights;
  return layer;
}

}  // namespace

Result<Profile> parse_pipedream(std::string_view text) {
  struct Named {
    std::string_view from, to;
    std::size_t line;
  };
  Profile profile;
  std::vector<Named> edges;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (whole.empty()) continue;
    const std::size_t cut = whole.find(kBetween);
    if (cut == std::string_view::npos) {
      return bad(line,
                 "this is not a profile: expected 'node -- name -- forward_compute_time=...', "
                 "'node -- node', or JSON");
    }
    const std::string_view first = trimmed(whole.substr(0, cut));
    const std::string_view rest = trimmed(whole.substr(cut + kBetween.size()));
    if (rest.find(kBetween) == std::string_view::npos && rest.find('=') == std::string_view::npos) {
      edges.push_back({first, rest, line});
      continue;
    }
    WEFT_ASSIGN(Layer layer, layer_of(first, rest, line));
    profile.layers.push_back(std::move(layer));
  }
  std::unordered_map<std::string_view, std::int32_t> index;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    index.emplace(profile.layers[i].id, static_cast<std::int32_t>(i));
  }
  for (const Named& edge : edges) {
    const auto from = index.find(edge.from), to = index.find(edge.to);
    if (from == index.end() || to == index.end()) {
      return bad(edge.line, fmt::format("the edge names layer '{}', which does not exist",
                                        from == index.end() ? edge.from : edge.to));
    }
    profile.edges.push_back({from->second, to->second});
  }
  return profile;
}

}  // namespace weft::pipeline::profiles
