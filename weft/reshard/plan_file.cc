// SPDX-License-Identifier: Apache-2.0
// Writes plans as JSON and reads them back. The reader trusts nothing, because a plan file may come
// from anywhere. It reads each array in these steps:
//   1. It reads shape and devices. All other fields are checked against them.
//   2. It reads the layouts. It refuses layouts that would take too much memory or time to replay.
//   3. It reads element types and reduction, which depend on source and target.
//   4. It reads the steps, and checks that each step is a possible exchange.
//   5. It replays the plan by box algebra.
#include "weft/reshard/plan_file.h"

#include <algorithm>
#include <map>
#include <optional>

#include "weft/base/file.h"
#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/layout_json.h"

namespace weft::reshard {
namespace {

constexpr int kVersion = 1;
/// The most cells that a replay may visit, see check/cells.h. A cell counts once for each part that
/// contains it, in every layout of the plan.
constexpr std::int64_t kMostCells = std::int64_t{1} << 27;
/// The most combinations of slots (one slot per dimension) in one layout.
constexpr std::int64_t kMostPlanPieces = std::int64_t{1} << 24;

template <class T>
void write_number_list(JsonWriter& json, const char* name, const std::vector<T>& numbers) {
  json.key(name).begin_array();
  for (const T number : numbers) json.value(static_cast<std::int64_t>(number));
  json.end_array();
}

void write_link(JsonWriter& json, const Link& link) {
  json.key("link").begin_object().field("step_ps", link.step).field("message_ps", link.message);
  json.field("bandwidth", link.bandwidth).field("node_bandwidth", link.node_bandwidth).end_object();
}

/// Steps refer to layouts by number. The source is 0, and the target is 1. Intermediate layouts
/// follow in the order in which they first appear. Equal layouts share one number.
void write_array(JsonWriter& json, const PlannedArray& array) {
  const Problem& problem = array.problem;
  json.begin_object().field("id", problem.id).field("itemsize", problem.item_size);
  if (!problem.dtype.empty()) json.field("dtype", problem.dtype);
  if (problem.cast) json.field("to_dtype", problem.cast->to);
  if (!problem.reduction.empty()) json.field("reduction", problem.reduction);
  write_number_list(json, "shape", problem.shape);
  write_number_list(json, "devices", problem.devices);
  if (!problem.node_of.empty()) write_number_list(json, "node_of", problem.node_of);
  write_link(json, array.link);
  json.field("predicted_us", static_cast<double>(array.plan.time) / 1e6);
  std::vector<const Layout*> layouts = {&problem.source, &problem.target};
  json.key("steps").begin_array();
  for (const Step& step : array.plan.steps) {
    json.begin_object().field("op", op_name(step.op));
    std::vector<std::size_t> numbers;
    for (const LayoutPtr& layout : step.layouts) {
      const auto known = std::find_if(layouts.begin() + 1, layouts.end(), [&](const Layout* other) {
        return other == layout.get() || (same_distribution(*other, *layout) &&
                                         other->group_of_summand == layout->group_of_summand);
      });
      numbers.push_back(static_cast<std::size_t>(known - layouts.begin()));
      if (known == layouts.end()) layouts.push_back(layout.get());
    }
    write_number_list(json, "layouts", numbers);
    json.end_object();
  }
  json.end_array().key("layouts").begin_array();
  for (const Layout* layout : layouts) write_layout(json, *layout);
  json.end_array().end_object();
}

std::string text_field(const JsonValue& value, const char* name) {
  const JsonValue* found = value.find(name);
  return found != nullptr && found->is_string() ? found->text : "";
}

Result<std::int64_t> whole_field(const JsonValue& value, const char* name, std::int64_t low) {
  const JsonValue* found = value.find(name);
  const auto number = found != nullptr ? found->as_whole() : std::nullopt;
  if (!number || *number < low || *number > std::int64_t{1} << 56) {
    return bad_input(std::string("'") + name + "' must be a whole number of at least " +
                     std::to_string(low));
  }
  return *number;
}

Result<Link> parse_link(const JsonValue& value) {
  const JsonValue* found = value.find("link");
  if (found == nullptr) return bad_input("'link' is missing");
  Link link;
  WEFT_ASSIGN(link.step, whole_field(*found, "step_ps", 0));
  WEFT_ASSIGN(link.message, whole_field(*found, "message_ps", 0));
  WEFT_ASSIGN(link.bandwidth, whole_field(*found, "bandwidth", 1));
  WEFT_ASSIGN(link.node_bandwidth, whole_field(*found, "node_bandwidth", 0));
  // Prices are added up in 64 bits. These limits keep the sum from overflowing.
  constexpr Picos kLongest = 1'000'000'000'000'000;
  if (link.step > kLongest || link.message > kLongest)
    return bad_input("'step_ps' and 'message_ps' must be at most 1000 s");
  return link;
}

Status parse_types(const JsonValue& value, Problem& problem) {
  problem.reduction = text_field(value, "reduction");
  const std::string dtype = text_field(value, "dtype"), to = text_field(value, "to_dtype");
  WEFT_ASSIGN(const Bytes size, whole_field(value, "itemsize", 1));
  if (size > 16) return bad_input("'itemsize' must be at most 16 bytes");
  problem.item_size = size;
  if (dtype.empty()) return {};
  WEFT_TRY(set_types(problem, dtype, to.empty() ? dtype : to));
  return problem.item_size == size ? Status{}
                                   : bad_input("'itemsize' does not match 'dtype' and 'to_dtype'");
}

Status parse_devices(const JsonValue& value, Problem& problem) {
  WEFT_ASSIGN(problem.devices,
              parse_numbers(value.find("devices"), "devices", 0, std::int64_t{1} << 40));
  const auto count = static_cast<std::int64_t>(problem.devices.size());
  const auto unsorted = std::adjacent_find(problem.devices.begin(), problem.devices.end(),
                                           [](auto a, auto b) { return a >= b; });
  if (count == 0 || count > Mesh::kMostDevices || unsorted != problem.devices.end()) {
    return bad_input("'devices' must list device numbers in increasing order, each once");
  }
  if (value.find("node_of") == nullptr) return {};
  WEFT_ASSIGN(const auto nodes, parse_numbers(value.find("node_of"), "node_of", 0, count));
  if (nodes.size() != problem.devices.size()) {
    return bad_input("'node_of' must have one entry per device");
  }
  problem.node_of.assign(nodes.begin(), nodes.end());
  return {};
}

Result<Op> parse_op(const std::string& name) {
  for (const Op op : {Op::kDynamicSlice, Op::kAllGather, Op::kAllToAll, Op::kAllPermute,
                      Op::kReduceScatter, Op::kAllReduce, Op::kExchange, Op::kMakePartial}) {
    if (op_name(op) == name) return op;
  }
  return bad_input("this version of Weft does not know the step '" + name + "'");
}

/// Returns an Error if replaying the plan would need too much memory or time. A small file may
/// describe an array of many tiny pieces. So the work is estimated before memory is allocated for
/// it. The edges of all strips of all layouts divide each dimension into intervals. The number of
/// cells in a part is the product, over dimensions, of the number of intervals in the part.
Status check_effort(const Shape& shape, const std::vector<LayoutPtr>& layouts) {
  std::vector<std::vector<std::int64_t>> edges(shape.size());
  for (const LayoutPtr& layout : layouts) {
    std::int64_t combinations = 1;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      for (const Strips& strips : layout->cuts[dim]->slots) {
        for (const Interval& strip : strips)
          edges[dim].insert(edges[dim].end(), {strip.low, strip.high});
      }
      const auto slots = static_cast<std::int64_t>(layout->cuts[dim]->slots.size());
      if (slots > kMostPlanPieces / combinations)
        return bad_input("the layout has too many pieces to be checked");
      combinations *= std::max<std::int64_t>(1, slots);
    }
    // If a layout is not a grid, check_source() compares every pair of its parts.
    if (!layout->grid && layout->parts() > 1 << 15) {
      return bad_input("a layout that is not a grid has too many parts to be checked");
    }
  }
  for (auto& list : edges) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  std::int64_t cells = 0;
  for (const LayoutPtr& layout : layouts) {
    // The replay keeps a set of summands per cell. The set is stored as bits in 64-bit words.
    const auto words = static_cast<std::int64_t>(layout->group_of_summand.size() / 64 + 1);
    for (Part part = 0; part < layout->parts(); ++part) {
      std::int64_t of_part = words;
      for (std::size_t dim = 0; dim < shape.size() && of_part <= kMostCells; ++dim) {
        std::int64_t inside = 0;
        for (const Interval& strip : layout->cuts[dim]->piece(part)) {
          inside += std::lower_bound(edges[dim].begin(), edges[dim].end(), strip.high) -
                    std::lower_bound(edges[dim].begin(), edges[dim].end(), strip.low);
        }
        of_part *= inside;
      }
      cells += of_part;
      if (cells > kMostCells) {
        return bad_input("the layouts divide the array into too many cells to be checked");
      }
    }
  }
  return {};
}

/// The traffic of a step, summed over its rounds. The device that receives most in total may not be
/// the device that receives most in any single round. So received elements are added up per device
/// first.
Traffic traffic_through(const Layout& from, const std::vector<LayoutPtr>& layouts,
                        OverlapCache& overlaps) {
  Traffic sum;
  std::vector<std::int64_t> received_by(from.devices(), 0);
  const Layout* at = &from;
  for (const LayoutPtr& next : layouts) {
    const Traffic one = traffic(*at, *next, overlaps);
    const std::vector<std::int64_t> more = received(*at, *next);
    for (std::size_t i = 0; i < more.size(); ++i) received_by[i] += more[i];
    sum.recv_total += one.recv_total;
    sum.peers_max += one.peers_max;
    sum.node_recv_max += one.node_recv_max;
    at = next.get();
  }
  sum.recv_max = *std::max_element(received_by.begin(), received_by.end());
  return sum;
}

Result<std::vector<LayoutPtr>> parse_layouts(const JsonValue& value, const Problem& problem) {
  const JsonValue* list = value.find("layouts");
  if (list == nullptr || list->items.size() < 2) {
    return bad_input("'layouts' must list the source, the target, then intermediate layouts");
  }
  std::vector<LayoutPtr> layouts;
  for (const JsonValue& item : list->items) {
    WEFT_ASSIGN(Layout layout,
                parse_layout(item, problem.shape, static_cast<Device>(problem.devices.size())));
    layouts.push_back(std::make_shared<const Layout>(std::move(layout)));
  }
  WEFT_TRY(check_effort(problem.shape, layouts));
  return layouts;
}

Result<Plan> parse_steps(const JsonValue& value, const Problem& problem,
                         const std::vector<LayoutPtr>& layouts) {
  const JsonValue* steps = value.find("steps");
  if (steps == nullptr || !steps->is_array()) return bad_input("'steps' must be a list");
  Plan plan;
  OverlapCache overlaps(problem.node_of);
  const Layout* at = &problem.source;
  const auto most = static_cast<std::int64_t>(layouts.size()) - 1;
  for (const JsonValue& item : steps->items) {
    Step step;
    WEFT_ASSIGN(step.op, parse_op(text_field(item, "op")));
    WEFT_ASSIGN(const auto numbers, parse_numbers(item.find("layouts"), "layouts", 0, most));
    if (numbers.empty()) return bad_input("the 'layouts' of a step must not be empty");
    const Layout* next = at;
    for (const std::int64_t number : numbers) {
      step.layouts.push_back(layouts[number]);
      if (!exchangeable(*next, *layouts[number])) {
        return bad_input("a step separates summands that were added up before");
      }
      next = layouts[number].get();
    }
    step.traffic = traffic_through(*at, step.layouts, overlaps);
    at = next;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

Result<PlannedArray> parse_array(const JsonValue& value) {
  PlannedArray array;
  Problem& problem = array.problem;
  problem.id = text_field(value, "id");
  WEFT_ASSIGN(problem.shape, parse_numbers(value.find("shape"), "shape", 0, std::int64_t{1} << 53));
  WEFT_TRY(check_shape(problem.shape));
  WEFT_TRY(parse_devices(value, problem));
  WEFT_ASSIGN(const std::vector<LayoutPtr> layouts, parse_layouts(value, problem));
  problem.source = *layouts[0];
  problem.target = *layouts[1];
  WEFT_TRY(parse_types(value, problem));
  WEFT_TRY(check_source(problem.source));
  if (problem.target.partial() && problem.target.team.empty()) {
    return bad_input("a partial target must have the field 'team'");
  }
  if (!problem.target.partial() && !exchangeable(problem.source, problem.target)) {
    return bad_input("source and target must have the same summands");
  }
  WEFT_ASSIGN(array.link, parse_link(value));
  WEFT_ASSIGN(array.plan, parse_steps(value, problem, layouts));
  update_totals(array.plan, problem, array.link);
  WEFT_TRY(replay(problem, rounds(problem, array.plan), array.plan.last(problem)));
  return array;
}

}  // namespace

std::string print_plan_file(const std::vector<PlannedArray>& arrays) {
  JsonWriter json;
  json.begin_object().field("plan_version", kVersion).key("reshard").begin_array();
  for (const PlannedArray& array : arrays) write_array(json, array);
  return json.end_array().end_object().take() + "\n";
}

Result<std::vector<PlannedArray>> parse_plan_file(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue document, parse_json(text, name));
  const JsonValue* version = document.find("plan_version");
  const JsonValue* list = document.find("reshard");
  if (version == nullptr || list == nullptr || !list->is_array()) {
    return fail(ErrorCode::kBadInput,
                "not a plan for arrays: a plan file has 'plan_version' and a list 'reshard'", name);
  }
  if (version->as_int() != kVersion) {
    return fail(ErrorCode::kBadInput,
                "plan_version is " + version->text + ", but this version of Weft reads " +
                    std::to_string(kVersion),
                name);
  }
  std::vector<PlannedArray> arrays;
  for (const JsonValue& item : list->items) {
    Result<PlannedArray> array = parse_array(item);
    if (!array) {
      return fail(ErrorCode::kBadInput,
                  "array '" + text_field(item, "id") + "' of the plan: " + array.error().message,
                  name);
    }
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

Status write_plan_file(const std::string& path, const std::vector<PlannedArray>& arrays) {
  return write_file(path, print_plan_file(arrays));
}

Result<std::vector<PlannedArray>> read_plan_file(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_plan_file(text, path);
}

}  // namespace weft::reshard
