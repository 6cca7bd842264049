// SPDX-License-Identifier: Apache-2.0
// `weft reshard`: the transfers that turn one distribution of an array into another.
#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/reshard/arguments.h"
#include "cli/reshard/text.h"
#include "cli/shell/format.h"
#include "cli/shell/progress.h"
#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/reshard/layout/picture.h"
#include "weft/reshard/plan_file.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/joint.h"
#include "weft/reshard/search/relabel.h"

namespace weft::cli {
namespace {

using reshard::Case;
using reshard::Outcome;

/// Who takes whose part, by the user's numbers.
using Labels = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Cases with a problem share their devices; their parts are dealt out anew where that is free.
Status share(std::vector<Case>& cases, bool relabel, Labels& taken) {
  std::vector<reshard::Problem> problems;
  for (const Case& item : cases) {
    if (item.problem) problems.push_back(*item.problem);
  }
  share_devices(problems);
  if (relabel) {
    for (const reshard::Problem& problem : problems) {
      if (problem.source.partial() || problem.target.partial()) {
        return fail(ErrorCode::kUsage,
                    "--relabel is for arrays without summands, and '" + problem.id + "' has some");
      }
    }
    const std::vector<reshard::Device> labels = reshard::best_labels(problems);
    for (reshard::Problem& problem : problems) problem = relabelled(problem, labels);
    for (std::size_t device = 0; device < labels.size(); ++device) {
      const std::vector<std::int64_t>& numbers = problems.front().devices;
      taken.emplace_back(numbers[device], numbers[labels[device]]);
    }
  }
  auto next = problems.begin();
  for (Case& item : cases) {
    if (item.problem) item.problem = std::move(*next++);
  }
  return {};
}

using MaybeFootprint = std::optional<reshard::execute::Footprint>;

/// What a plan that is right takes; one that does not fit the budget is refused.
void add_footprint(const Case& item, const reshard::execute::ProgramOptions& how, Outcome& outcome,
                   MaybeFootprint& footprint) {
  if (outcome.status != Outcome::Status::kOk) return;
  auto found = reshard::execute::footprint(*item.problem, outcome.plan, how);
  if (found) {
    footprint = std::move(*found);
    set_window(*item.problem, footprint->window, outcome);
  } else {
    outcome.status = Outcome::Status::kRefused;
    outcome.reason = found.error().message;
  }
}

void write_footprint(JsonWriter& json, const reshard::execute::Footprint& footprint) {
  json.begin_object().field("in_place", footprint.in_place).field("reason", footprint.reason);
  json.field("in", footprint.in).field("out", footprint.out);
  json.field("staging", footprint.staging).field("messages", footprint.messages);
  json.field("live", footprint.live).end_object();
}

/// Direct plans of problems without summands, and how many of them meet the receive bound.
struct Directness {
  std::int64_t plans = 0, meet_bound = 0;
};

Directness directness(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes) {
  Directness count;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].status != Outcome::Status::kOk) continue;
    const reshard::Problem& problem = *cases[i].problem;
    if (problem.source.partial() || problem.target.partial()) continue;
    ++count.plans;
    count.meet_bound += received(outcomes[i].plan) == bounds(problem).recv_max;
  }
  return count;
}

std::string json_of(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes,
                    const std::vector<MaybeFootprint>& footprints, const Labels& labels,
                    const std::optional<Directness>& direct, bool together) {
  std::int64_t counts[3] = {0, 0, 0};
  for (const Outcome& outcome : outcomes) ++counts[static_cast<int>(outcome.status)];
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "reshard");
  json.field("ok", counts[0]).field("refused", counts[1]).field("wrong", counts[2]);
  json.key("cases").begin_array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    reshard::write_outcome(json, cases[i], outcomes[i]);
  }
  json.end_array();
  if (std::any_of(footprints.begin(), footprints.end(), [](const auto& f) { return !!f; })) {
    json.key("memory").begin_array();
    for (const MaybeFootprint& footprint : footprints) {
      if (footprint) {
        write_footprint(json, *footprint);
      } else {
        json.null();
      }
    }
    json.end_array();
  }
  if (direct) {
    json.key("direct").begin_object().field("plans", direct->plans);
    json.field("meet_bound", direct->meet_bound).end_object();
  }
  if (!labels.empty()) {
    json.key("labels").begin_array();
    for (const auto& [device, part] : labels) {
      json.begin_array().value(device).value(part).end_array();
    }
    json.end_array();
  }
  if (together) {
    json.key("together");
    write_joint_summary(json, summarize_jointly(cases, outcomes));
  }
  return json.end_object().take() + "\n";
}

