// SPDX-License-Identifier: Apache-2.0
#include "cli/reshard/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/shell/format.h"
#include "weft/base/decimal.h"
#include "weft/reshard/layout/text.h"
#include "weft/reshard/round/measured_link.h"

namespace weft::cli {
namespace {

using reshard::Case;

/// The last value of a flag; `missing` if the flag is not given.
std::string value_of(const Arguments& arguments, const char* flag, const char* missing = "") {
  return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
}

/// Turns any error of the library about a flag's value into a usage error that names the flag.
template <class T>
Result<T> flag_value(const char* flag, Result<T> value) {
  if (value) return value;
  return fail(ErrorCode::kUsage, fmt::format("{}: {}", flag, value.error().message));
}

/// How the planner prices a plan: with measured link tables (--links), or with the latency and
/// bandwidth of --link.
Result<reshard::PlannerOptions> planner_options(const Arguments& arguments) {
  reshard::PlannerOptions options;
  if (arguments.has("--links")) {
    WEFT_ASSIGN(const auto tables, cost::read_links(arguments.all("--links")));
    WEFT_ASSIGN(options.link, reshard::link_of(tables));
  } else {
    WEFT_ASSIGN(
        options.link,
        flag_value("--link", reshard::parse_link(value_of(arguments, "--link", "10us,25GB/s"))));
  }
  WEFT_ASSIGN(options.link.message,
              flag_value("--message-cost",
                         reshard::parse_duration(value_of(arguments, "--message-cost", "0us"))));
  options.direct = arguments.has("--direct");
  return options;
}

/// The value of --topology, such as "4,50GB/s": devices per node, and bytes per second into a node.
struct Topology {
  std::int64_t node_size = 0, bandwidth = 0;
};

Result<Topology> topology_of(const Arguments& arguments) {
  Topology topology;
  if (!arguments.has("--topology")) return topology;
  const std::string_view text = arguments.all("--topology").back();
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto size = parse_digits(text.substr(0, comma));
  if (!size || *size < 1 || comma == text.size()) {
    return fail(ErrorCode::kUsage,
                fmt::format("--topology: '{}' is not a topology; write 4,50GB/s: devices per node, "
                            "bandwidth into a node",
                            text));
  }
  topology.node_size = *size;
  WEFT_ASSIGN(topology.bandwidth,
              flag_value("--topology", reshard::parse_bandwidth(text.substr(comma + 1))));
  return topology;
}

/// Parses a mesh. The axes are first parsed without devices. So an error names the flag that caused
/// it: `axes_flag` or `devices_flag`.
Result<reshard::Mesh> mesh_of(const char* axes_flag, const std::string& axes,
                              const char* devices_flag, const std::string& devices) {
  WEFT_TRY(flag_value(axes_flag, reshard::parse_mesh(axes, "")));
  return flag_value(devices_flag, reshard::parse_mesh(axes, devices));
}

/// Parses --from or --to and checks it against the number of dimensions.
Result<reshard::Sharding> sharding_of(const char* flag, const reshard::Mesh& mesh,
                                      const std::string& dims, const std::string& partial,
                                      std::size_t rank) {
  WEFT_ASSIGN(const reshard::Sharding sharding,
              flag_value(flag, reshard::parse_sharding(mesh, dims, partial)));
  if (const Status right = check_sharding(sharding, rank); !right) {
    return fail(ErrorCode::kUsage, fmt::format("{}: {}", flag, right.error().message));
  }
  return sharding;
}

}  // namespace

Result<ReshardMode> reshard_mode(const Arguments& arguments) {
  std::string chosen;
  for (const char* flag : {"--plan", "--cases", "--mesh"}) {
    if (!arguments.has(flag)) continue;
    if (!chosen.empty()) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{} and {} both say what to redistribute; give one", chosen, flag));
    }
    chosen = flag;
  }
  if (arguments.has("--link") && arguments.has("--links")) {
    return fail(ErrorCode::kUsage, "--link and --links both say what a step costs; give one");
  }
  if (arguments.has("--plan")) return ReshardMode::kPlanFile;
  return arguments.has("--cases") ? ReshardMode::kCaseFile : ReshardMode::kOneProblem;
}

