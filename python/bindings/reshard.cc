// SPDX-License-Identifier: Apache-2.0
// Makes plans for Python: ReshardEnd (how an array is distributed), ReshardPlan and reshard_plan.
#include "python/bindings/reshard.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/bindings/errors.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/search/planner.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using reshard::End;

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

Result<End> mesh_end(const std::vector<std::pair<std::string, std::int64_t>>& axes,
                     std::vector<std::int64_t> devices,
                     const std::vector<std::vector<std::string>>& dims,
                     const std::vector<std::string>& partial) {
  reshard::Sharding type;
  WEFT_ASSIGN(type.mesh, reshard::make_mesh(axes, std::move(devices)));
  for (const auto& names : dims) {
    type.dims.emplace_back();
    for (const std::string& name : names) {
      WEFT_ASSIGN(reshard::Axis axis, type.mesh.axis(name));
      type.dims.back().push_back(std::move(axis));
    }
  }
  for (const std::string& name : partial) {
    WEFT_ASSIGN(reshard::Axis axis, type.mesh.axis(name));
    type.partial.push_back(std::move(axis));
  }
  return End{std::move(type), {}};
}

/// The parts of each device as Python passes them. A part is a list of strips per dimension, a
/// strip is (low, high).
using Strip = std::pair<std::int64_t, std::int64_t>;
using PartsByDevice = std::map<std::int64_t, std::vector<std::vector<std::vector<Strip>>>>;

End parts_end(const PartsByDevice& by_device) {
  End end;
  for (const auto& [device, parts] : by_device) {
    auto& list = end.parts[device];
    for (const auto& part : parts) {
      reshard::Pieces& pieces = list.emplace_back();
      for (const auto& strips : part) {
        reshard::Strips intervals;
        for (const auto& [low, high] : strips) intervals.push_back({low, high});
        pieces.push_back(reshard::strips_of(std::move(intervals)));
      }
    }
  }
  return end;
}

/// The arguments of reshard_plan, except for the two ends.
struct PlanRequest {
  reshard::Shape shape;
  Bytes item_size;
  std::string dtype, rule, reduction, link, message_cost;
  std::vector<std::int64_t> others;
  std::int64_t node_size;
  bool direct;
  Bytes budget;
};

Result<PyPlan> plan_for(const PlanRequest& asked, const End& from, const End& to) {
  const auto rule = reshard::split_rule(asked.rule);
  if (!rule) {
    return fail(ErrorCode::kUsage,
                "unknown rule '" + asked.rule + "': use ceil_flat, ceil_nested or balanced");
  }
  if (asked.item_size < 1) return fail(ErrorCode::kUsage, "item_size must be at least 1 byte");
  auto array = std::make_shared<PlannedArray>();
  WEFT_ASSIGN(array->link, reshard::parse_link(asked.link));
  WEFT_ASSIGN(array->link.message, reshard::parse_duration(asked.message_cost));
  WEFT_ASSIGN(array->problem,
              reshard::make_problem(asked.shape, asked.item_size, from, to, *rule, asked.others));
  WEFT_TRY(reshard::check_source(array->problem.source));
  array->problem.reduction = asked.reduction;
  if (asked.node_size > 0) reshard::set_nodes(array->problem, asked.node_size);
  array->elements = {asked.dtype, asked.reduction};
  reshard::PlannerOptions options;
  options.link = array->link;
  options.direct = asked.direct;
  WEFT_ASSIGN(array->plan,
              reshard::execute::make_plan_within(array->problem, options, asked.budget));
  return PyPlan{std::move(array)};
}

PyPlan plan(reshard::Shape shape, Bytes item_size, const std::string& dtype, const End& source,
            const End& target, const std::string& rule, const std::string& reduction,
            std::vector<std::int64_t> others, std::int64_t node_size, const std::string& link,
            const std::string& message_cost, bool direct, Bytes budget) {
  const PlanRequest asked{std::move(shape), item_size,         dtype,     rule,   reduction, link,
                          message_cost,     std::move(others), node_size, direct, budget};
  Result<PyPlan> planned;
  // Planning may take seconds, so other Python threads run meanwhile. An error is raised
  // afterwards, because raising needs the GIL.
  {
    const nb::gil_scoped_release free;
    planned = plan_for(asked, source, target);
  }
  return value_or_raise(std::move(planned));
}

std::vector<std::pair<std::string, Bytes>> steps_of(const PyPlan& self) {
  std::vector<std::pair<std::string, Bytes>> steps;
  for (const reshard::Step& step : self.array->plan.steps) {
    steps.emplace_back(reshard::op_name(step.op),
                       step.traffic.recv_max * self.array->problem.item_size);
  }
  return steps;
}

}  // namespace

void bind_reshard(nb::module_& module) {
  nb::class_<End>(module, "ReshardEnd")
      .def_static(
          "mesh",
          [](const std::vector<std::pair<std::string, std::int64_t>>& axes,
             std::vector<std::int64_t> devices, const std::vector<std::vector<std::string>>& dims,
             const std::vector<std::string>& partial) {
            return value_or_raise(mesh_end(axes, std::move(devices), dims, partial));
          },
          nb::arg("axes"), nb::arg("devices"), nb::arg("dims"),
          nb::arg("partial") = std::vector<std::string>{})
      .def_static("parts", &parts_end, nb::arg("parts"));

  nb::class_<PyPlan>(module, "ReshardPlan")
      .def_prop_ro("devices", [](const PyPlan& self) { return self.array->problem.devices; })
      .def_prop_ro("steps", &steps_of)
      .def_prop_ro("received",
                   [](const PyPlan& self) {
                     // The planner counts elements; Python gets bytes, here and for `peak`.
                     return reshard::received(self.array->plan) * self.array->problem.item_size;
                   })
      .def_prop_ro(
          "peak",
          [](const PyPlan& self) { return self.array->plan.peak * self.array->problem.item_size; })
      .def_prop_ro("time_us", [](const PyPlan& self) {
        return static_cast<double>(self.array->plan.time) * 1e-6;  // from picoseconds
      });

  module.def("reshard_plan", &plan, nb::arg("shape"), nb::arg("item_size"), nb::arg("dtype"),
             nb::arg("source"), nb::arg("target"), nb::arg("rule") = "ceil_nested",
             nb::arg("reduction") = "", nb::arg("others") = std::vector<std::int64_t>{},
             nb::arg("node_size") = 0, nb::arg("link") = "10us,25GB/s",
             nb::arg("message_cost") = "0us", nb::arg("direct") = false, nb::arg("budget") = 0);
}

}  // namespace weft::python
