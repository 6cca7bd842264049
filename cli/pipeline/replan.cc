// SPDX-License-Identifier: Apache-2.0
// `weft pipeline replan TIMELINE`: reads the op timeline of a job, and finds ways around its slow
// workers and heavy stages.
#include <fmt/format.h>

#include <algorithm>

#include "cli/loading.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/pipeline/recorded/timeline.h"

namespace weft::cli {
namespace {

using pipeline::recorded::Division;
using pipeline::recorded::Replan;
using pipeline::recorded::Way;

/// By how many per cent `now` is shorter than `before`.
double percent_less(Nanos now, Nanos before) {
  return 100 * (1 - static_cast<double>(now) / static_cast<double>(std::max<Nanos>(1, before)));
}

/// Writes how layers and micro-batches are divided. The recorded division and every better division
/// have these fields.
void write_division(JsonWriter& json, const Division& division) {
  json.key("layers").begin_array();
  for (const std::int32_t layers : division.layers) json.value(layers);
  json.end_array().key("microbatches").begin_array();
  for (const pipeline::Micro micro_batches : division.micro_batches) json.value(micro_batches);
  json.end_array();
}

std::string json_of(const std::string& label, const Replan& replan,
                    const Diagnostics& diagnostics) {
  JsonWriter json(2);
  json.begin_object().field("schema_version", 1).field("command", "pipeline replan");
  json.field("label", label).field("measured_step_ms", milliseconds(replan.measured_step));
  json.field("step_ms", milliseconds(replan.predicted_step));
  json.key("recorded").begin_object();
  write_division(json, replan.recorded);
  json.end_object().key("slow_worker");
  if (replan.slow_rank < 0) {
    json.null();
  } else {
    json.begin_object().field("rank", replan.slow_rank).field("replica", replan.slow_replica);
    json.field("stage", replan.slow_stage).field("slowness", replan.slowness);
    json.field("step_as_the_others_ms", milliseconds(replan.step_without_slow_worker)).end_object();
  }
  json.key("heavy_stage");
  if (replan.heavy_stage < 0) {
    json.null();
  } else {
    json.begin_object().field("stage", replan.heavy_stage);
    json.field("heaviness", replan.heaviness).end_object();
  }
  json.key("ways").begin_array();
  for (const Way& way : replan.ways) {
    json.begin_object().field("move", way.name).field("step_ms", milliseconds(way.step));
    json.field("gain_pct", percent_less(way.step, replan.predicted_step));
    write_division(json, way.division);
    json.end_object();
  }
  json.end_array();
  write_diagnostics(json, diagnostics);
  return json.end_object().take() + "\n";
}

template <class Number>
std::string joined(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

std::string text_of(const std::string& label, const Replan& replan, const Terminal& terminal) {
  std::string text = fmt::format("{}: {}, {} of {}\n", paint(terminal, Tone::kBold, label),
                                 counted(replan.recorded.layers.size(), "stage"),
                                 counted(replan.recorded.micro_batches.size(), "replica"),
                                 counted(replan.recorded.micro_batches.front(), "micro-batch"));
  text += fmt::format("step     {} measured, {} simulated ({:+.2f}%)\n",
                      format_time(replan.measured_step), format_time(replan.predicted_step),
                      -percent_less(replan.predicted_step, replan.measured_step));
  if (replan.slow_rank >= 0) {
    text += fmt::format(
        "slow     rank {} (replica {}, stage {}): {:.2f}x its peers; {} if it were as fast\n",
        replan.slow_rank, replan.slow_replica, replan.slow_stage, replan.slowness,
        format_time(replan.step_without_slow_worker));
  }
  if (replan.heavy_stage >= 0) {
    text += fmt::format("heavy    stage {}: {:.2f}x the median stage, in all replicas\n",
                        replan.heavy_stage, replan.heaviness);
  }
  if (replan.ways.empty())
    return text + "no other division of layers and micro-batches makes the step shorter\n";
  text += fmt::format("{:<14} {:>9} {:>6}  {:<20} {}\n", "move", "step", "gain", "layers",
                      "micro-batches");
  for (const Way& way : replan.ways) {
    text += fmt::format("{:<14} {:>9} {:>5.1f}%  {:<20} {}\n", way.name, format_time(way.step),
                        percent_less(way.step, replan.predicted_step), joined(way.division.layers),
                        joined(way.division.micro_batches));
  }
  return text;
}

Result<ExitCode> run_pipeline_replan(const Arguments& arguments, Console& console) {
  const std::int64_t layers = arguments.whole("--layers").value_or(0);
  if (arguments.has("--layers") && (layers < 1 || layers > 100'000)) {
    return fail(ErrorCode::kUsage, fmt::format("--layers: {} is not between 1 and 100000", layers));
  }
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  WEFT_ASSIGN(const pipeline::recorded::TimedJob timed, pipeline::recorded::timed_job(job));
  WEFT_ASSIGN(const Replan replan,
              pipeline::recorded::replan(timed, static_cast<std::int32_t>(layers), diagnostics));
  console.result = arguments.has("--json") ? json_of(job.run.label, replan, diagnostics)
                                           : text_of(job.run.label, replan, console.out);
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  // Check --strict last, so that the answer is shown even if the exit status is an error.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand pipeline_replan_command() {
  Subcommand command;
  command.name = "pipeline replan";
  command.description = "shows ways around slow workers and heavy stages of a recorded job";
  command.inputs = "TIMELINE...";
  command.min_inputs = 1;
  command.details =
      "TIMELINE is an op timeline (see `straggler` in weft list readers). Weft moves layers to "
      "other "
      "stages, and micro-batches to other replicas. It shows each better division of the work with "
      "the step that it would give under 1F1B.";
  command.examples = {
      Example{"weft pipeline replan timeline.json.gz --layers 40", "the best divisions first"},
      Example{"weft pipeline replan timeline.json.gz --layers 40 --json", "the same for scripts"}};
  command.flags = {
      {"--layers", "N", "number of layers of the whole model; default: 8 per stage, with a note",
       Flag::Value::kWhole},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_pipeline_replan;
  return command;
}

}  // namespace weft::cli
