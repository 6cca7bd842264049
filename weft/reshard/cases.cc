// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/cases.h"

#include <algorithm>
#include <array>

#include "weft/base/file.h"
#include "weft/base/json_document.h"

namespace weft::reshard {
namespace {

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 24;

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::kBadInput, std::move(what)); }

const JsonValue& member(const JsonValue& value, std::string_view name) {
  static const JsonValue kNothing;
  const JsonValue* found = value.find(name);
  return found ? *found : kNothing;
}

Result<std::vector<std::int64_t>> integers(const JsonValue& value, const char* what) {
  if (!value.is_array()) return bad(std::string("'") + what + "' is no list of numbers");
  std::vector<std::int64_t> numbers;
  for (const JsonValue& item : value.items) {
    const auto number = item.as_int();
    if (!number || *number < 0)
      return bad(std::string("'") + what + "' has no number where one is due");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<Mesh> parse_mesh(const JsonValue& value) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const JsonValue& axis : member(value, "axes").items) {
    if (axis.items.size() != 2 || !axis.items[0].is_string() || !axis.items[1].as_int()) {
      return bad("an axis of a mesh is [name, size]");
    }
    sizes.emplace_back(axis.items[0].text, *axis.items[1].as_int());
  }
  std::vector<std::int64_t> devices;
  if (value.find("devices")) {
    WEFT_ASSIGN(devices, integers(member(value, "devices"), "devices"));
  }
  return make_mesh(sizes, std::move(devices));
}

Result<Sharding> parse_sharding(const JsonValue& value, std::string& reduction) {
  Sharding sharding;
  WEFT_ASSIGN(sharding.mesh, parse_mesh(member(value, "mesh")));
  const JsonValue& dims = member(value, "dims");
  if (!dims.is_array()) return bad("'dims' is no list");
  for (const JsonValue& dim : dims.items) {
    sharding.dims.emplace_back();
    for (const JsonValue& axis : dim.items) {
      WEFT_ASSIGN(Axis parsed, sharding.mesh.axis(axis.text));
      sharding.dims.back().push_back(std::move(parsed));
    }
  }
  const JsonValue& partial = member(value, "partial");
  for (std::size_t i = 0; i < partial.keys.size(); ++i) {
    WEFT_ASSIGN(Axis parsed, sharding.mesh.axis(partial.keys[i]));
    const std::string& name = partial.items[i].text;
    if (!reduction.empty() && reduction != name) {
      return fail(ErrorCode::kInfeasible,
                  "two different reductions (" + reduction + " and " + name +
                      ") in one partial layout: undefined without an order of reduction");
    }
    reduction = name;
    sharding.partial.push_back(std::move(parsed));
  }
  return sharding;
}

Result<Problem> parse_mesh_case(const JsonValue& value, const Shape& shape) {
  const auto rule = split_rule(member(value, "split_rule").text);
  if (!rule) return bad("'split_rule' is none of ceil_flat, ceil_nested, balanced");
  std::string reduction;
  WEFT_ASSIGN(const Sharding from, parse_sharding(member(value, "src"), reduction));
  WEFT_ASSIGN(const Sharding to, parse_sharding(member(value, "dst"), reduction));
  WEFT_ASSIGN(Problem problem, make_problem(shape, 1, from, to, *rule));
  problem.reduction = reduction;
  return problem;
}

/// One box a device.
Result<std::vector<std::vector<Box>>> parse_boxes(const JsonValue& value, const Shape& shape) {
  std::vector<std::vector<Box>> boxes;
  for (const JsonValue& item : value.items) {
    Box box;
    for (const JsonValue& side : item.items) {
      WEFT_ASSIGN(const auto bounds, integers(side, "boxes"));
      if (bounds.size() != 2) return bad("a box has [low, high) in each dimension");
      box.push_back({bounds[0], bounds[1]});
      const bool inside = box.size() <= shape.size() && bounds[1] <= shape[box.size() - 1];
      if (!inside) return bad("a box reaches beyond the array");
    }
    if (box.size() != shape.size()) return bad("a box has a side in each dimension");
    boxes.emplace_back();
    if (volume(box) > 0) boxes.back().push_back(std::move(box));
  }
  if (static_cast<std::int64_t>(boxes.size()) > Mesh::kMostDevices) return bad("too many boxes");
  return boxes;
}

