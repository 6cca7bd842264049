// SPDX-License-Identifier: Apache-2.0
// `weft pipeline`: stages, devices and order of a pipelined training step.
#include "cli/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "weft/base/decimal.h"
#include "weft/base/size.h"
#include "weft/base/suggest.h"
#include "weft/pipeline/model/cluster.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::cli {

std::string value_or(const Arguments& arguments, const char* flag, const char* missing) {
  return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
}

Result<std::vector<std::int64_t>> parse_bandwidths(const char* flag, std::string_view text) {
  std::vector<std::int64_t> list;
  for (;;) {
    const std::size_t end = text.find(',');
    const std::string_view part = text.substr(0, end);
    auto number = parse_int(part);
    if (!number) number = pipeline::parse_link_rate(part);
    if (!number || *number < 1) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{}: '{}' is no bandwidth; write 8e9, 8GB/s or 10Gbit", flag, part));
    }
    list.push_back(*number);
    if (end == text.npos) return list;
    text.remove_prefix(end + 1);
  }
}

Result<pipeline::Profile> open_profile(const Arguments& arguments, const std::string& path,
                                       Diagnostics& diagnostics) {
  WEFT_ASSIGN(pipeline::Profile profile, pipeline::read_profile(path));
  if (arguments.has("--drop-input-time")) pipeline::drop_input_time(profile);
  pipeline::note_input_time(profile, diagnostics);
  return profile;
}

namespace {

/// Questions share flags; the first to name one describes it.
void add_flag(std::vector<Flag>& flags, Flag flag) {
  const bool known = std::any_of(flags.begin(), flags.end(),
                                 [&](const Flag& other) { return other.name == flag.name; });
  if (!known) flags.push_back(std::move(flag));
}

std::vector<std::string> planners() {
  std::vector<std::string> names = pipeline::rivals();
  names.insert(names.begin(), "weft");
  return names;
}

/// What --schedule takes of plans.
std::vector<std::string> plan_orders() {
  return {"1f1b",  "1f1b-2",  "pe",          "gpipe", "eager",
          "zb-h1", "zb-auto", "interleaved", "zb-v",  "dualpipe-v"};
}

/// Of all questions together. What a question does not take is refused by check_flags().
std::vector<Flag> pipeline_flags() {
  std::vector<Flag> flags = {
      {"--cluster", "CLUSTER", "the devices: FILE, FILE#NAME or a description", Flag::Value::kText},
      {"--microbatches", "M",
       "of a step; a micro-batch is what the profile or recording was made with",
       Flag::Value::kWhole},
      {"--memory", "", "keep to the memory of the devices, recomputing where that helps"},
      {"--device-memory", "SIZE",
       "each device has so much, whatever the cluster says, as 80GB or 512MiB; as --memory",
       Flag::Value::kText},
      {"--state-factor", "N",
       "with --memory: bytes held for each byte of parameters; without: 4, as Adam needs",
       Flag::Value::kWhole},
      {"--stages", "N", "exactly so many", Flag::Value::kWhole},
      {"--replicas", "N", "devices of a stage, at most; 1: no data parallelism",
       Flag::Value::kWhole},
      {"--chunks", "N",
       "stages that may share their devices, at most; without: 4; 1: one stage a device",
       Flag::Value::kWhole},
      {"--schedule", "NAME",
       "only this order of micro-batches; without: the best of them, with predict 1f1b",
       Flag::Value::kText, false, plan_orders()},
      {"--drop-input-time", "",
       "layers called Input, which load data, take no time; without: what the profile says"},
      {"--compare", "", "show what other planners make of it, too, timed alike"},
      {"--planner", "NAME", "plan as others do (see weft pipeline compare); without: weft",
       Flag::Value::kChoice, false, planners()},
      {"-o", "FILE", "write the plan", Flag::Value::kFile},
      {"--model",
       "MODEL",
       "answer in the model of another planner",
       Flag::Value::kChoice,
       false,
       {"pipedream"}},
      {"--devices", "N", "with --model: devices, as 16, or 4x4 for machines of machines",
       Flag::Value::kText},
      {"--bandwidth", "RATES", "with --model: bytes a second, one a level, as 8e9,1.25e9",
       Flag::Value::kText},
      {"--json", "", "JSON, schema_version 1 (docs/reference/cli.md)"}};
  for (Flag& flag : pipeline_schedule_flags()) add_flag(flags, std::move(flag));
  for (Flag& flag : pipeline_export_flags()) add_flag(flags, std::move(flag));
  for (Flag& flag : pipeline_predict_flags()) add_flag(flags, std::move(flag));
  for (Flag& flag : pipeline_replan_flags()) add_flag(flags, std::move(flag));
  return flags;
}

/// What may be asked, by the first input; without a name it is a PROFILE.
struct Question {
  std::string_view name;
  Result<ExitCode> (*run)(const Arguments&, Console&);
  std::vector<std::string_view> flags;   ///< beside those that any question takes
  std::vector<std::string> orders = {};  ///< that --schedule may name, where it is among them

