// SPDX-License-Identifier: Apache-2.0
// Writes layouts as JSON and reads them. First come the cuts, one per dimension: the distinct
// pieces, and the piece of each part. Then come the groups of the parts. Lengths, tiles, and
// whether the layout is a grid follow from these fields. They are not written, but computed when
// the layout is read. So a file cannot contradict itself.
#include "weft/reshard/layout/layout_json.h"

#include <set>
#include <string>

namespace weft::reshard {
namespace {

/// A layout in a file may have at most this many parts, and at most this many summands. The limit
/// is needed because files may come from anywhere.
constexpr std::int64_t kMostParts = 1 << 22;

template <class T>
void write_numbers(JsonWriter& json, const char* name, const std::vector<T>& numbers) {
  json.key(name).begin_array();
  for (const T number : numbers) json.value(static_cast<std::int64_t>(number));
  json.end_array();
}

/// Reads strips and checks what Strips promises: they are sorted, not empty, do not touch or
/// overlap, and lie within a dimension of `size` elements.
Result<Strips> parse_strips(const JsonValue& value, std::int64_t size) {
  if (!value.is_array()) return bad_input("a piece of a dimension must be a list of [low, high)");
  Strips strips;
  std::int64_t past = -1;
  for (const JsonValue& item : value.items) {
    WEFT_ASSIGN(const auto sides, parse_numbers(&item, "pieces", 0, size));
    if (sides.size() != 2 || sides[0] <= past || sides[1] <= sides[0]) {
      return bad_input("the strips of a piece must be [low, high), in order, and must not touch");
    }
    past = sides[1];
    strips.push_back({sides[0], sides[1]});
  }
  return strips;
}

Result<std::shared_ptr<const Cut>> parse_cut(const JsonValue& value, std::int64_t size,
                                             std::int64_t parts) {
  const JsonValue* pieces = value.find("pieces");
  if (pieces == nullptr || !pieces->is_array()) {
    return bad_input("a dimension must have a list 'pieces'");
  }
  std::vector<Strips> slots;
  for (const JsonValue& item : pieces->items) {
    WEFT_ASSIGN(Strips strips, parse_strips(item, size));
    slots.push_back(std::move(strips));
  }
  const auto most = static_cast<std::int64_t>(slots.size()) - 1;
  WEFT_ASSIGN(const auto of_part, parse_numbers(value.find("of_part"), "of_part", 0, most));
  if (static_cast<std::int64_t>(of_part.size()) != parts) {
    return bad_input("'of_part' must have one entry per part");
  }
  std::vector<Strips> piece_of_part;
  for (const std::int64_t slot : of_part) piece_of_part.push_back(slots[slot]);
  return std::make_shared<const Cut>(make_cut(piece_of_part));
}

/// Whether the layout is a grid: the pieces of each dimension are disjoint, and some part holds
/// each combination of them. Files do not say whether a layout is a grid, because a wrong claim
/// would make prices wrong.
bool is_grid(const Layout& layout) {
  std::int64_t combinations = layout.groups;
  for (std::size_t dim = 0; dim < layout.cuts.size(); ++dim) {
    Strips all;
    std::int64_t lengths = 0, pieces = 0;
    for (const Strips& strips : layout.cuts[dim]->slots) {
      all.append(strips.begin(), strips.end());
      lengths += length(strips);
      pieces += strips.empty() ? 0 : 1;
    }
    if (length(strips_of(std::move(all))) != lengths) return false;
    if (pieces > 0 && combinations > kMostParts / pieces) return false;
    combinations *= pieces;
  }
  std::set<std::vector<std::int32_t>> held;
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    std::vector<std::int32_t> key{layout.group[part]};
    for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[part]);
    held.insert(std::move(key));
  }
  return static_cast<std::int64_t>(held.size()) == combinations;
}