Result<BlockCyclic> parse_block_cyclic(const JsonValue& value, const Shape& shape) {
  BlockCyclic deal;
  WEFT_ASSIGN(const auto block, integers(member(value, "block"), "block"));
  WEFT_ASSIGN(const auto grid, integers(member(value, "grid"), "grid"));
  WEFT_ASSIGN(const auto source, integers(member(value, "src"), "src"));
  if (block.size() != 2 || grid.size() != 2 || source.size() != 2 || shape.size() != 2) {
    return bad("a block-cyclic layout has two dimensions");
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (block[i] < 1 || grid[i] < 1 || grid[i] > 1024 || source[i] >= grid[i] ||
        shape[i] / block[i] > kMostBlocks) {
      return bad("blocks and grid have a size of at least 1, and 'src' lies in the grid");
    }
    deal.block[i] = block[i];
    deal.grid[i] = grid[i];
    deal.source[i] = source[i];
  }
  deal.row_major = member(value, "order").text != "C";
  return deal;
}

std::vector<std::int64_t> count_up(std::size_t devices) {
  std::vector<std::int64_t> ids(devices);
  for (std::size_t i = 0; i < devices; ++i) ids[i] = static_cast<std::int64_t>(i);
  return ids;
}

Result<Problem> parse_boxes_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(auto from, parse_boxes(member(member(value, "src"), "boxes"), shape));
  WEFT_ASSIGN(auto to, parse_boxes(member(member(value, "dst"), "boxes"), shape));
  const std::size_t devices = std::max(from.size(), to.size());
  if (devices == 0) return bad("there are no boxes");
  from.resize(devices);
  to.resize(devices);
  Problem problem;
  problem.shape = shape;
  problem.devices = count_up(devices);
  problem.source = layout_of_boxes(shape, from);
  problem.target = layout_of_boxes(shape, to);
  return problem;
}

Result<Problem> parse_block_cyclic_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(const BlockCyclic from, parse_block_cyclic(member(value, "src"), shape));
  WEFT_ASSIGN(const BlockCyclic to, parse_block_cyclic(member(value, "dst"), shape));
  const auto devices =
      static_cast<Device>(std::max(from.grid[0] * from.grid[1], to.grid[0] * to.grid[1]));
  Problem problem;
  problem.shape = shape;
  problem.devices = count_up(devices);
  problem.source = layout_of(shape, from, devices);
  problem.target = layout_of(shape, to, devices);
  return problem;
}

Result<Problem> parse_problem(const JsonValue& value, Bytes size) {
  WEFT_ASSIGN(const Shape shape, integers(member(value, "shape"), "shape"));
  WEFT_TRY(check_shape(shape));
  if (size == 0) return bad("the element type '" + member(value, "dtype").text + "' is not known");
  const std::string& kind = member(value, "kind").text;
  Result<Problem> problem = kind == "mesh"    ? parse_mesh_case(value, shape)
                            : kind == "boxes" ? parse_boxes_case(value, shape)
                            : kind == "block_cyclic"
                                ? parse_block_cyclic_case(value, shape)
                                : Result<Problem>(bad("kind '" + kind + "' is not known"));
  if (!problem) return problem;
  problem->id = member(value, "id").text;
  problem->item_size = size;
  WEFT_TRY(check_source(problem->source));
  return problem;
}

}  // namespace

Bytes item_size(std::string_view dtype) {
  struct Type {
    std::string_view name;
    Bytes bytes;
  };
  constexpr std::array<Type, 31> types = {
      {{"f32", 4},        {"f64", 8},   {"bf16", 2},  {"f16", 2},      {"i32", 4},
       {"s32", 4},        {"int", 4},   {"i64", 8},   {"s64", 8},      {"ui32", 4},
       {"u32", 4},        {"ui64", 8},  {"u64", 8},   {"c64", 8},      {"c128", 16},
       {"i8", 1},         {"s8", 1},    {"ui8", 1},   {"u8", 1},       {"i16", 2},
       {"s16", 2},        {"f8", 1},    {"pred", 1},  {"float32", 4},  {"float64", 8},
       {"float16", 2},    {"int32", 4}, {"int64", 8}, {"bfloat16", 2}, {"complex64", 8},
       {"complex128", 16}}};
  for (const Type& type : types) {
    if (type.name == dtype) return type.bytes;
  }
  return 0;
}

Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue file, parse_json(text, name));
  const JsonValue* list = file.find("cases");
  if (!list || !list->is_array()) {
    return fail(ErrorCode::kBadInput, "no case file: it has a list 'cases'", name);
  }
  std::vector<Case> cases;
  for (const JsonValue& value : list->items) {
    const Bytes size = item_size(member(value, "dtype").text);
    cases.push_back({member(value, "id").text, size, parse_problem(value, size)});
  }
  return cases;
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_cases(text, path);
}

}  // namespace weft::reshard