  bool is_verb() const { return !name.empty() && !name.starts_with('-'); }
};

std::vector<Question> questions() {
  return {
      {"schedule",
       run_pipeline_schedule,
       {"--orders", "--patterns", "--time-limit", "--instance", "--gantt", "--svg", "--beside"}},
      {"compare",
       run_pipeline_compare,
       {"--cluster", "--microbatches", "--memory", "--device-memory", "--state-factor", "--stages",
        "--replicas", "--chunks", "--schedule", "--drop-input-time"},
       plan_orders()},
      {"export",
       run_pipeline_export,
       {"--to", "--torch", "--instance", "--schedule", "--time-limit", "-o"},
       instance_orders()},
      {"gantt", run_pipeline_gantt, {"--svg"}},
      {"predict",
       run_pipeline_predict,
       {"--schedule", "--microbatches", "--links", "--run", "--strict"},
       {"1f1b", "gpipe", "interleaved"}},
      {"profile", run_pipeline_profile, {"-o", "--run", "--strict"}},
      {"replan", run_pipeline_replan, {"--layers", "--run", "--strict"}},
      {"--model", run_pipedream, {"--model", "--devices", "--bandwidth", "--drop-input-time"}},
      {"",
       run_pipeline_plan,
       {"--cluster", "--microbatches", "--memory", "--device-memory", "--state-factor", "--stages",
        "--replicas", "--chunks", "--schedule", "--drop-input-time", "--compare", "--planner",
        "-o"},
       plan_orders()}};
}

Question question_of(const Arguments& arguments) {
  std::string_view asked = arguments.has("--model") ? "--model" : "";
  const std::vector<Question> all = questions();
  for (const Question& one : all) {
    if (one.is_verb() && one.name == arguments.inputs.front()) asked = one.name;
  }
  return *std::find_if(all.begin(), all.end(),
                       [&](const Question& one) { return one.name == asked; });
}

/// A flag that would be passed over says that something else was meant.
Status check_flags(const Question& question, const Arguments& arguments,
                   const std::vector<Flag>& flags) {
  constexpr std::string_view kAlways[] = {"--json", "--threads"};
  if (question.name == "gantt" && arguments.has("--json")) {
    return fail(ErrorCode::kUsage,
                "a picture has no JSON; weft pipeline export PLAN --to json tells all times");
  }
  const std::string_view asked = question.name.empty() ? "planning" : question.name;
  for (const Flag& flag : flags) {
    const bool known =
        std::find(std::begin(kAlways), std::end(kAlways), flag.name) != std::end(kAlways) ||
        std::find(question.flags.begin(), question.flags.end(), flag.name) != question.flags.end();
    if (known || !arguments.has(flag.name)) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("{} does not go with {} (see weft help pipeline)", flag.name, asked));
  }
  for (const std::string& order : arguments.all("--schedule")) {
    const auto& known = question.orders;
    if (std::find(known.begin(), known.end(), order) != known.end()) continue;
    return fail(ErrorCode::kUsage, fmt::format("--schedule of {}: {} (see weft help pipeline)",
                                               asked, none_of(order, known)));
  }
  return {};
}

