// SPDX-License-Identifier: Apache-2.0
// Reads case files. Each kind of case (mesh, boxes, block_cyclic, ragged) has a parser, which turns
// `src` and `dst` into two layouts on one list of devices. parse_problem() does the work that all
// kinds need: it reads shape and element types, and checks that the source holds every element.
// Files may come from anywhere, so every number is checked before memory is allocated for it.
#include "weft/reshard/layout/cases.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "weft/base/file.h"
#include "weft/base/json/document.h"

namespace weft::reshard {
namespace {

/// The most pieces into which the block edges of the two ends may divide a block-cyclic array. A
/// replay of more pieces would take too long.
constexpr std::int64_t kMostPieces = std::int64_t{1} << 24;

/// Returns a member of an object, or a JSON null if the member is missing. Callers check the kind
/// of the value. So for a missing member they return an Error that names the field.
const JsonValue& member(const JsonValue& value, std::string_view name) {
  static const JsonValue kNothing;
  const JsonValue* found = value.find(name);
  return found ? *found : kNothing;
}

/// Puts the name of the field before the message of a kBadInput error: "src: mesh: ...". The
/// message of any other error, such as a source that lacks elements, is a complete sentence and is
/// not changed.
template <class T>
Result<T> inside(std::string_view field, Result<T> value) {
  if (value || value.error().code != ErrorCode::kBadInput) return value;
  return fail(value.error().code, std::string(field) + ": " + value.error().message);
}

/// The value as error messages show it. No field needs a null or a boolean.
std::string quoted(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kString:
      return "'" + value.text + "'";
    case JsonKind::kNumber:
      return value.text;
    case JsonKind::kArray:
      return "a list";
    case JsonKind::kObject:
      return "an object";
    default:
      return "something else";
  }
}

Result<std::vector<std::int64_t>> integers(const JsonValue& value, const char* what) {
  if (!value.is_array()) return bad_input(std::string("'") + what + "' must be a list of numbers");
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63: too large for 64-bit integers
  std::vector<std::int64_t> numbers;
  for (const JsonValue& item : value.items) {
    const auto number = item.as_whole();
    if (!number || *number < 0) {
      const bool large = item.as_double().value_or(0) >= kBeyond;
      return bad_input(std::string("'") + what + "' contains " + quoted(item) +
                       " instead of a whole number of at least 0" + (large ? ", below 2^63" : ""));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// Reads an interval [low, high) of one dimension.
Result<Interval> parse_interval(const JsonValue& value, const char* what) {
  WEFT_ASSIGN(const auto bounds, integers(value, what));
  if (bounds.size() != 2 || bounds[0] > bounds[1]) {
    std::string text;
    for (const std::int64_t bound : bounds) {
      text += (text.empty() ? "" : ", ") + std::to_string(bound);
    }
    return bad_input(std::string("'") + what + "' contains [" + text + "] instead of [low, high)");
  }
  return Interval{bounds[0], bounds[1]};
}

Result<Mesh> parse_mesh(const JsonValue& value) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  const JsonValue& axes = member(value, "axes");
  if (!axes.is_array()) return bad_input("'axes' must be a list");
  for (const JsonValue& axis : axes.items) {
    if (axis.items.size() != 2 || !axis.items[0].is_string()) {
      return bad_input("every entry of 'axes' must be [name, size]");
    }
    const auto size = axis.items[1].as_whole();
    if (!size) {
      return bad_input("'axes' has " + quoted(axis.items[1]) + " as the size of '" +
                       axis.items[0].text + "' instead of a whole number from 1 to " +
                       std::to_string(Mesh::kMostDevices));
    }
    sizes.emplace_back(axis.items[0].text, *size);
  }
  std::vector<std::int64_t> devices;
  if (value.find("devices")) {
    WEFT_ASSIGN(devices, integers(member(value, "devices"), "devices"));
  }
  return make_mesh(sizes, std::move(devices));
}

Result<std::string> parse_reduction(const JsonValue& value) {
  constexpr std::string_view kKnown[] = {"sum", "prod", "min", "max", "avg"};
  if (value.is_string() && std::count(std::begin(kKnown), std::end(kKnown), value.text) > 0) {
    return value.text;
  }
  return bad_input("'partial' contains " + quoted(value) +
                   " instead of one of sum, prod, min, max, avg");
}

/// Reads a sharding over a mesh. Sets `reduction` to the reduction of its summands. Leaves
/// `reduction` empty if there are no summands.
Result<Sharding> parse_sharding(const JsonValue& value, std::string& reduction) {
  Sharding sharding;
  WEFT_ASSIGN(sharding.mesh, inside("mesh", parse_mesh(member(value, "mesh"))));
  const JsonValue& dims = member(value, "dims");
  if (!dims.is_array()) return bad_input("'dims' must be a list");
  for (const JsonValue& dim : dims.items) {
    sharding.dims.emplace_back();
    if (!dim.is_array())
      return bad_input("'dims' contains " + quoted(dim) + " instead of a list of axes");
    for (const JsonValue& axis : dim.items) {
      if (!axis.is_string()) {
        return bad_input("'dims' contains " + quoted(axis) + " instead of the name of an axis");
      }
      WEFT_ASSIGN(Axis parsed, inside("dims", sharding.mesh.axis(axis.text)));
      sharding.dims.back().push_back(std::move(parsed));
    }
  }
  const JsonValue& partial = member(value, "partial");
  if (!partial.is_object() && partial.kind != JsonKind::kNull) {
    return bad_input("'partial' must be an object that maps each axis to its reduction");
  }
  for (std::size_t i = 0; i < partial.keys.size(); ++i) {
    WEFT_ASSIGN(Axis parsed, inside("partial", sharding.mesh.axis(partial.keys[i])));
    WEFT_ASSIGN(const std::string name, parse_reduction(partial.items[i]));
    if (!reduction.empty() && reduction != name) {
      return fail(ErrorCode::kInfeasible,
                  "two different reductions (" + reduction + " and " + name +
                      ") in one partial layout: the result depends on which comes first");
    }
    reduction = name;
    sharding.partial.push_back(std::move(parsed));
  }
  return sharding;
}

/// The reduction of the problem. If both source and target have a reduction, it must be the same.
Result<std::string> common_reduction(const std::string& from, const std::string& to) {
  if (!from.empty() && !to.empty() && from != to) {
    return fail(ErrorCode::kInfeasible,
                "two different reductions (" + from + " of the source, " + to +
                    " of the target): first redistribute to a layout without summands");
  }
  return from.empty() ? to : from;
}

Result<Problem> parse_mesh_case(const JsonValue& value, const Shape& shape) {
  const auto rule = split_rule(member(value, "split_rule").text);
  if (!rule) return bad_input("'split_rule' must be one of ceil_flat, ceil_nested, balanced");
  std::string from_reduction, to_reduction;
  WEFT_ASSIGN(const Sharding from,
              inside("src", parse_sharding(member(value, "src"), from_reduction)));
  WEFT_ASSIGN(const Sharding to, inside("dst", parse_sharding(member(value, "dst"), to_reduction)));
  // The element size of 1 is a placeholder; parse_problem() sets the types of all kinds of cases.
  WEFT_ASSIGN(Problem problem, make_problem(shape, 1, from, to, *rule));
  WEFT_ASSIGN(problem.reduction, common_reduction(from_reduction, to_reduction));
  return problem;
}

/// Reads one box per device, in the order of devices. A device with an empty box holds nothing.
Result<std::vector<std::vector<Box>>> parse_boxes(const JsonValue& value, const Shape& shape) {
  if (!value.is_array()) return bad_input("'boxes' must be a list");
  std::vector<std::vector<Box>> boxes;
  for (const JsonValue& item : value.items) {
    Box box;
    for (const JsonValue& side : item.items) {
      WEFT_ASSIGN(const Interval interval, parse_interval(side, "boxes"));
      box.push_back(interval);
      const bool fits = box.size() <= shape.size() && interval.high <= shape[box.size() - 1];
      if (!fits) return bad_input("a box reaches beyond the array");
    }
    if (box.size() != shape.size()) {
      return bad_input("a box must have one [low, high) per dimension");
    }
    boxes.emplace_back();
    if (volume(box) > 0) boxes.back().push_back(std::move(box));
  }
  if (static_cast<std::int64_t>(boxes.size()) > Mesh::kMostDevices)
    return bad_input("'boxes' has too many entries: at most " + std::to_string(Mesh::kMostDevices) +
                     " devices");
  return boxes;
}

/// The largest side of a block-cyclic grid. A grid of 1024 x 1024 has as many devices as a mesh may
/// have.
constexpr std::int64_t kMostOfGrid = 1024;

Result<BlockCyclic> parse_block_cyclic(const JsonValue& value, const Shape& shape) {
  BlockCyclic distribution;
  WEFT_ASSIGN(const auto block, integers(member(value, "block"), "block"));
  WEFT_ASSIGN(const auto grid, integers(member(value, "grid"), "grid"));
  WEFT_ASSIGN(const auto source, integers(member(value, "src"), "src"));
  if (block.size() != 2 || grid.size() != 2 || source.size() != 2 || shape.size() != 2) {
    return bad_input(
        "'shape', 'block', 'grid' and 'src' of a block-cyclic case must have two entries");
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto wrong = [](const char* field, std::int64_t number, const std::string& expected) {
      return bad_input(std::string("'") + field + "' contains " + std::to_string(number) +
                       " instead of " + expected);
    };
    if (block[i] < 1) return wrong("block", block[i], "a size of at least 1");
    if (grid[i] < 1 || grid[i] > kMostOfGrid) {
      return wrong("grid", grid[i], "a size from 1 to " + std::to_string(kMostOfGrid));
    }
    if (source[i] >= grid[i]) {
      return wrong("src", source[i],
                   "a position in the grid from 0 to " + std::to_string(grid[i] - 1));
    }
    distribution.block[i] = block[i];
    distribution.grid[i] = grid[i];
    distribution.source[i] = source[i];
  }
  const JsonValue& order = member(value, "order");
  if (order.kind != JsonKind::kNull && order.text != "R" && order.text != "C") {
    return bad_input("'order' is " + quoted(order) +
                     " instead of R (row-major) or C (column-major)");
  }
  distribution.row_major = order.text != "C";
  return distribution;
}

/// Device numbers 0, 1, 2, ... of cases that do not name their devices.
std::vector<std::int64_t> consecutive(std::size_t devices) {
  std::vector<std::int64_t> ids(devices);
  for (std::size_t i = 0; i < devices; ++i) ids[i] = static_cast<std::int64_t>(i);
  return ids;
}

Result<Problem> parse_boxes_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(auto from, inside("src", parse_boxes(member(member(value, "src"), "boxes"), shape)));
  WEFT_ASSIGN(auto to, inside("dst", parse_boxes(member(member(value, "dst"), "boxes"), shape)));
  const std::size_t devices = std::max(from.size(), to.size());
  if (devices == 0) return bad_input("'src' and 'dst' have no boxes");
  // If the source or the target does not list a device, the device holds nothing there.
  from.resize(devices);
  to.resize(devices);
  Problem problem;
  problem.shape = shape;
  problem.devices = consecutive(devices);
  problem.source = layout_of_boxes(shape, from);
  problem.target = layout_of_boxes(shape, to);
  return problem;
}

/// Refuses blocks that are too small, before memory is allocated for them. For example, blocks of
/// one element would divide an array into as many pieces as it has elements. The blocks of the two
/// ends share an edge at every multiple of the least common multiple of their sizes. Such an edge
/// must count only once. The count is an estimate in doubles, which cannot overflow.
Status check_pieces(const Shape& shape, const BlockCyclic& from, const BlockCyclic& to) {
  double pieces = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto blocks = [&](double size) {
      return std::ceil(static_cast<double>(shape[i]) / size);
    };
    const auto one = static_cast<double>(from.block[i]), other = static_cast<double>(to.block[i]);
    const double both = one / static_cast<double>(std::gcd(from.block[i], to.block[i])) * other;
    pieces *= blocks(one) + blocks(other) - blocks(both);
  }
  if (pieces <= static_cast<double>(kMostPieces)) return {};
  return bad_input("the blocks of 'src' and 'dst' divide the array into more than " +
                   std::to_string(kMostPieces) + " pieces, which is the limit; use larger blocks");
}

Result<Problem> parse_block_cyclic_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(const BlockCyclic from,
              inside("src", parse_block_cyclic(member(value, "src"), shape)));
  WEFT_ASSIGN(const BlockCyclic to, inside("dst", parse_block_cyclic(member(value, "dst"), shape)));
  WEFT_TRY(check_pieces(shape, from, to));
  const auto devices =
      static_cast<Device>(std::max(from.grid[0] * from.grid[1], to.grid[0] * to.grid[1]));
  Problem problem;
  problem.shape = shape;
  problem.devices = consecutive(devices);
  problem.source = layout_of(shape, from, devices);
  problem.target = layout_of(shape, to, devices);
  return problem;
}

