// SPDX-License-Identifier: Apache-2.0
#include "cli/reshard/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/shell/format.h"
#include "weft/reshard/search/bounds.h"

namespace weft::cli {
namespace {

using reshard::Case;
using reshard::Outcome;
using reshard::Picos;

std::string time_text(Picos time) { return format_time((time + 500) / 1000); }

/// How far a value is above its lower bound.
std::string against(std::int64_t value, std::int64_t bound) {
  if (value <= bound) return "which no plan can beat";
  if (bound == 0) return "while the only known lower bound is 0";
  return fmt::format("{:.1f} % above the lower bound",
                     100.0 * static_cast<double>(value - bound) / static_cast<double>(bound));
}

std::string size_text(const reshard::Shape& shape) {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string type_text(const std::optional<reshard::Sharding>& type) {
  if (!type) return "boxes";
  std::string text = reshard::text_of(*type);
  for (const reshard::Axis& axis : type->partial) {
    text += (text.empty() ? "partial " : " partial ") + axis.name;
  }
  return text.empty() ? "copies" : text;
}

/// A note if times were scaled with --scale-local. It reminds users that bytes are not scaled.
std::string scale_text(const reshard::Link& link) {
  if (link.grow == link.shrink) return "";
  return fmt::format("scaled    times are for parts of at most {} per device; bytes are unscaled\n",
                     format_bytes(link.grow));
}

/// A note if nodes differ in size: then the value of --topology may be a mistake.
std::string nodes_text(const reshard::Problem& problem) {
  const reshard::NodeSizes nodes = node_sizes(problem);
  if (nodes.least == nodes.most) return "";
  return fmt::format("nodes     {}, which differ in size: {} to {} devices\n", nodes.count,
                     nodes.least, nodes.most);
}

}  // namespace

std::string reshard_text(const Case& item, const Outcome& outcome, const Terminal& terminal) {
  const reshard::Problem& problem = *item.problem;
  const Bytes size = item.item_size;
  const std::string cast =
      problem.cast ? fmt::format(", {} to {}", problem.cast->from, problem.cast->to) : "";
  // A plan file has layouts but no shardings; there, only the problem's id describes the shardings.
  const std::string what =
      problem.source_type || problem.target_type || problem.id.empty()
          ? type_text(problem.source_type) + " -> " + type_text(problem.target_type)
          : problem.id;
  std::string text = fmt::format("{} of {} bytes on {} devices: {}{}\n", size_text(problem.shape),
                                 size, problem.devices.size(), what, cast);
  Table table({{"step"}, {"what", Align::kLeft}, {"receives"}, {"messages"}, {"time"}});
  int number = 0;
  for (const reshard::Step& step : outcome.plan.steps) {
    const bool moves = step.traffic.recv_max > 0;
    table.add_row({std::to_string(++number), std::string(reshard::op_name(step.op)),
                   moves ? format_bytes(step.traffic.recv_max * size) : "nothing",
                   moves ? format_count(messages(outcome.link, step.traffic, size)) : "-",
                   moves ? time_text(reshard::price(outcome.link, step.traffic, size)) : "-"});
  }
  text += outcome.plan.steps.empty() ? "nothing to do\n" : table.print(terminal);
  const reshard::Bounds least = reshard::bounds(problem);
  const Bytes received = reshard::received(outcome.plan) * size;
  text += fmt::format("receives  {} per device, {}\n", format_bytes(received),
                      against(received, least.recv_max * size));
  if (!problem.node_of.empty()) {
    Bytes into_node = 0;
    for (const reshard::Step& step : outcome.plan.steps) {
      into_node += step.traffic.node_recv_max * size;
    }
    text += fmt::format("nodes     {} from other nodes, {}\n", format_bytes(into_node),
                        against(into_node, least.node_recv_max * size));
    text += nodes_text(problem);
  }
  text +=
      fmt::format("peak      {} per device, {}\n", format_bytes(peak_bytes(problem, outcome.plan)),
                  against(peak_bytes(problem, outcome.plan), least_peak_bytes(problem)));
  text += fmt::format("time      {}, {}\n", time_text(outcome.plan.time),
                      against(outcome.plan.time, outcome.least_time));
  return text + scale_text(outcome.link);
}

std::string reshard_memory_text(const reshard::execute::Footprint& footprint) {
  std::string text;
  if (!footprint.reason.empty()) {
    text += fmt::format("in place  no: {}\n", footprint.reason);
  }
  text += fmt::format("memory    at most {} per device: {} in and {} out{}, {} of staging",
                      format_bytes(footprint.live), format_bytes(footprint.in),
                      format_bytes(footprint.out), footprint.in_place ? " in one buffer" : "",
                      format_bytes(footprint.staging));
  if (footprint.messages > 0) {
    text += fmt::format(", {} for messages of at most {}", format_bytes(footprint.messages),
                        format_bytes(footprint.message));
  }
  return text + "\n";
}

std::string reshard_cases_text(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes,
                               bool everything, const Terminal& terminal) {
  Table table({{"case", Align::kLeft, true},
               {"status", Align::kLeft},
               {"receives"},
               {"peak"},
               {"time"},
               {"steps", Align::kLeft, false, true}});
  std::int64_t counts[3] = {0, 0, 0};
  bool rows = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    ++counts[static_cast<int>(outcome.status)];
    const bool planned = outcome.status == Outcome::Status::kOk;
    // A file may have thousands of problems. By default, list only problems that are not ok.
    if (planned && !everything) continue;
    rows = true;
    std::vector<std::string> cells{cases[i].id, std::string(reshard::status_name(outcome.status))};
    if (planned) {
      std::vector<std::string_view> steps;
      for (const reshard::Step& step : outcome.plan.steps) {
        steps.push_back(reshard::op_name(step.op));
      }
      const Bytes size = cases[i].item_size;
      cells.push_back(format_bytes(reshard::received(outcome.plan) * size));
      cells.push_back(format_bytes(peak_bytes(*cases[i].problem, outcome.plan)));
      cells.push_back(time_text(outcome.plan.time));
      cells.push_back(fmt::format("{}", fmt::join(steps, ", ")));
    } else {
      cells.insert(cells.end(), {"", "", "", outcome.reason});
    }
    table.add_row(std::move(cells));
  }
  const auto scaled = std::find_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return outcome.link.grow != outcome.link.shrink;
  });
  const auto uneven = std::count_if(cases.begin(), cases.end(), [](const Case& item) {
    return item.problem && !nodes_text(*item.problem).empty();
  });
  return (rows ? table.print(terminal) : "") +
         (rows && scaled != outcomes.end() ? scale_text(scaled->link) : "") +
         (uneven > 0 ? fmt::format("nodes     differ in size in {} of the problems\n", uneven)
                     : "") +
         fmt::format("{} cases: {} ok, {} refused, {} wrong\n", cases.size(), counts[0], counts[1],
                     counts[2]);
}

