// SPDX-License-Identifier: Apache-2.0
// Writes the JSON of `weft diagnose`. docs/reference/cli.md documents its fields. New fields may be
// added at any time. If a field is changed or removed, schema_version must be increased.
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/diagnose/diagnosis.h"

namespace weft::diagnose {
namespace {

constexpr int kDiagnosisSchema = 2;

/// Writes the number of a rank, a step and so on. If the number is unknown, it is -1, and null is
/// written.
template <class Number>
void write_known(JsonWriter& json, const char* name, Number number) {
  json.key(name);
  number < 0 ? json.null() : json.value(number);
}

void write_known(JsonWriter& json, const char* name, const std::string& text) {
  json.key(name);
  text.empty() ? json.null() : json.value(text);
}

void write_causes(JsonWriter& json, const CauseTimes& times) {
  json.begin_object();
  for (const auto& [name, time] : times.named()) json.field(name, milliseconds(time));
  json.end_object();
}

void write_memory(JsonWriter& json, const std::optional<predict::RankMemory>& memory) {
  json.key("memory_peak");
  if (!memory) {
    json.null();
    return;
  }
  json.begin_object().field("bytes", memory->peak.bytes);
  json.field("at_ms", milliseconds(memory->since_start));
  write_known(json, "step", memory->peak.step);
  write_known(json, "op", memory->peak.host_op);
  json.field("device", memory->device);
  json.field("source", sim::memory_source_name(memory->source)).end_object();
}

void write_rank(JsonWriter& json, const RankDiagnosis& rank) {
  json.begin_object().field("rank", rank.rank).field("step_ms", milliseconds(rank.step));
  json.key("steps_ms").begin_array();
  for (const Nanos step : rank.steps) json.value(milliseconds(step));
  json.end_array().key("causes");
  write_causes(json, rank.causes.mean);
  json.key("causes_by_step").begin_array();
  for (const CauseTimes& step : rank.causes.steps) write_causes(json, step);
  json.end_array();
  const CauseTimes& mean = rank.causes.mean;
  json.field("communication_ms", milliseconds(mean.communication));
  json.field("hidden_ms", milliseconds(mean.hidden));
  json.key("overlap");
  if (mean.communication > 0) {
    json.value(static_cast<double>(mean.hidden) / static_cast<double>(mean.communication));
  } else {
    json.null();
  }
  json.key("lateness").begin_object().field("collectives", rank.lateness.collectives);
  json.field("last", rank.lateness.last);
  json.field("made_wait_ms", milliseconds(rank.lateness.made_wait)).end_object();
  write_memory(json, rank.memory);
  json.end_object();
}

void write_finding_ops(JsonWriter& json, const graph::Graph& graph, const Finding& finding) {
  json.key("ops").begin_array();
  for (const auto& [op, time, pause] : finding.ops) {
    json.begin_object().field("name", graph.name(op));
    write_known(json, "rank", graph.rank(op));
    write_known(json, "step", graph.ops.step[op]);
    json.field("lane", graph.lanes[graph.ops.lane[op]].name);
    write_known(json, "at_ms", milliseconds(graph.ops.recorded_start[op]));
    json.field("ms", milliseconds(time)).field("pause_ms", milliseconds(pause)).end_object();
  }
  json.end_array();
}

void write_finding(JsonWriter& json, const predict::Job& job, const Diagnosis& diagnosis,
                   std::size_t index, const std::vector<std::string>& inputs) {
  const Finding& finding = diagnosis.findings[index];
  json.begin_object().field("kind", info_of(finding.kind).id).field("title", finding.title);
  json.field("what", finding.what);
  write_known(json, "rank", finding.rank);
  write_known(json, "step", finding.step);
  write_known(json, "stream", finding.lane);
  json.key("ranks").begin_array();
  for (const std::int32_t rank : finding.ranks) json.value(rank);
  json.end_array().field("gain_ms", milliseconds(finding.gain));
  json.field("time_ms", milliseconds(finding.time)).field("count", finding.count);
  json.field("advice", finding.advice).field("show", show_command(inputs, index + 1));
  write_known(json, "what_if", finding.what_if);
  write_finding_ops(json, job.graph, finding);
  json.end_object();
}

void write_path(JsonWriter& json, const predict::Job& job, const CriticalPath& path) {
  json.key("critical_path").begin_array();
  for (const PathPiece& piece : path.pieces) {
    json.begin_object();
    write_known(json, "rank", piece.rank);
    write_known(json, "step", piece.step);
    json.field("lane", job.graph.lanes[piece.lane].name);
    json.field("name", job.graph.name(piece.op)).field("gap", piece.is_gap);
    json.field("cause", cause_name(piece.cause));
    json.field("start_ms", milliseconds(piece.start));
    json.field("duration_ms", milliseconds(piece.end - piece.start)).end_object();
  }
  json.end_array().key("critical_path_summary").begin_object();
  json.field("length_ms", milliseconds(path.length)).key("by_rank").begin_array();
  for (const auto& [rank, time] : path.by_rank) {
    json.begin_object();
    write_known(json, "rank", rank);
    json.field("ms", milliseconds(time)).end_object();
  }
  json.end_array().key("by_cause").begin_object();
  for (std::size_t c = 0; c < kCauses; ++c) {
    if (path.by_cause[c] > 0) {
      json.field(cause_name(static_cast<Cause>(c)), milliseconds(path.by_cause[c]));
    }
  }
  json.end_object();
  write_known(json, "main_rank", path.main_rank());
  json.end_object();
}

void write_collectives(JsonWriter& json, const predict::Job& job, const Diagnosis& diagnosis) {
  json.key("collectives").begin_array();
  for (const CollectiveSkew& skew : diagnosis.skews) {
    const graph::Collective& c = job.graph.collectives[skew.collective];
    json.begin_object().field("name", trace::to_text(c.kind)).field("group", c.group);
    json.field("sequence", c.sequence);
    write_known(json, "step", skew.step);
    write_known(json, "bytes", c.bytes);
    json.field("skew_ms", milliseconds(skew.skew()));
    json.field("transfer_ms", milliseconds(skew.transfer()));
    write_known(json, "last_rank", skew.last_rank);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string diagnosis_json(const predict::Job& job, const Diagnosis& diagnosis,
                           const std::vector<std::string>& inputs, const Diagnostics& diagnostics) {
  JsonWriter json;
  json.begin_object().field("schema_version", kDiagnosisSchema);
  json.field("command", "diagnose").field("label", diagnosis.label);
  json.field("world", diagnosis.world).field("verdict", diagnosis.verdict);
  json.key("steps").begin_array();
  for (const std::int64_t step : diagnosis.steps) json.value(step);
  json.end_array().field("step_ms", milliseconds(diagnosis.step));
  json.field("baseline_step_ms", milliseconds(diagnosis.baseline));
  json.field("slowest_rank", diagnosis.slowest_rank).field("late_rank", diagnosis.late_rank);
  json.key("ranks").begin_array();
  for (const RankDiagnosis& rank : diagnosis.ranks) write_rank(json, rank);
  json.end_array().key("findings").begin_array();
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i) {
    write_finding(json, job, diagnosis, i, inputs);
  }
  json.end_array();
  write_path(json, job, diagnosis.path);
  write_collectives(json, job, diagnosis);
  json.key("stragglers");
  if (diagnosis.stragglers) {
    json.begin_object().field("slowdown", diagnosis.stragglers->slowdown).end_object();
  } else {
    json.null();
  }
  write_diagnostics(json, diagnostics);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace weft::diagnose