/// Cases and outcomes of a plan file, whose plans were replayed when it was read.
Status read_plans(const std::string& path, Bytes window, std::vector<Case>& cases,
                  std::vector<Outcome>& outcomes) {
  WEFT_ASSIGN(std::vector<reshard::PlannedArray> arrays, reshard::read_plan_file(path));
  for (reshard::PlannedArray& array : arrays) {
    array.link.window = window;
    outcomes.push_back(check_plan(array.problem, array.link, std::move(array.plan)));
    cases.push_back({array.problem.id, array.problem.item_size, std::move(array.problem)});
  }
  return {};
}

Status write_plan(const std::string& path, const std::vector<Case>& cases,
                  const std::vector<Outcome>& outcomes) {
  std::vector<reshard::PlannedArray> arrays;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // Half a plan would be another plan.
    if (outcomes[i].status != Outcome::Status::kOk) {
      return fail(ErrorCode::kInfeasible, fmt::format("no plan is written, since {} has none: {}",
                                                      cases[i].id, outcomes[i].reason));
    }
    arrays.push_back({*cases[i].problem, outcomes[i].link, outcomes[i].plan});
  }
  return write_plan_file(path, arrays);
}

Status write_plans(const std::string& path, const std::vector<Case>& cases,
                   const std::vector<Outcome>& outcomes) {
  std::string lines;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].status == Outcome::Status::kOk) {
      lines += reshard::plan_line(*cases[i].problem, outcomes[i]);
    }
  }
  return write_file(path, lines);
}

Result<ExitCode> run_reshard(const Arguments& arguments, Console& console) {
  set_threads(arguments);
  WEFT_ASSIGN(const ReshardArguments given, reshard_arguments(arguments));
  const reshard::execute::ProgramOptions& how = given.how;
  std::vector<Case> cases;
  std::vector<Outcome> outcomes;
  const bool planned = arguments.has("--plan");
  if (planned) {
    WEFT_TRY(
        read_plans(arguments.all("--plan").back(), given.options.link.window, cases, outcomes));
  } else if (arguments.has("--cases")) {
    WEFT_ASSIGN(cases, reshard::read_cases(arguments.all("--cases").back()));
  } else {
    WEFT_ASSIGN(Case single, reshard_case(arguments));
    cases.push_back(std::move(single));
  }
  const bool many = arguments.has("--cases") || cases.size() != 1;
  const bool together = arguments.has("--together");
  Labels labels;
  if (!planned && (together || arguments.has("--relabel"))) {
    WEFT_TRY(share(cases, arguments.has("--relabel"), labels));
  }
  if (!planned) {
    for (Case& item : cases) {
      if (item.problem && given.node_size > 0) set_nodes(*item.problem, given.node_size);
    }
    outcomes.resize(cases.size());
    const auto planner = [&](const reshard::Problem& problem,
                             const reshard::PlannerOptions& prices) {
      return reshard::execute::make_plan_for(problem, prices, how);
    };
    Progress progress(console.err);
    std::atomic<std::size_t> done = 0;
    progress.show("planning and replaying");
    parallel_for(cases.size(), [&](std::size_t i) {
      outcomes[i] = reshard::plan_and_check(cases[i], given.options, given.scale_local, planner);
      if (!arguments.has("--plans")) outcomes[i].rounds = {};
      progress.show(fmt::format("planning and replaying: {} of {} done", ++done, cases.size()));
    });
  }
  std::vector<MaybeFootprint> footprints(cases.size());
  if (how.budget > 0 || how.in_place) {
    parallel_for(cases.size(),
                 [&](std::size_t i) { add_footprint(cases[i], how, outcomes[i], footprints[i]); });
  }
  if (arguments.has("-o")) WEFT_TRY(write_plan(arguments.all("-o").back(), cases, outcomes));
  if (arguments.has("--plans")) {
    WEFT_TRY(write_plans(arguments.all("--plans").back(), cases, outcomes));
  }
  if (!many && outcomes.front().status == Outcome::Status::kRefused) {
    return fail(ErrorCode::kInfeasible, outcomes.front().reason);
  }
  if (arguments.has("--svg")) {
    if (many) return fail(ErrorCode::kUsage, "--svg draws one problem, not a file of them");
    WEFT_TRY(write_file(arguments.all("--svg").back(), reshard::picture(*cases.front().problem)));
  }
  std::optional<Directness> direct;
  if (many && arguments.has("--direct")) direct = directness(cases, outcomes);
  if (arguments.has("--json")) {
    console.result = json_of(cases, outcomes, footprints, labels, direct, together);
  } else if (many) {
    console.result = reshard_cases_text(cases, outcomes, arguments.has("--all"), console.out);
    console.result += reshard_most_memory_text(cases, footprints);
    if (direct) {
      console.result +=
          fmt::format("direct    {} of {} plans without summands meet the receive bound\n",
                      direct->meet_bound, direct->plans);
    }
  } else {
    console.result = reshard_text(cases.front(), outcomes.front(), console.out);
    if (footprints.front()) console.result += reshard_memory_text(*footprints.front());
  }
  if (!labels.empty() && !arguments.has("--json")) console.result += reshard_labels_text(labels);
  if (together && !arguments.has("--json")) {
    console.result += reshard_together_text(summarize_jointly(cases, outcomes));
  }
  for (const Outcome& outcome : outcomes) {
    if (outcome.status == Outcome::Status::kWrong) return ExitCode::kAnswerIsNo;
  }
  return ExitCode::kDone;
}

}  // namespace