std::string reshard_most_memory_text(
    const std::vector<Case>& cases,
    const std::vector<std::optional<reshard::execute::Footprint>>& footprints) {
  std::size_t found = 0, in_place = 0, most = 0;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    if (!footprints[i]) continue;
    if (found == 0 || footprints[i]->live > footprints[most]->live) most = i;
    ++found;
    in_place += footprints[i]->in_place ? 1 : 0;
  }
  if (found == 0) return "";
  std::string text = fmt::format("most memory, for {}:\n{}", cases[most].id,
                                 reshard_memory_text(*footprints[most]));
  if (in_place > 0) text += fmt::format("in place  {} of {} plans\n", in_place, found);
  return text;
}

std::string reshard_labels_text(const std::vector<std::pair<std::int64_t, std::int64_t>>& labels) {
  std::string text;
  for (const auto& [device, part] : labels) {
    if (device != part) text += fmt::format("{}{} as {}", text.empty() ? "" : ", ", device, part);
  }
  return "labels    " + (text.empty() ? "every device keeps its own part" : text) + "\n";
}

std::string reshard_together_text(const reshard::JointSummary& together) {
  return fmt::format(
      "together  {} arrays, {} moved; a device sends at most {}, {} on average (at most {} if\n"
      "          senders were chosen for each array separately), and receives at most {}\n",
      together.arrays, format_bytes(together.sent_total), format_bytes(together.sent_max),
      format_bytes(together.sent_mean), format_bytes(together.sent_apart),
      format_bytes(together.received_max));
}

}  // namespace weft::cli