Result<Case> reshard_case(const Arguments& arguments) {
  for (const char* flag : {"--mesh", "--shape", "--from", "--to"}) {
    if (!arguments.has(flag)) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("{} is missing (a problem needs --mesh, --shape, --from and --to; use "
                      "--cases for a file of problems)",
                      flag));
    }
  }
  const auto value = [&](const char* flag) { return value_of(arguments, flag); };
  WEFT_ASSIGN(const reshard::Mesh mesh,
              mesh_of("--mesh", value("--mesh"), "--devices", value("--devices")));
  WEFT_ASSIGN(const reshard::Mesh to_mesh,
              mesh_of("--to-mesh", value_of(arguments, "--to-mesh", value("--mesh").c_str()),
                      arguments.has("--to-devices") ? "--to-devices" : "--devices",
                      value_of(arguments, "--to-devices", value("--devices").c_str())));
  WEFT_ASSIGN(const reshard::Shape shape,
              flag_value("--shape", reshard::parse_shape(value("--shape"))));
  // In --shape, "-" means a scalar: an array without dimensions. In --from and --to of a scalar "-"
  // also means "no dimensions". For other arrays it means one dimension that is not cut.
  const auto dims = [&](const char* flag) {
    return shape.empty() && value(flag) == "-" ? std::string() : value(flag);
  };
  WEFT_ASSIGN(const reshard::Sharding from,
              sharding_of("--from", mesh, dims("--from"), value("--from-partial"), shape.size()));
  WEFT_ASSIGN(const reshard::Sharding to,
              sharding_of("--to", to_mesh, dims("--to"), value("--to-partial"), shape.size()));
  const std::string dtype = value_of(arguments, "--dtype", "f32");
  const std::string to_dtype = value_of(arguments, "--to-dtype", dtype.c_str());
  // The parser accepts only known rules for --split, so this always has a value.
  const auto rule = reshard::split_rule(value_of(arguments, "--split", "ceil_flat"));
  WEFT_ASSIGN(reshard::Problem problem,
              flag_value("--from and --to", reshard::make_problem(shape, 1, from, to, *rule)));
  problem.id = fmt::format("{} -> {}", reshard::text_of(from), reshard::text_of(to));
  if (!from.partial.empty() || !to.partial.empty()) problem.reduction = "sum";
  if (const Status types = set_types(problem, dtype, to_dtype); !types) {
    return fail(ErrorCode::kUsage,
                fmt::format("--dtype and --to-dtype: {}", types.error().message));
  }
  // Messages and plan files name a problem only by its id, so the id contains both shardings.
  const Bytes size = problem.item_size;
  return Case{problem.id, size, std::move(problem)};
}

Result<PlanningOptions> planning_options(const Arguments& arguments) {
  PlanningOptions options;
  WEFT_ASSIGN(options.planner, planner_options(arguments));
  WEFT_ASSIGN(const Topology topology, topology_of(arguments));
  options.node_size = topology.node_size;
  options.planner.link.node_bandwidth = topology.bandwidth;
  WEFT_ASSIGN(options.scale_local, size_flag(arguments, "--scale-local", 1));
  WEFT_ASSIGN(options.program.budget, size_flag(arguments, "--budget", 0));
  // In the library, a budget of 0 means "no limit". So "--budget 0" becomes a budget of one byte,
  // into which no transfer fits.
  if (arguments.has("--budget")) {
    options.program.budget = std::max<Bytes>(1, options.program.budget);
  }
  // Half of the budget is for data that is on its way into a device, see Link::window.
  options.planner.link.window = options.program.budget / 2;
  options.program.in_place = arguments.has("--in-place");
  options.relabel = arguments.has("--relabel");
  return options;
}

ReshardOutput reshard_output(const Arguments& arguments) {
  const auto file = [&](const char* flag) -> std::optional<std::string> {
    if (!arguments.has(flag)) return std::nullopt;
    return arguments.all(flag).back();
  };
  ReshardOutput output;
  output.json = arguments.has("--json");
  output.together = arguments.has("--together");
  output.direct = arguments.has("--direct");
  output.all = arguments.has("--all");
  output.plan_file = file("-o");
  output.transfers_file = file("--plans");
  output.picture_file = file("--svg");
  return output;
}

}  // namespace weft::cli
