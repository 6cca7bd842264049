// SPDX-License-Identifier: Apache-2.0
// `weft pipeline schedule INSTANCES`: finds the order of micro-batches for given stages. The
// pipelines of a file are solved in parallel, each within its own time limit.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

#include "cli/loading.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/interrupt.h"
#include "weft/base/json/writer.h"
#include "weft/base/parallel.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/gantt.h"
#include "weft/pipeline/schedule/instances.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/solve.h"

namespace weft::cli {
namespace {

using pipeline::Pipeline;
using pipeline::Schedule;
using pipeline::Solution;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kDefaultLimit = 50;  ///< seconds per pipeline
constexpr std::array kPatterns = {"gpipe", "1f1b",       "interleaved", "zb-h1",
                                  "zb-v",  "dualpipe-v", "zb-auto"};

/// The name of the schedule that the solver finds. All other names are in kPatterns.
constexpr const char* kSearched = "searched";

std::int64_t time_limit(const Arguments& arguments) {
  return arguments.whole("--time-limit").value_or(kDefaultLimit);
}

/// The result for one pipeline.
struct Solved {
  std::optional<Solution> solution;
  std::string why_not;  ///< the reason why there is no solution; empty if there is one
  double milliseconds = 0;
};

/// Fails only if the search was interrupted or the pipeline is invalid. A pipeline without a
/// schedule is a result, so that the other pipelines of the file are still solved.
Result<Solved> solve_one(const Pipeline& pipeline, std::int64_t limit) {
  const auto begin = Clock::now();
  pipeline::SolveOptions options;
  options.stop = [end = begin + std::chrono::seconds(limit)] {
    return Clock::now() >= end || interrupted();
  };
  auto solution = pipeline::solve(pipeline, options);
  // A search that ran out of time still gives an answer. One that the user interrupted does not.
  if (interrupted()) return fail(ErrorCode::kCancelled, "interrupted");
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  if (solution) return Solved{std::move(*solution), "", took.count()};
  if (solution.error().code != ErrorCode::kInfeasible) return tl::unexpected(solution.error());
  return Solved{std::nullopt, solution.error().message, took.count()};
}

std::string reason_line(const Pipeline& pipeline, const Solved& solved) {
  return "instance " + pipeline.name + ": " + solved.why_not;
}

/// zb-auto is no fixed pattern: it is the best of eight list schedules.
Result<Schedule> named_schedule(const std::string& name, const Pipeline& pipeline) {
  return name == "zb-auto" ? pipeline::zb_auto(pipeline) : pipeline::family(name, pipeline);
}

/// Writes a time in the unit of the file, with the decimals that the file uses.
void write_time(JsonWriter& json, const Pipeline& pipeline, Nanos time) {
  json.raw(print_time(pipeline, time));
}

/// Writes the makespans of the known schedules. Leaves out a schedule if the stages are not placed
/// as it requires, or if it does not fit into memory.
void write_patterns(JsonWriter& json, const Pipeline& pipeline) {
  json.key("patterns").begin_object();
  for (const char* name : kPatterns) {
    const auto schedule = named_schedule(name, pipeline);
    if (!schedule) continue;
    const auto timeline = simulate(pipeline, *schedule);
    // Known schedules are made without regard to memory limits, so check the limits here.
    if (!timeline || !fits(pipeline, *timeline)) continue;
    write_time(json.key(name), pipeline, timeline->makespan);
  }
  json.end_object();
}

std::string json_of(const std::vector<Pipeline>& pipelines, const std::vector<Solved>& solved,
                    const Arguments& arguments) {
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "pipeline schedule");
  json.key("results").begin_array();
  for (std::size_t i = 0; i < solved.size(); ++i) {
    json.begin_object().field("name", pipelines[i].name);
    // A pipeline without a schedule keeps its place in the list, with the reason.
    if (!solved[i].solution) {
      json.key("makespan").null().key("lower_bound").null().key("gap_pct").null();
      json.field("proved", false).field("solve_ms", solved[i].milliseconds);
      json.field("why_not", solved[i].why_not).end_object();
      continue;
    }
    const Solution& solution = *solved[i].solution;
    write_time(json.key("makespan"), pipelines[i], solution.makespan);
    write_time(json.key("lower_bound"), pipelines[i], solution.lower_bound);
    json.field("gap_pct", 100 * solution.gap());
    json.field("proved", solution.proved()).field("solve_ms", solved[i].milliseconds);
    if (arguments.has("--patterns")) write_patterns(json, pipelines[i]);
    if (arguments.has("--orders")) {
      json.key("orders").begin_array();
      for (const auto& order : solution.schedule.orders) {
        json.begin_array();
        for (const pipeline::Op& op : order) json.value(pipeline::print(op));
        json.end_array();
      }
      json.end_array();
    }
    json.end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

std::string text_of(const std::vector<Pipeline>& pipelines, const std::vector<Solved>& solved,
                    bool with_orders, const Terminal& terminal) {
  Table table({{"pipeline", Align::kLeft, true},
               {"stages"},
               {"micro-batches"},
               {"makespan"},
               {"bound"},
               {"gap"}});
  std::string orders;
  for (std::size_t i = 0; i < solved.size(); ++i) {
    const std::string stages = std::to_string(pipelines[i].stages.size());
    const std::string micro_batches = std::to_string(pipelines[i].micro_batches);
    if (!solved[i].solution) {
      table.add_row({pipelines[i].name, stages, micro_batches, "none", "", ""});
      continue;
    }
    const Solution& solution = *solved[i].solution;
    table.add_row({pipelines[i].name, stages, micro_batches,
                   print_time(pipelines[i], solution.makespan),
                   print_time(pipelines[i], solution.lower_bound),
                   solution.proved() ? "none" : fmt::format("{:.2f} %", 100 * solution.gap())});
    if (with_orders) orders += fmt::format("\n{}\n{}", pipelines[i].name, print(solution.schedule));
  }
  return table.print(terminal) + orders;
}

/// Draws the schedule that was found and, with --beside, a known schedule below it.
Status draw_solution(const Arguments& arguments, Console& console, const Pipeline& pipeline,
                     const Solution& solution) {
  std::vector<std::string> titles = {"weft"};
  std::vector<Schedule> schedules = {solution.schedule};
  if (arguments.has("--beside")) {
    titles.push_back(arguments.all("--beside").back());
    WEFT_ASSIGN(Schedule other, named_schedule(titles.back(), pipeline));
    schedules.push_back(std::move(other));
  }
  std::vector<pipeline::Timeline> timelines;
  for (const Schedule& schedule : schedules) {
    WEFT_ASSIGN(pipeline::Timeline timeline, simulate(pipeline, schedule));
    timelines.push_back(std::move(timeline));
  }
  std::vector<pipeline::Drawn> drawn;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const bool too_much = !fits(pipeline, timelines[i]);
    drawn.push_back({titles[i] + (too_much ? " (needs more memory than there is)" : ""), &pipeline,
                     &schedules[i], &timelines[i]});
  }
  return draw(arguments, console, drawn, arguments.has("--gantt"));
}

}  // namespace

Result<std::vector<Pipeline>> chosen_instances(const Arguments& arguments) {
  WEFT_ASSIGN(std::vector<Pipeline> all, pipeline::read_instances(arguments.inputs.front()));
  // --instance is a name or a position. The first instance that matches is taken.
  if (!arguments.has("--instance")) return all;
  const std::string& name = arguments.all("--instance").back();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name || std::to_string(i) == name) {
      return std::vector<Pipeline>{std::move(all[i])};
    }
  }
  return fail(ErrorCode::kUsage,
              fmt::format("--instance: {1} has no pipeline '{0}'", name, arguments.inputs.front()));
}

