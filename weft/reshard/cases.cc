// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/cases.h"

#include <algorithm>

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

/// A layout over a mesh; `reduction`: of its summands, empty where it has none.
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

/// Of both sides.
Result<std::string> one_reduction(const std::string& from, const std::string& to) {
  if (!from.empty() && !to.empty() && from != to) {
    return fail(ErrorCode::kInfeasible,
                "two different reductions (" + from + " of the source, " + to +
                    " of the target): reduce to an array without summands in between");
  }
  return from.empty() ? to : from;
}

Result<Problem> parse_mesh_case(const JsonValue& value, const Shape& shape) {
  const auto rule = split_rule(member(value, "split_rule").text);
  if (!rule) return bad("'split_rule' is none of ceil_flat, ceil_nested, balanced");
  std::string from_reduction, to_reduction;
  WEFT_ASSIGN(const Sharding from, parse_sharding(member(value, "src"), from_reduction));
  WEFT_ASSIGN(const Sharding to, parse_sharding(member(value, "dst"), to_reduction));
  WEFT_ASSIGN(Problem problem, make_problem(shape, 1, from, to, *rule));
  WEFT_ASSIGN(problem.reduction, one_reduction(from_reduction, to_reduction));
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

/// One end of a ragged case: ranges of the flattened array by rank, or a layout over a mesh.
struct RaggedEnd {
  std::vector<std::vector<Box>> boxes;
  std::optional<Sharding> type;

  std::vector<std::int64_t> devices() const {
    return type ? type->mesh.devices : count_up(boxes.size());
  }
};

Result<RaggedEnd> parse_ragged_end(const JsonValue& value, const Shape& shape) {
  RaggedEnd end;
  if (value.find("mesh")) {
    std::string reduction;
    WEFT_ASSIGN(end.type, parse_sharding(value, reduction));
    WEFT_TRY(check_sharding(*end.type, shape.size()));
    if (!end.type->partial.empty()) return bad("a ragged case has no summands");
    return end;
  }
  Box whole;
  for (const std::int64_t size : shape) whole.push_back({0, size});
  const JsonValue& ranges = member(value, "ranges");
  if (!ranges.is_array()) return bad("an end of a ragged case has 'ranges' or 'mesh'");
  if (static_cast<std::int64_t>(ranges.items.size()) > Mesh::kMostDevices) {
    return bad("too many ranges");
  }
  for (const JsonValue& item : ranges.items) {
    WEFT_ASSIGN(const auto bounds, integers(item, "ranges"));
    if (bounds.size() != 2 || bounds[1] > volume(whole)) {
      return bad("a range is [low, high) of the flattened array");
    }
    end.boxes.push_back(flat_range(whole, bounds[0], bounds[1]));
  }
  return end;
}

Result<Problem> parse_ragged_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(const RaggedEnd from, parse_ragged_end(member(value, "src"), shape));
  WEFT_ASSIGN(const RaggedEnd to, parse_ragged_end(member(value, "dst"), shape));
  const auto rule = split_rule(member(value, "split_rule").text);
  if (!rule && (from.type || to.type)) {
    return bad("'split_rule' is none of ceil_flat, ceil_nested, balanced");
  }
  Problem problem;
  problem.shape = shape;
  for (const RaggedEnd* end : {&from, &to}) {
    const auto devices = end->devices();
    problem.devices.insert(problem.devices.end(), devices.begin(), devices.end());
  }
  std::sort(problem.devices.begin(), problem.devices.end());
  problem.devices.erase(std::unique(problem.devices.begin(), problem.devices.end()),
                        problem.devices.end());
  const auto universe = static_cast<Device>(problem.devices.size());
  if (universe == 0) return bad("there are no ranges");
  const auto layout = [&](const RaggedEnd& end) {
    const std::vector<Device> numbers = dense(problem.devices, end.devices());
    if (end.type) return layout_of(shape, *end.type, *rule, numbers, universe);
    std::vector<std::vector<Box>> boxes(universe);
    for (std::size_t i = 0; i < numbers.size(); ++i) boxes[numbers[i]] = end.boxes[i];
    return layout_of_boxes(shape, boxes);
  };
  problem.source = layout(from);
  problem.target = layout(to);
  problem.source_type = from.type;
  problem.target_type = to.type;
  return problem;
}

Result<Problem> parse_problem(const JsonValue& value) {
  if (!value.is_object()) return bad("a case is an object with 'kind', 'shape', 'src' and 'dst'");
  const std::string& kind = member(value, "kind").text;
  if (kind != "mesh" && kind != "boxes" && kind != "ragged" && kind != "block_cyclic") {
    return bad("kind '" + kind + "' is none of mesh, boxes, ragged, block_cyclic");
  }
  WEFT_ASSIGN(const Shape shape, integers(member(value, "shape"), "shape"));
  WEFT_TRY(check_shape(shape));
  const std::string& dtype = member(value, "dtype").text;
  const std::string& to_dtype = value.find("to_dtype") ? member(value, "to_dtype").text : dtype;
  Result<Problem> problem = kind == "mesh"     ? parse_mesh_case(value, shape)
                            : kind == "boxes"  ? parse_boxes_case(value, shape)
                            : kind == "ragged" ? parse_ragged_case(value, shape)
                                               : parse_block_cyclic_case(value, shape);
  if (!problem) return problem;
  problem->id = member(value, "id").text;
  WEFT_TRY(set_types(*problem, dtype, to_dtype));
  WEFT_TRY(check_source(problem->source));
  return problem;
}

}  // namespace

Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name) {
  const Result<JsonValue> file = parse_json(text, name);
  constexpr auto kExpected = "no case file, which is JSON with a list 'cases' of problems";
  if (!file) {
    return fail(file.error().code, std::string(kExpected) + ": " + file.error().message, name);
  }
  const JsonValue* list = file->find("cases");
  if (!list || !list->is_array()) return fail(ErrorCode::kBadInput, kExpected, name);
  std::vector<Case> cases;
  for (const JsonValue& value : list->items) {
    Result<Problem> problem = parse_problem(value);
    const Bytes size = problem ? problem->item_size : item_size(member(value, "dtype").text);
    cases.push_back({member(value, "id").text, size, std::move(problem)});
  }
  return cases;
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_cases(text, path);
}

}  // namespace weft::reshard