/// One end of a ragged case: either one range of the flattened array per device, or a sharding over
/// a mesh.
struct RaggedEnd {
  std::vector<std::vector<Box>> boxes;
  std::optional<Sharding> type;

  std::vector<std::int64_t> devices() const {
    return type ? type->mesh.devices : consecutive(boxes.size());
  }
};

Result<RaggedEnd> parse_ragged_end(const JsonValue& value, const Shape& shape) {
  RaggedEnd end;
  if (value.find("mesh")) {
    std::string reduction;
    WEFT_ASSIGN(end.type, parse_sharding(value, reduction));
    WEFT_TRY(check_sharding(*end.type, shape.size()));
    if (!end.type->partial.empty()) return bad_input("a ragged case must not have 'partial'");
    return end;
  }
  // Convert each range of the flattened array into a few boxes of the array.
  Box whole;
  for (const std::int64_t size : shape) whole.push_back({0, size});
  const JsonValue& ranges = member(value, "ranges");
  if (!ranges.is_array()) {
    return bad_input("an end of a ragged case must have 'ranges' or 'mesh'");
  }
  if (static_cast<std::int64_t>(ranges.items.size()) > Mesh::kMostDevices) {
    return bad_input("'ranges' has too many entries: at most " +
                     std::to_string(Mesh::kMostDevices) + " devices");
  }
  for (const JsonValue& item : ranges.items) {
    WEFT_ASSIGN(const Interval range, parse_interval(item, "ranges"));
    if (range.high > volume(whole)) return bad_input("a range reaches beyond the flattened array");
    end.boxes.push_back(flat_range(whole, range.low, range.high));
  }
  return end;
}