/// A question that was mistyped would be taken for a file, and a size behind --memory for another.
Status check_inputs(const Question& question, const Arguments& arguments) {
  const std::vector<std::string>& inputs = arguments.inputs;
  const auto size = std::find_if(inputs.begin(), inputs.end(), parse_bytes);
  if (arguments.has("--memory") && size != inputs.end()) {
    return fail(ErrorCode::kUsage,
                fmt::format("--memory takes no size; write --device-memory {}", *size));
  }
  if (question.is_verb()) return {};
  std::vector<std::string> verbs;
  for (const Question& one : questions()) {
    if (one.is_verb()) verbs.emplace_back(one.name);
  }
  std::error_code ignored;
  const std::string meant = did_you_mean(inputs.front(), verbs);
  if (!meant.empty() && !std::filesystem::exists(inputs.front(), ignored)) {
    return fail(ErrorCode::kUsage, fmt::format("there is no file '{}'{} (see weft help pipeline)",
                                               inputs.front(), meant));
  }
  if (inputs.size() < 2) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("'{}' is one argument too many (see weft help pipeline)", inputs[1]));
}

Result<ExitCode> run_pipeline(const Arguments& arguments, Console& console) {
  const Question question = question_of(arguments);
  WEFT_TRY(check_flags(question, arguments, pipeline_flags()));
  WEFT_TRY(check_inputs(question, arguments));
  return question.run(arguments, console);
}

}  // namespace

Subcommand pipeline_command() {
  Subcommand command;
  command.name = "pipeline";
  command.description = "cuts a model into stages and puts them on devices";
  command.inputs =
      "PROFILE | compare PROFILE | schedule INSTANCES | gantt PLAN... | export PLAN | profile "
      "RECORDING... | "
      "predict RECORDING... | "
      "replan TIMELINE";
  command.min_inputs = 1;
  command.details =
      "PROFILE says what each layer of the model costs: a graph of PipeDream, a profile of DAPPLE "
      "or SPP, an\ninstance of dnn-partitioning or Piper, a table of Chimera, or JSON. --cluster "
      "says what devices there are: a file, or words such as '8x H100 "
      "nvlink, 4 hosts, 400Gb'\nor '4 devices, 12.5GB/s'; docs/formats/pipeline.md has both. The "
      "plan is the one whose simulated\nstep is shortest, with a bound that no plan can beat; "
      "`weft verify` checks it.\n--model pipedream answers as PipeDream's optimizer does: the "
      "slowest stage of a pipeline that\nnever drains, on --devices with --bandwidth.\n"
      "compare puts the plan beside those of SPP, PipeDream and DAPPLE and beside even stages "
      "under "
      "known\nschedules, all timed by one simulator; --planner takes the plan of one of them.\n"
      "schedule finds the shortest order of micro-batches for given stages, and proves how short "
      "one can be.\n"
      "gantt draws one plan, or two on one scale of time, idle time shaded.\n"
      "export writes a plan, or a schedule of INSTANCES, for torch.distributed.pipelining, "
      "Megatron-LM or\nany reader of JSON.\n"
      "profile writes the PROFILE of a recorded model: layers by their modules, or by what "
      "repeats.\n"
      "predict tells how long a step of a recorded pipeline would take, without profiler, under "
      "another\nschedule or with another number of micro-batches of the same size.\n"
      "replan shows ways around the slow workers and heavy stages of a job that an op timeline "
      "was\nrecorded of, and what each would gain.";
  command.examples = {
      Example{"weft pipeline examples/pipeline/gpt8l.json --cluster '4 devices, 12.5GB/s' "
              "--microbatches 8",
              "stages, devices and order of a step"},
      Example{"weft pipeline graph.txt --model pipedream --devices 4x4 --bandwidth 8e9,1.25e9",
              "PipeDream's answer for 4 machines of 4 devices"}};
  command.flags = pipeline_flags();
  command.run = run_pipeline;
  return command;
}

}  // namespace weft::cli