Result<Schedule> schedule_of_instance(const Arguments& arguments, const std::string& name,
                                      const Pipeline& pipeline) {
  if (name != kSearched) return named_schedule(name, pipeline);
  const NoExitTimeout no_timeout;
  WEFT_ASSIGN(Solved solved, solve_one(pipeline, time_limit(arguments)));
  if (!solved.solution) return fail(ErrorCode::kInfeasible, reason_line(pipeline, solved));
  return std::move(solved.solution->schedule);
}

std::vector<std::string> instance_orders() { return {kPatterns.begin(), kPatterns.end()}; }

namespace {

Result<ExitCode> run_pipeline_schedule(const Arguments& arguments, Console& console) {
  const bool draws = arguments.has("--gantt") || arguments.has("--svg");
  if (arguments.has("--beside") && !draws) {
    return fail(ErrorCode::kUsage, "--beside needs --gantt or --svg");
  }
  WEFT_ASSIGN(const std::vector<Pipeline> pipelines, chosen_instances(arguments));
  if (draws && pipelines.size() != 1) {
    return fail(ErrorCode::kUsage,
                fmt::format("the file has {} pipelines and only one can be drawn; choose it with "
                            "--instance",
                            pipelines.size()));
  }
  set_threads(arguments);
  // The searches ask interrupted() by themselves, so the first Ctrl-C must not end the process.
  const NoExitTimeout no_timeout;
  const std::int64_t limit = time_limit(arguments);
  std::vector<Result<Solved>> results(pipelines.size(), Solved{});
  parallel_for(pipelines.size(),
               [&](std::size_t i) { results[i] = solve_one(pipelines[i], limit); });
  std::vector<Solved> solved;
  // Return the first error in the order of the file, not the error that occurred first.
  for (Result<Solved>& result : results) {
    WEFT_ASSIGN(Solved one, std::move(result));
    solved.push_back(std::move(one));
  }
  console.result = arguments.has("--json")
                       ? json_of(pipelines, solved, arguments)
                       : text_of(pipelines, solved, arguments.has("--orders"), console.out);
  // The result shows the schedules that were found. The notes say which pipelines have no schedule,
  // and why.
  bool all = true;
  for (std::size_t i = 0; i < solved.size(); ++i) {
    if (solved[i].solution) continue;
    all = false;
    console.notes += paint(console.err, Tone::kBad, "weft: no schedule:") + " " +
                     reason_line(pipelines[i], solved[i]) + "\n";
  }
  if (draws && all)
    WEFT_TRY(draw_solution(arguments, console, pipelines.front(), *solved.front().solution));
  return all ? ExitCode::kDone : ExitCode::kAnswerIsNo;
}

}  // namespace