Result<Problem> parse_ragged_case(const JsonValue& value, const Shape& shape) {
  WEFT_ASSIGN(const RaggedEnd from, inside("src", parse_ragged_end(member(value, "src"), shape)));
  WEFT_ASSIGN(const RaggedEnd to, inside("dst", parse_ragged_end(member(value, "dst"), shape)));
  const auto rule = split_rule(member(value, "split_rule").text);
  if (!rule && (from.type || to.type)) {
    return bad_input("'split_rule' must be one of ceil_flat, ceil_nested, balanced");
  }
  // The devices of the problem are the union of the devices of the two ends. A mesh may use any
  // device numbers, so they need not be consecutive.
  Problem problem;
  problem.shape = shape;
  for (const RaggedEnd* end : {&from, &to}) {
    const auto devices = end->devices();
    problem.devices.insert(problem.devices.end(), devices.begin(), devices.end());
  }
  std::sort(problem.devices.begin(), problem.devices.end());
  problem.devices.erase(std::unique(problem.devices.begin(), problem.devices.end()),
                        problem.devices.end());
  const auto device_count = static_cast<Device>(problem.devices.size());
  if (device_count == 0) return bad_input("'src' and 'dst' have no ranges");
  const auto layout = [&](const RaggedEnd& end) {
    const std::vector<Device> numbers = dense(problem.devices, end.devices());
    if (end.type) return layout_of(shape, *end.type, *rule, numbers, device_count);
    std::vector<std::vector<Box>> boxes(device_count);
    for (std::size_t i = 0; i < numbers.size(); ++i) boxes[numbers[i]] = end.boxes[i];
    return layout_of_boxes(shape, boxes);
  };
  problem.source = layout(from);
  problem.target = layout(to);
  problem.source_type = from.type;
  problem.target_type = to.type;
  return problem;
}

