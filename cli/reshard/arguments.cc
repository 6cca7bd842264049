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

std::string value_of(const Arguments& arguments, const char* flag, const char* missing = "") {
  return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
}

/// What is wrong with a flag is a matter of usage, whatever the library calls it.
template <class T>
Result<T> flag_value(const char* flag, Result<T> value) {
  if (value) return value;
  return fail(ErrorCode::kUsage, fmt::format("{}: {}", flag, value.error().message));
}

Result<reshard::PlannerOptions> options_of(const Arguments& arguments) {
  reshard::PlannerOptions options;
  if (arguments.has("--links")) {
    if (arguments.has("--link")) {
      return fail(ErrorCode::kUsage, "--link and --links both tell what a step costs; give one");
    }
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

/// "4,50GB/s": devices a node, bandwidth into a node.
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
    return fail(
        ErrorCode::kUsage,
        fmt::format("--topology: '{}' is none; write 4,50GB/s: devices of a node, bandwidth "
                    "into it",
                    text));
  }
  topology.node_size = *size;
  WEFT_ASSIGN(topology.bandwidth,
              flag_value("--topology", reshard::parse_bandwidth(text.substr(comma + 1))));
  return topology;
}

/// A mesh that is wrong by itself is blamed on its flag, else on that of its devices.
Result<reshard::Mesh> mesh_of(const char* axes_flag, const std::string& axes,
                              const char* devices_flag, const std::string& devices) {
  WEFT_TRY(flag_value(axes_flag, reshard::parse_mesh(axes, "")));
  return flag_value(devices_flag, reshard::parse_mesh(axes, devices));
}

/// What a flag says about each dimension, right by itself.
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

/// Problems come from one place.
Status check_origin(const Arguments& arguments) {
  std::string chosen;
  for (const char* flag : {"--plan", "--cases", "--mesh"}) {
    if (!arguments.has(flag)) continue;
    if (!chosen.empty()) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{} and {} both tell what to redistribute; give one", chosen, flag));
    }
    chosen = flag;
  }
  return {};
}

}  // namespace

Result<Case> reshard_case(const Arguments& arguments) {
  for (const char* flag : {"--mesh", "--shape", "--from", "--to"}) {
    if (!arguments.has(flag)) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{} is missing (a problem has --mesh, --shape, --from and --to; a "
                              "file of problems goes with --cases)",
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
  // A scalar has no dimension to be cut, which is written as its shape is.
  const auto dims = [&](const char* flag) {
    return shape.empty() && value(flag) == "-" ? std::string() : value(flag);
  };
  WEFT_ASSIGN(const reshard::Sharding from,
              sharding_of("--from", mesh, dims("--from"), value("--from-partial"), shape.size()));
  WEFT_ASSIGN(const reshard::Sharding to,
              sharding_of("--to", to_mesh, dims("--to"), value("--to-partial"), shape.size()));
  const std::string dtype = value_of(arguments, "--dtype", "f32");
  const std::string to_dtype = value_of(arguments, "--to-dtype", dtype.c_str());
  const auto rule = reshard::split_rule(value_of(arguments, "--split", "ceil_flat"));
  WEFT_ASSIGN(reshard::Problem problem,
              flag_value("--from and --to", reshard::make_problem(shape, 1, from, to, *rule)));
  problem.id = fmt::format("{} -> {}", reshard::text_of(from), reshard::text_of(to));
  if (!from.partial.empty() || !to.partial.empty()) problem.reduction = "sum";
  if (const Status types = set_types(problem, dtype, to_dtype); !types) {
    return fail(ErrorCode::kUsage,
                fmt::format("--dtype and --to-dtype: {}", types.error().message));
  }
  const Bytes size = problem.item_size;
  return Case{problem.id, size, std::move(problem)};
}

Result<ReshardArguments> reshard_arguments(const Arguments& arguments) {
  WEFT_TRY(check_origin(arguments));
  ReshardArguments given;
  WEFT_ASSIGN(given.options, options_of(arguments));
  WEFT_ASSIGN(const Topology topology, topology_of(arguments));
  given.node_size = topology.node_size;
  given.options.link.node_bandwidth = topology.bandwidth;
  WEFT_ASSIGN(given.scale_local, size_flag(arguments, "--scale-local", 1));
  WEFT_ASSIGN(given.how.budget, size_flag(arguments, "--budget", 0));
  // The library takes 0 for no limit. One byte is as good as none: not even an element's bit and
  // four messages fit.
  if (arguments.has("--budget")) given.how.budget = std::max<Bytes>(1, given.how.budget);
  given.options.link.window = given.how.budget / 2;
  given.how.in_place = arguments.has("--in-place");
  return given;
}

}  // namespace weft::cli
