// SPDX-License-Identifier: Apache-2.0
// `weft pipeline predict RECORDING...`: predicts the step of a recorded pipeline under another
// schedule. There are two kinds of recordings. Those of a profiler are replayed with host work and
// messages. Op timelines have only the times of workers; for them the step is simulated.
#include <fmt/format.h>

#include "cli/loading.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "cli/shell/progress.h"
#include "weft/base/counted.h"
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/pipeline/recorded/predict.h"
#include "weft/pipeline/recorded/timeline.h"

namespace weft::cli {
namespace {

using pipeline::recorded::ScheduleAnswer;
using pipeline::recorded::ScheduleQuestion;
using pipeline::recorded::StageAnswer;

constexpr DiagnosticKind kLinksUnused{
    "predict-links-unused", Severity::kWarning,
    "no table of --links has times of messages between two ranks; the recorded times are used",
    "measure such a table with weft calibrate --collectives send_recv"};
constexpr DiagnosticKind kTorchRefuses{
    "predict-torch-refuses", Severity::kWarning,
    "torch refuses to run this schedule with this number of micro-batches; the prediction is for "
    "the schedule without this restriction",
    "1f1b needs at least as many micro-batches as stages; interleaved needs a number that divides "
    "into max(1, micro-batches / ranks) equal rounds"};

/// What --schedule, --microbatches and --links ask for.
Result<ScheduleQuestion> schedule_question_of(const Arguments& arguments) {
  ScheduleQuestion question;
  question.schedule = value_or(arguments, "--schedule", "1f1b");
  const std::int64_t micro_batches = arguments.whole("--microbatches").value_or(0);
  if (arguments.has("--microbatches") && (micro_batches < 1 || micro_batches > 100'000)) {
    return fail(ErrorCode::kUsage,
                fmt::format("--microbatches: {} is not between 1 and 100000", micro_batches));
  }
  // Without --microbatches the number is 0, which means: as many micro-batches as were recorded.
  question.micro_batches = static_cast<pipeline::Micro>(micro_batches);
  WEFT_ASSIGN(question.links, cost::read_links(arguments.all("--links")));
  return question;
}

std::string json_of(const std::string& label, const ScheduleAnswer& answer,
                    const Diagnostics& diagnostics) {
  JsonWriter json(2);
  json.begin_object().field("schema_version", 1).field("command", "pipeline predict");
  json.field("label", label).field("schedule", answer.schedule);
  json.field("microbatches", answer.micro_batches);
  json.field("step_ms", milliseconds(answer.step.step));
  json.field("low_ms", milliseconds(answer.step.low));
  json.field("high_ms", milliseconds(answer.step.high));
  json.key("recorded").begin_object().field("schedule", answer.recorded_schedule);
  json.field("microbatches", answer.recorded_micro_batches);
  json.field("step_ms", milliseconds(answer.recorded_step)).end_object();
  json.key("made_of").begin_object().field("rank", answer.step.slowest_rank);
  const predict::Breakdown& parts = answer.step.breakdown;
  json.field("compute_ms", milliseconds(parts.compute));
  json.field("messages_ms", milliseconds(parts.communication + parts.waiting));
  json.field("host_ms", milliseconds(parts.host)).end_object();
  json.key("message").begin_object().field("bytes", answer.message_bytes);
  json.field("arrival_ms", milliseconds(answer.message.arrival));
  json.field("receive_ms", milliseconds(answer.message.receive));
  json.field("send_ms", milliseconds(answer.message.send));
  json.field("from_table", answer.from_table).end_object();
  json.key("stages").begin_array();
  for (const StageAnswer& stage : answer.stages) {
    json.begin_object().field("rank", stage.rank).field("layers", stage.layers);
    json.field("forward_ms", milliseconds(stage.forward_device));
    json.field("backward_ms", milliseconds(stage.backward_device));
    json.field("forward_launch_ms", milliseconds(stage.forward_host));
    json.field("backward_launch_ms", milliseconds(stage.backward_host)).end_object();
  }
  json.end_array();
  write_diagnostics(json, diagnostics);
  return json.end_object().take() + "\n";
}

std::string text_of(const std::string& label, const ScheduleAnswer& answer,
                    const Terminal& terminal) {
  std::string text = fmt::format(
      "{}: {} {}, {} ms per step with the profiler\n", paint(terminal, Tone::kBold, label),
      counted(answer.recorded_micro_batches, "micro-batch"),
      answer.recorded_schedule.empty() ? "in an order other than 1F1B and GPipe"
                                       : answer.recorded_schedule,
      format_ms(answer.recorded_step));
  text += fmt::format("{:>5}  {:>4}  {:>6}  {:>10}  {:>11}  {:>9}  {:>9}\n", "stage", "rank",
                      "layers", "forward ms", "backward ms", "launch F", "launch B");
  for (std::size_t i = 0; i < answer.stages.size(); ++i) {
    const StageAnswer& stage = answer.stages[i];
    text +=
        fmt::format("{:>5}  {:>4}  {:>6}  {:>10}  {:>11}  {:>9}  {:>9}\n", i, stage.rank,
                    stage.layers, format_ms(stage.forward_device), format_ms(stage.backward_device),
                    format_ms(stage.forward_host), format_ms(stage.backward_host));
  }
  text +=
      fmt::format("message  {}, arrives after {}\n",
                  answer.message_bytes < 0 ? "size unknown" : format_bytes(answer.message_bytes),
                  format_time(answer.message.arrival));
  const predict::Breakdown& parts = answer.step.breakdown;
  text += fmt::format("{}  {}, {}: {} ms ({}..{}) without the profiler\n",
                      paint(terminal, Tone::kBold, "step   "), answer.schedule,
                      counted(answer.micro_batches, "micro-batch"), format_ms(answer.step.step),
                      format_ms(answer.step.low), format_ms(answer.step.high));
  text += fmt::format("made of  compute {}, messages {}, host {} ms (rank {})\n",
                      format_ms(parts.compute), format_ms(parts.communication + parts.waiting),
                      format_ms(parts.host), answer.step.slowest_rank);
  return text;
}

std::string timeline_json(const std::string& label, const pipeline::recorded::TimedJob& timed,
                          const ScheduleQuestion& question, pipeline::Micro micro_batches,
                          Nanos step, const Diagnostics& diagnostics) {
  JsonWriter json(2);
  json.begin_object().field("schema_version", 1).field("command", "pipeline predict");
  json.field("label", label).field("schedule", question.schedule);
  json.field("microbatches", micro_batches).field("step_ms", milliseconds(step));
  json.key("recorded").begin_object().field("microbatches", timed.micro_batches);
  json.field("step_ms", milliseconds(timed.measured_step)).end_object();
  json.key("workers").begin_array();
  for (std::size_t r = 0; r < timed.workers.size(); ++r) {
    for (std::size_t s = 0; s < timed.workers[r].size(); ++s) {
      const pipeline::recorded::WorkerTimes& worker = timed.workers[r][s];
      json.begin_object().field("rank", worker.rank).field("replica", r).field("stage", s);
      json.field("forward_ms", milliseconds(worker.forward));
      json.field("backward_ms", milliseconds(worker.backward)).end_object();
    }
  }
  json.end_array();
  write_diagnostics(json, diagnostics);
  return json.end_object().take() + "\n";
}

/// The answer for an op timeline. An op timeline has no host work and no launches, so the step is
/// simulated from the recorded times of workers and messages.
Result<std::string> answer_timeline(const predict::Job& job, const ScheduleQuestion& question,
                                    bool as_json, const Diagnostics& diagnostics) {
  WEFT_ASSIGN(const pipeline::recorded::TimedJob timed, pipeline::recorded::timed_job(job));
  const pipeline::Micro micro_batches =
      question.micro_batches > 0 ? question.micro_batches : timed.micro_batches;
  WEFT_ASSIGN(const Nanos step,
              pipeline::recorded::step_of(timed, question.schedule, micro_batches));
  if (as_json)
    return timeline_json(job.run.label, timed, question, micro_batches, step, diagnostics);
  std::string text = fmt::format(
      "{}: {} of {}, {}, {} ms per step\n", job.run.label, counted(timed.workers.size(), "replica"),
      counted(timed.workers.front().size(), "stage"), counted(timed.micro_batches, "micro-batch"),
      format_ms(timed.measured_step));
  text += fmt::format("step     {}, {}: {} ms\n", question.schedule,
                      counted(micro_batches, "micro-batch"), format_ms(step));
  return text;
}

Result<ExitCode> run_pipeline_predict(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const ScheduleQuestion question, schedule_question_of(arguments));
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  const bool as_json = arguments.has("--json");
  // If no link table fits the messages, --links has no effect. Then a note says so.
  if (job.from_phases) {
    if (!question.links.empty()) diagnostics.add(kLinksUnused);
    WEFT_ASSIGN(console.result, answer_timeline(job, question, as_json, diagnostics));
  } else {
    Progress progress(console.err);
    progress.show("replaying");
    WEFT_ASSIGN(const ScheduleAnswer answer, pipeline::recorded::predict_schedule(job, question));
    progress.clear();
    if (!question.links.empty() && !answer.table_fits) diagnostics.add(kLinksUnused);
    if (!answer.torch_takes_it) diagnostics.add(kTorchRefuses);
    console.result = as_json ? json_of(job.run.label, answer, diagnostics)
                             : text_of(job.run.label, answer, console.out);
  }
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  // Check --strict last, so that the answer is shown even if the exit status is an error.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand pipeline_predict_command() {
  Subcommand command;
  command.name = "pipeline predict";
  command.description = "predicts the step of a recorded pipeline under another schedule";
  command.inputs = "RECORDING...";
  command.min_inputs = 1;
  command.details =
      "The predicted step is a step without profiler, in a row of steps without pauses. "
      "Micro-batches keep their recorded size; their number and the schedule may change. All ranks "
      "of one pipeline are needed.";
  command.examples = {
      Example{"weft pipeline predict traces/ --schedule gpipe --microbatches 16",
              "the step under GPipe with 16 micro-batches"},
      Example{"weft pipeline predict traces/ --schedule interleaved --links links.json",
              "two stages per rank, on the network that weft calibrate measured"}};
  command.flags = {
      {"--schedule",
       "NAME",
       "the schedule to predict; default: 1f1b",
       Flag::Value::kChoice,
       false,
       {"1f1b", "gpipe", "interleaved"}},
      {"--microbatches", "N", "micro-batches per step; default: as recorded", Flag::Value::kWhole},
      {"--links", "TABLE", "measured times of messages (docs/formats/links.md)", Flag::Value::kFile,
       true},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_pipeline_predict;
  return command;
}

}  // namespace weft::cli