Result<Problem> parse_problem(const JsonValue& value, const std::string& id) {
  if (!value.is_object())
    return bad_input("a case must be an object with 'kind', 'shape', 'src' and 'dst'");
  const std::string& kind = member(value, "kind").text;
  if (kind != "mesh" && kind != "boxes" && kind != "ragged" && kind != "block_cyclic") {
    return bad_input("'kind' is '" + kind + "' instead of mesh, boxes, ragged or block_cyclic");
  }
  WEFT_ASSIGN(const Shape shape, integers(member(value, "shape"), "shape"));
  WEFT_TRY(inside("shape", check_shape(shape)));
  const std::string& dtype = member(value, "dtype").text;
  const std::string& to_dtype = value.find("to_dtype") ? member(value, "to_dtype").text : dtype;
  Result<Problem> problem = kind == "mesh"     ? parse_mesh_case(value, shape)
                            : kind == "boxes"  ? parse_boxes_case(value, shape)
                            : kind == "ragged" ? parse_ragged_case(value, shape)
                                               : parse_block_cyclic_case(value, shape);
  if (!problem) return problem;
  problem->id = id;
  WEFT_TRY(set_types(*problem, dtype, to_dtype));
  WEFT_TRY(check_source(problem->source));
  return problem;
}

}  // namespace

Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name) {
  const Result<JsonValue> file = parse_json(text, name);
  constexpr auto kExpected = "not a case file: a case file is JSON with a list 'cases' of problems";
  if (!file) {
    return fail(file.error().code, std::string(kExpected) + ": " + file.error().message, name);
  }
  const JsonValue* list = file->find("cases");
  if (!list || !list->is_array()) return fail(ErrorCode::kBadInput, kExpected, name);
  std::vector<Case> cases;
  std::map<std::string, std::size_t> numbers;  // id -> number of the case, from 1
  for (const JsonValue& value : list->items) {
    const std::size_t number = cases.size() + 1;
    const std::string& given = member(value, "id").text;
    const std::string id = given.empty() ? "case " + std::to_string(number) : given;
    Result<Problem> problem = parse_problem(value, id);
    const auto [first, fresh] = numbers.emplace(id, number);
    if (!fresh) {  // the first case keeps its id, so plans that refer to it remain valid
      problem = bad_input("case " + std::to_string(first->second) +
                          " of the file has the same 'id'; plans are identified by it, so every "
                          "id must be unique");
    }
    // A refused case still reports the size of its elements, if the type is known.
    const Bytes size = problem ? problem->item_size : item_size(member(value, "dtype").text);
    cases.push_back({id, size, std::move(problem)});
  }
  return cases;
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_cases(text, path);
}

}  // namespace weft::reshard