Subcommand reshard_command() {
  Subcommand command;
  command.name = "reshard";
  command.description = "the transfers that turn one distribution of an array into another";
  command.max_inputs = 0;
  command.details =
      "Each dimension names the axes of the mesh that cut it, most significant first: 'x,y' cuts\n"
      "rows by x and columns by y, '-,x+y' columns by both, x:(1)2 is the first half of the "
      "digits\n"
      "of an axis of size 4. No device ever holds more than the larger of both ends; every plan "
      "is\n"
      "replayed before it is shown.";
  command.examples = {Example{"weft reshard --mesh x=2,y=4 --shape 1024,4096 --from x,y --to -,x+y",
                              "steps, bytes a device, peak, time, bounds"},
                      Example{"weft reshard --cases cases.json --plans plans.jsonl",
                              "a file of problems; what moves, a line each"}};
  command.flags = {
      {"--mesh", "AXES", "the mesh, as x=2,y=4; devices count up along the last axis",
       Flag::Value::kText},
      {"--shape", "SIZES", "of the array, as 1024,4096", Flag::Value::kText},
      {"--from", "DIMS", "what cuts each dimension now", Flag::Value::kText},
      {"--to", "DIMS", "what shall cut it", Flag::Value::kText},
      {"--from-partial", "AXES", "axes along which summands lie now, as x or x+y",
       Flag::Value::kText},
      {"--to-partial", "AXES", "and shall lie", Flag::Value::kText},
      {"--devices", "LIST", "numbers of the devices of the mesh, in its order", Flag::Value::kText},
      {"--to-mesh", "AXES", "another mesh for --to", Flag::Value::kText},
      {"--to-devices", "LIST", "and its devices", Flag::Value::kText},
      {"--dtype",
       "TYPE",
       "of an element; without: f32",
       Flag::Value::kText,
       false,
       {"f32", "f64", "bf16", "f16", "i32", "i64", "c64", "c128"}},
      {"--to-dtype", "TYPE", "into which it is cast on the way; without: as it is",
       Flag::Value::kText},
      {"--split",
       "RULE",
       "how what does not divide is cut: ceil_flat (without), ceil_nested or balanced",
       Flag::Value::kChoice,
       false,
       {"ceil_flat", "ceil_nested", "balanced"}},
      {"--link", "LINK", "cost of a step, bandwidth of a device; without: 10us,25GB/s",
       Flag::Value::kText},
      {"--links", "FILE", "take both from a link table of weft calibrate", Flag::Value::kFile,
       true},
      {"--message-cost", "TIME", "of each message a device receives; without: 0us",
       Flag::Value::kText},
      {"--topology", "NODES", "devices of a node and bandwidth into it from others, as 4,50GB/s",
       Flag::Value::kText},
      {"--scale-local", "SIZE", "price as if the largest local part had this size",
       Flag::Value::kText},
      {"--budget", "SIZE",
       "memory a device may hold beside both ends; what does not fit goes in pieces",
       Flag::Value::kText},
      {"--in-place", "", "give up the source: one buffer for both ends where rounds allow it"},
      {"--direct", "", "one direct exchange, without a search for cheaper plans"},
      {"--cases", "FILE", "plan a file of problems (docs/formats/reshard.md)", Flag::Value::kFile},
      {"--all", "", "with --cases: show those that are ok, too"},
      {"--plans", "FILE", "write what moves, a JSON line a problem", Flag::Value::kFile},
      {"--together", "", "all arrays at once: who sends is balanced over all of them"},
      {"--relabel", "",
       "deal the parts of the target out anew, so that most of all arrays stays where it is"},
      {"-o", "FILE", "write the plan, to be put into force later (docs/formats/plan.md)",
       Flag::Value::kFile},
      {"--plan", "FILE", "replay and show a plan that was written, instead of planning",
       Flag::Value::kFile},
      {"--svg", "FILE", "draw who holds what, before and after", Flag::Value::kFile},
      {"--threads", "N", "threads to use; 0: all cores", Flag::Value::kWhole},
      {"--json", "", "JSON, schema_version 1 (docs/reference/cli.md)"}};
  command.run = run_reshard;
  return command;
}

}  // namespace weft::cli
