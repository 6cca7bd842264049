// SPDX-License-Identifier: Apache-2.0
// Writes the JSON of `weft replay`. docs/reference/cli.md documents its fields. New fields may be
// added at any time. If a field is changed or removed, schema_version must be increased.
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/predict/summary.h"

namespace weft::predict {
namespace {

constexpr int kSchemaVersion = 1;

double microseconds(Nanos time) {
  return static_cast<double>(time) / static_cast<double>(kMicrosecond);
}

double ratio(Nanos a, Nanos b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 1.0;
}

void write_steps(JsonWriter& json, const char* name, const std::vector<Nanos>& steps) {
  json.key(name).begin_array();
  for (const Nanos step : steps) {
    if (step < 0) {
      json.null();
    } else {
      json.value(milliseconds(step));
    }
  }
  json.end_array();
}

/// The name of a source in the field memory_source. This field is older than memory_peak. Programs
/// that read it expect the name "shapes" for the estimate.
const char* old_source_name(sim::MemorySource source) {
  return source == sim::MemorySource::kEstimatedFromShapes ? "shapes" : memory_source_name(source);
}

void write_memory(JsonWriter& json, const std::optional<RankMemory>& memory) {
  if (!memory) {
    json.key("memory_peak_bytes").null().key("memory_source").null().key("memory_peak").null();
    return;
  }
  const sim::MemoryPeak& peak = memory->peak;
  json.field("memory_peak_bytes", peak.bytes);
  json.field("memory_source", old_source_name(memory->source));
  json.key("memory_peak").begin_object().field("bytes", peak.bytes);
  json.field("at_ms", milliseconds(memory->since_start));
  json.key("step");
  peak.step < 0 ? json.null() : json.value(peak.step);
  json.key("op");
  peak.host_op.empty() ? json.null() : json.value(peak.host_op);
  json.field("device", memory->device);
  json.field("source", memory_source_name(memory->source)).end_object();
}

void write_rank(JsonWriter& json, const RankSummary& rank) {
  json.begin_object().field("rank", rank.rank);
  write_steps(json, "recorded_step_ms", rank.recorded);
  write_steps(json, "replayed_step_ms", rank.replayed);
  json.field("baseline_step_ms", milliseconds(rank.mean_baseline));
  json.field("predicted_step_ms", milliseconds(rank.mean_predicted));
  write_steps(json, "baseline_steps_ms", rank.baseline);
  write_steps(json, "predicted_steps_ms", rank.predicted);
  json.key("clock").begin_object().field("offset_us", microseconds(rank.clock.offset));
  json.field("uncertainty_us", microseconds(rank.clock.offset_uncertainty));
  json.field("rate_ppm", static_cast<double>(rank.clock.rate_ppb) / 1e3);
  json.field("tied", rank.clock.tied).end_object();
  write_memory(json, rank.memory);
  json.end_object();
}

void write_breakdown(JsonWriter& json, const char* name, const StepPrediction& prediction) {
  const Breakdown& parts = prediction.breakdown;
  json.key(name).begin_object().field("rank", prediction.slowest_rank);
  json.field("compute_ms", milliseconds(parts.compute));
  json.field("communication_ms", milliseconds(parts.communication));
  json.field("waiting_ms", milliseconds(parts.waiting));
  json.field("host_ms", milliseconds(parts.host)).end_object();
}

void write_worth_knowing(JsonWriter& json, const ReplaySummary& summary) {
  json.key("worth_knowing").begin_array();
  for (const Answer& answer : summary.worth_knowing) {
    const StepPrediction& step = answer.prediction;
    json.begin_object().field("what_if", answer.what_if);
    json.field("predicted_step_ms", milliseconds(step.step));
    json.field("low_ms", milliseconds(step.low)).field("high_ms", milliseconds(step.high));
    json.field("speedup", ratio(summary.prediction.baseline.step, step.step));
    json.field("best", &answer == summary.best_choice()).end_object();
  }
  json.end_array();
}

const char* culprit_name(sim::CulpritKind kind) {
  switch (kind) {
    case sim::CulpritKind::kNone:
      return "none";
    case sim::CulpritKind::kWorker:
      return "worker";
    case sim::CulpritKind::kStage:
      return "stage";
    case sim::CulpritKind::kLinks:
      return "links";
  }
  return "";
}

void write_stragglers(JsonWriter& json, const std::optional<sim::StragglerReport>& report) {
  json.key("stragglers");
  if (!report) {
    json.null();
    return;
  }
  json.begin_object().field("slowdown", report->slowdown);
  json.field("simulated_step_ms", milliseconds(report->simulated_step));
  json.field("ideal_step_ms", milliseconds(report->ideal_step));
  json.field("culprit", culprit_name(report->culprit));
  json.field("culprit_rank", report->culprit_rank);
  json.field("culprit_replica", report->culprit_replica);
  json.field("culprit_stage", report->culprit_stage);
  json.end_object();
}

void write_unprofiled(JsonWriter& json, const ReplaySummary& summary) {
  json.key("unprofiled");
  if (!summary.unprofiled) {
    json.null();
    return;
  }
  const UnprofiledSteps& steps = *summary.unprofiled;
  json.begin_object().field("steps", steps.count).field("median_ms", milliseconds(steps.median));
  json.field("low_ms", milliseconds(steps.low)).field("high_ms", milliseconds(steps.high));
  json.field("typical", is_typical(steps, summary.prediction.baseline)).end_object();
}

}  // namespace

std::string summary_json(const ReplaySummary& summary, const Diagnostics& diagnostics) {
  const StepPrediction& baseline = summary.prediction.baseline;
  const StepPrediction& predicted = summary.prediction.predicted;
  JsonWriter json(2);
  json.begin_object().field("schema_version", kSchemaVersion).field("command", "replay");
  json.field("label", summary.label).field("world", summary.world);
  json.key("what_if").begin_array();
  for (const std::string& text : summary.what_if) json.value(text);
  json.end_array();
  json.key("steps").begin_array();
  for (const std::int64_t step : summary.steps) json.value(step);
  json.end_array();
  json.field("recorded_step_ms", milliseconds(summary.recorded_step));
  json.field("replayed_step_ms", milliseconds(summary.replayed_step));
  json.field("replay_error", summary.worst_error);
  json.field("baseline_step_ms", milliseconds(baseline.step));
  json.field("baseline_low_ms", milliseconds(baseline.low));
  json.field("baseline_high_ms", milliseconds(baseline.high));
  write_unprofiled(json, summary);
  json.field("predicted_step_ms", milliseconds(predicted.step));
  json.field("low_ms", milliseconds(predicted.low));
  json.field("high_ms", milliseconds(predicted.high));
  json.field("speedup", ratio(baseline.step, predicted.step));
  json.key("extrapolated_from_ranks");
  predicted.extrapolated_from > 0 ? json.value(predicted.extrapolated_from) : json.null();
  json.key("breakdown").begin_object();
  write_breakdown(json, "baseline", baseline);
  write_breakdown(json, "predicted", predicted);
  json.end_object();
  json.field("interference", summary.prediction.interference);
  json.field("profiler_us_per_event", microseconds(summary.prediction.overhead_per_event));
  json.key("ranks").begin_array();
  for (const RankSummary& rank : summary.ranks) write_rank(json, rank);
  json.end_array();
  write_worth_knowing(json, summary);
  write_stragglers(json, summary.stragglers);
  json.key("graph").begin_object().field("ops", summary.ops).field("edges", summary.edges);
  json.field("inferred_edges", summary.inferred_edges).end_object();
  write_diagnostics(json, diagnostics);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace weft::predict
