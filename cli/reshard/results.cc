// SPDX-License-Identifier: Apache-2.0
// Plans cases (problems to redistribute an array) and writes the results. The steps for a case:
//  1. With --together or --relabel, all cases get a common list of devices.
//  2. Devices are assigned to nodes.
//  3. The case is planned, and the plan is checked.
//  4. With --budget or --in-place, the memory of the plan is computed.
// For the plans of a plan file, only the check and step 4 remain.
#include "cli/reshard/results.h"

#include <fmt/format.h>

#include <atomic>

#include "cli/shell/progress.h"
#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/reshard/plan_file.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/joint.h"
#include "weft/reshard/search/relabel.h"

namespace weft::cli {
namespace {

using reshard::Case;
using reshard::Outcome;

/// Assigns the parts of all targets to devices anew, so that most bytes stay where they are.
Result<Labels> relabel(std::vector<reshard::Problem>& problems) {
  for (const reshard::Problem& problem : problems) {
    if (problem.source.partial() || problem.target.partial()) {
      return fail(ErrorCode::kUsage, "--relabel is not possible for arrays with summands, and '" +
                                         problem.id + "' has some");
    }
  }
  const std::vector<reshard::Device> taken = reshard::best_labels(problems);
  for (reshard::Problem& problem : problems) problem = relabelled(problem, taken);
  Labels labels;
  for (std::size_t device = 0; device < taken.size(); ++device) {
    const std::vector<std::int64_t>& numbers = problems.front().devices;
    labels.emplace_back(numbers[device], numbers[taken[device]]);
  }
  return labels;
}

/// Gives all valid cases the same list of devices. If `with_labels` is true, also reassigns the
/// parts of their targets.
Result<Labels> unite_devices(std::vector<Case>& cases, bool with_labels) {
  std::vector<reshard::Problem> problems;
  for (const Case& item : cases) {
    if (item.problem) problems.push_back(*item.problem);
  }
  reshard::share_devices(problems);
  Labels labels;
  if (with_labels) {
    WEFT_ASSIGN(labels, relabel(problems));
  }
  auto next = problems.begin();
  for (Case& item : cases) {
    if (item.problem) item.problem = std::move(*next++);
  }
  return labels;
}

/// Computes the memory of all plans that passed their check, and prices the plans for this memory.
/// A plan that does not fit the budget is refused.
void add_footprints(const reshard::execute::ProgramOptions& options, ReshardResults& results) {
  results.footprints.resize(results.cases.size());
  if (options.budget == 0 && !options.in_place) return;
  parallel_for(results.cases.size(), [&](std::size_t i) {
    Outcome& outcome = results.outcomes[i];
    if (outcome.status != Outcome::Status::kOk) return;
    const reshard::Problem& problem = *results.cases[i].problem;
    auto found = reshard::execute::footprint(problem, outcome.plan, options);
    if (found) {
      set_window(problem, found->window, outcome);
      results.footprints[i] = std::move(*found);
    } else {
      outcome.status = Outcome::Status::kRefused;
      outcome.reason = found.error().message;
    }
  });
}

void write_footprint(JsonWriter& json, const reshard::execute::Footprint& footprint) {
  json.begin_object().field("in_place", footprint.in_place).field("reason", footprint.reason);
  json.field("in", footprint.in).field("out", footprint.out);
  json.field("staging", footprint.staging).field("messages", footprint.messages);
  json.field("live", footprint.live).end_object();
}

/// Writes the list "memory" if any plan has a footprint. Cases without a footprint have null.
void write_memory(JsonWriter& json, const ReshardResults& results) {
  const auto& footprints = results.footprints;
  if (std::none_of(footprints.begin(), footprints.end(), [](const auto& f) { return !!f; })) return;
  json.key("memory").begin_array();
  for (const auto& footprint : footprints) {
    if (footprint) {
      write_footprint(json, *footprint);
    } else {
      json.null();
    }
  }
  json.end_array();
}

}  // namespace

Result<ReshardResults> plan_cases(std::vector<Case> cases, const PlanningOptions& options,
                                  bool share_devices, bool keep_rounds, const Terminal& progress) {
  ReshardResults results;
  if (share_devices || options.relabel) {
    WEFT_ASSIGN(results.labels, unite_devices(cases, options.relabel));
  }
  // Nodes come last, because share_devices() changes the list of devices.
  for (Case& item : cases) {
    if (item.problem && options.node_size > 0) set_nodes(*item.problem, options.node_size);
  }
  const auto planner = [&](const reshard::Problem& problem, const reshard::PlannerOptions& prices) {
    return reshard::execute::make_plan_for(problem, prices, options.program);
  };
  results.cases = std::move(cases);
  results.outcomes.resize(results.cases.size());
  Progress shown(progress);
  std::atomic<std::size_t> done = 0;
  shown.show("planning and replaying");
  parallel_for(results.cases.size(), [&](std::size_t i) {
    Outcome& outcome = results.outcomes[i];
    outcome =
        reshard::plan_and_check(results.cases[i], options.planner, options.scale_local, planner);
    if (!keep_rounds) outcome.rounds = {};
    shown.show(fmt::format("planning and replaying: {} of {} done", ++done, results.cases.size()));
  });
  add_footprints(options.program, results);
  return results;
}

Result<ReshardResults> read_plans(const std::string& path, const PlanningOptions& options) {
  WEFT_ASSIGN(std::vector<reshard::PlannedArray> arrays, reshard::read_plan_file(path));
  ReshardResults results;
  for (reshard::PlannedArray& array : arrays) {
    array.link.window = options.planner.link.window;
    results.outcomes.push_back(check_plan(array.problem, array.link, std::move(array.plan)));
    results.cases.push_back({array.problem.id, array.problem.item_size, std::move(array.problem)});
  }
  add_footprints(options.program, results);
  return results;
}

Result<std::string> plans_text(const ReshardResults& results) {
  std::vector<reshard::PlannedArray> arrays;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    const Outcome& outcome = results.outcomes[i];
    // If one case has no plan, write no file at all: a file without this case would look complete.
    if (outcome.status != Outcome::Status::kOk) {
      return fail(ErrorCode::kInfeasible, fmt::format("no plan file is written, because '{}' has "
                                                      "no plan: {}",
                                                      results.cases[i].id, outcome.reason));
    }
    arrays.push_back({*results.cases[i].problem, outcome.link, outcome.plan});
  }
  return print_plan_file(arrays);
}