template <class T>
std::vector<T> narrowed(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

Result<std::vector<std::int64_t>> parse_numbers(const JsonValue* value, const char* what,
                                                std::int64_t low, std::int64_t high) {
  if (value == nullptr || !value->is_array()) {
    return bad_input(std::string("'") + what + "' must be a list of numbers");
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(value->items.size());
  for (const JsonValue& item : value->items) {
    const auto number = item.as_whole();
    if (!number || *number < low || *number > high) {
      return bad_input(std::string("'") + what + "' holds '" + item.text +
                       "', which is not a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void write_layout(JsonWriter& json, const Layout& layout) {
  json.begin_object().key("dims").begin_array();
  for (const auto& dim : layout.cuts) {
    // Write each distinct piece once, in order of appearance, so that equal layouts give equal
    // text. The cut in memory may number its slots in another order.
    std::vector<Strips> pieces;
    for (Part part = 0; part < layout.parts(); ++part) pieces.push_back(dim->piece(part));
    const Cut cut = make_cut(pieces);
    json.begin_object().key("pieces").begin_array();
    for (const Strips& strips : cut.slots) {
      json.begin_array();
      for (const Interval& strip : strips) {
        json.begin_array().value(strip.low).value(strip.high).end_array();
      }
      json.end_array();
    }
    json.end_array();
    write_numbers(json, "of_part", cut.slot_of);
    json.end_object();
  }
  json.end_array();
  write_numbers(json, "group", layout.group);
  if (!layout.further.empty()) write_numbers(json, "further", layout.further);
  write_numbers(json, "group_of_summand", layout.group_of_summand);
  if (!layout.team.empty()) write_numbers(json, "team", layout.team);
  json.end_object();
}

Result<Layout> parse_layout(const JsonValue& value, const Shape& shape, Device devices) {
  Layout layout;
  layout.shape = shape;
  WEFT_ASSIGN(const auto summands,
              parse_numbers(value.find("group_of_summand"), "group_of_summand", 0, kMostParts));
  if (summands.empty()) return bad_input("'group_of_summand' is empty");
  const std::set<std::int64_t> known(summands.begin(), summands.end());
  const std::int64_t last_group = *known.rbegin();
  // A group without summands would be a sum to which nothing contributes.
  if (last_group + 1 != static_cast<std::int64_t>(known.size())) {
    return bad_input("'group_of_summand' must use every group from 0 to its largest number");
  }
  layout.group_of_summand = narrowed<std::int32_t>(summands);
  layout.groups = static_cast<std::int32_t>(last_group + 1);
  WEFT_ASSIGN(const auto groups,
              parse_numbers(value.find("group"), "group", Layout::kAbsent, last_group));
  layout.group = narrowed<std::int32_t>(groups);
  if (value.find("further") != nullptr) {
    WEFT_ASSIGN(const auto further,
                parse_numbers(value.find("further"), "further", 0, devices - 1));
    layout.further = narrowed<Device>(further);
  }
  const auto parts = static_cast<std::int64_t>(groups.size());
  if (parts > kMostParts || parts != devices + static_cast<std::int64_t>(layout.further.size())) {
    return bad_input("'group' must have one entry per device, then one per entry of 'further'");
  }
  if (value.find("team") != nullptr) {
    WEFT_ASSIGN(const auto team,
                parse_numbers(value.find("team"), "team", Layout::kAbsent, devices - 1));
    if (static_cast<Device>(team.size()) != devices)
      return bad_input("'team' must have one entry per device");
    layout.team = narrowed<std::int32_t>(team);
  }
  const JsonValue* dims = value.find("dims");
  if (dims == nullptr || dims->items.size() != shape.size()) {
    return bad_input("'dims' must have one entry per dimension of the array");
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    WEFT_ASSIGN(auto cut, parse_cut(dims->items[dim], shape[dim], parts));
    layout.cuts.push_back(std::move(cut));
  }
  layout.grid = is_grid(layout);
  return layout;
}

}  // namespace weft::reshard