Subcommand pipeline_schedule_command() {
  Subcommand command;
  command.name = "pipeline schedule";
  command.description = "finds the shortest order of micro-batches for given stages";
  command.inputs = "INSTANCES";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.details =
      "INSTANCES is a file of pipelines whose stages are fixed (docs/formats/pipeline.md). Each "
      "schedule comes with a lower bound that no schedule can beat. The exit status is 1 if a "
      "pipeline has no schedule that fits into memory.";
  command.examples = {
      Example{"weft pipeline schedule examples/pipeline/stages.json --instance even --gantt "
              "--beside 1f1b",
              "one pipeline, drawn above its 1F1B schedule"},
      Example{"weft pipeline schedule instances.json --json --orders",
              "all pipelines of the file, with the order of ops"}};
  command.flags = {
      {"--orders", "", "show the order of ops of every device"},
      {"--patterns", "", "with --json: add the makespans of the known schedules"},
      {"--time-limit", "S", "seconds to search per pipeline; default: 50", Flag::Value::kWhole},
      {"--instance", "NAME",
       "schedule only this pipeline of the file: its name, or its position from 0",
       Flag::Value::kText},
      {"--gantt", "", "draw the schedule; idle time is shaded"},
      {"--svg", "FILE", "write the drawing to this file", Flag::Value::kFile},
      {"--beside", "NAME",
       "with --gantt or --svg: draw this known schedule below, on the same time scale",
       Flag::Value::kChoice, false, instance_orders()},
      {"--threads", "N", "number of threads; default: 0, which means all cores",
       Flag::Value::kWhole},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
  command.run = run_pipeline_schedule;
  return command;
}

}  // namespace weft::cli