std::string transfers_text(const ReshardResults& results) {
  std::string lines;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    if (results.outcomes[i].status == Outcome::Status::kOk) {
      lines += reshard::plan_line(*results.cases[i].problem, results.outcomes[i]);
    }
  }
  return lines;
}

DirectCount count_direct(const ReshardResults& results) {
  DirectCount count;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    if (results.outcomes[i].status != Outcome::Status::kOk) continue;
    const reshard::Problem& problem = *results.cases[i].problem;
    if (problem.source.partial() || problem.target.partial()) continue;
    ++count.plans;
    count.meet_bound += received(results.outcomes[i].plan) == bounds(problem).recv_max;
  }
  return count;
}

std::string reshard_json(const ReshardResults& results, const std::optional<DirectCount>& direct,
                         bool together) {
  std::int64_t counts[3] = {0, 0, 0};  // by status
  for (const Outcome& outcome : results.outcomes) ++counts[static_cast<int>(outcome.status)];
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "reshard");
  json.field("ok", counts[0]).field("refused", counts[1]).field("wrong", counts[2]);
  json.key("cases").begin_array();
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    reshard::write_outcome(json, results.cases[i], results.outcomes[i]);
  }
  json.end_array();
  write_memory(json, results);
  if (direct) {
    json.key("direct").begin_object().field("plans", direct->plans);
    json.field("meet_bound", direct->meet_bound).end_object();
  }
  if (!results.labels.empty()) {
    json.key("labels").begin_array();
    for (const auto& [device, part] : results.labels) {
      json.begin_array().value(device).value(part).end_array();
    }
    json.end_array();
  }
  if (together) {
    json.key("together");
    write_joint_summary(json, summarize_jointly(results.cases, results.outcomes));
  }
  return json.end_object().take() + "\n";
}

}  // namespace weft::cli
