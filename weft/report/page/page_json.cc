// SPDX-License-Identifier: Apache-2.0
// Writes the data of a page as JSON. There is one function for each member of PageData in
// web/page_data.ts, in the same order. Times are written in nanoseconds; the page formats them.
// Some lists grow with the job: waits, collectives and memory points. They are shortened here,
// because a page must stay below 15 MB.
#include "weft/report/page/page_json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "weft/base/json/writer.h"
#include "weft/report/page/heat_map.h"
#include "weft/report/page/memory_curves.h"
#include "weft/trace/match/calls.h"

namespace weft::report {
namespace {

using diagnose::Cause;
using diagnose::CauseTimes;

void write_numbers(JsonWriter& json, const char* name, const auto& numbers) {
  json.key(name).begin_array();
  for (const auto& number : numbers) json.value(number);
  json.end_array();
}

/// The last part of a path. The page shows full paths only in its commands.
std::string file_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

void write_names(JsonWriter& json, const char* name, const std::vector<std::string>& paths) {
  json.key(name).begin_array();
  for (const std::string& path : paths) json.value(file_name(path));
  json.end_array();
}

/// The names of the job's devices with their numbers, such as "NVIDIA H200 x4". A trace may list
/// all devices of its host. So only the first device of each rank is counted; otherwise the devices
/// of a host would be counted once per rank.
std::vector<std::string> device_names(const trace::Run& run) {
  std::map<std::string, std::int64_t> count;
  for (const trace::RankTrace& rank : run.ranks) {
    // A rank without device work uses none of the devices.
    if (!rank.devices.empty() && rank.facts.device_events) ++count[rank.devices.front()];
  }
  std::vector<std::string> names;
  for (const auto& [name, times] : count) names.push_back(name + " x" + std::to_string(times));
  return names;
}

void write_job(JsonWriter& json, const PageInput& input) {
  const trace::Run& run = input.job.run;
  std::set<std::string> formats;
  for (const trace::RankTrace& rank : run.ranks) formats.insert(rank.format);
  std::string format;
  for (const std::string& each : formats) format += (format.empty() ? "" : ", ") + each;
  json.key("job").begin_object();
  json.field("label", run.label).field("world", run.world);
  write_numbers(json, "devices", device_names(run));
  json.field("format", format).field("from_phases", input.job.from_phases);
  write_numbers(json, "steps", input.diagnosis.steps);
  json.end_object();
}

void write_findings(JsonWriter& json, const PageInput& input) {
  json.key("findings").begin_array();
  for (std::size_t i = 0; i < input.diagnosis.findings.size(); ++i) {
    const diagnose::Finding& finding = input.diagnosis.findings[i];
    const FindingView& view = input.finding_views[i];
    const std::uint32_t span =
        view.op == graph::kNoId ? kNoSpan : input.timeline.span_of_op[view.op];
    json.begin_object();
    json.field("kind", diagnose::info_of(finding.kind).id).field("what", finding.what);
    json.field("rank", finding.rank).field("step", finding.step).field("lane", finding.lane);
    write_numbers(json, "ranks", finding.ranks);
    json.field("gain", finding.gain).field("time", finding.time).field("count", finding.count);
    json.field("advice", finding.advice).field("what_if", finding.what_if);
    json.field("command", input.finding_commands[i]);
    json.field("start", view.start).field("end", view.end);
    // The op may have no span, because not every recorded event is drawn. Sync events, for example,
    // are not.
    json.field("span", span == kNoSpan ? std::int64_t{-1} : std::int64_t{span});
    json.end_object();
  }
  json.end_array();
}

void write_peak(JsonWriter& json, const char* name, std::int32_t device, sim::MemorySource source,
                const sim::MemoryPeak& peak) {
  json.key(name).begin_object();
  json.field("device", device).field("source", sim::memory_source_name(source));
  json.field("bytes", peak.bytes).field("time", peak.time).field("step", peak.step);
  json.field("op", peak.host_op).end_object();
}

/// Largest relative error of the replay over the steps of a rank; 0.01 means 1 %.
double replay_error(const predict::RankSummary& rank) {
  double worst = 0;
  for (std::size_t s = 0; s < rank.recorded.size(); ++s) {
    if (rank.recorded[s] <= 0) continue;
    const double ratio =
        static_cast<double>(rank.replayed[s]) / static_cast<double>(rank.recorded[s]);
    worst = std::max(worst, std::abs(ratio - 1));
  }
  return worst;
}

/// The six ranks for which this rank waits longest, in descending order of the waiting time. One
/// last entry with rank -1 has the total of all other ranks.
std::vector<std::pair<std::int32_t, Nanos>> longest_waits(const CauseTimes& causes) {
  constexpr std::size_t kMost = 6;
  std::vector<std::pair<std::int32_t, Nanos>> waits(causes.waiting_for.begin(),
                                                    causes.waiting_for.end());
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Nanos others = 0;
  for (; waits.size() > kMost; waits.pop_back()) others += waits.back().second;
  if (others > 0) waits.emplace_back(-1, others);
  return waits;
}

/// Writes one rank. `replayed` is null if the replay does not contain this rank.
void write_rank(JsonWriter& json, const diagnose::RankDiagnosis& rank,
                const predict::RankSummary* replayed, Nanos on_path) {
  const CauseTimes& causes = rank.causes.mean;
  json.begin_object().field("rank", rank.rank).field("step", rank.step);
  write_numbers(json, "steps", rank.steps);
  write_numbers(json, "causes", causes.by_cause);
  json.key("waiting_for").begin_array();
  for (const auto& [other, time] : longest_waits(causes)) {
    json.begin_array().value(other).value(time).end_array();
  }
  json.end_array();
  json.field("communication", causes.communication).field("hidden", causes.hidden);
  json.field("collectives", rank.lateness.collectives).field("came_last", rank.lateness.last);
  json.field("made_wait", rank.lateness.made_wait).field("on_path", on_path);
  json.field("replay_error", replayed ? replay_error(*replayed) : 0.0);
  // Diagnosis and replay are separate analyses, so a rank may be missing in the replay. Its clock
  // then has default values.
  const trace::ClockFit clock = replayed ? replayed->clock : trace::ClockFit{};
  json.key("clock").begin_object();
  json.field("offset", clock.offset).field("uncertainty", clock.offset_uncertainty);
  json.field("samples", clock.samples).field("tied", clock.tied).end_object();
  if (rank.memory) {
    write_peak(json, "memory", rank.memory->device, rank.memory->source, rank.memory->peak);
  } else {
    json.key("memory").null();
  }
  json.end_object();
}

void write_ranks(JsonWriter& json, const PageInput& input) {
  std::map<std::int32_t, const predict::RankSummary*> replayed;
  for (const predict::RankSummary& rank : input.summary.ranks) replayed[rank.rank] = &rank;
  const std::map<std::int32_t, Nanos>& on_path = input.diagnosis.path.by_rank;
  json.key("ranks").begin_array();
  for (const diagnose::RankDiagnosis& rank : input.diagnosis.ranks) {
    const auto time = on_path.find(rank.rank);
    write_rank(json, rank, replayed[rank.rank], time == on_path.end() ? 0 : time->second);
  }
  json.end_array();
}

/// Writes the heat map. A row has one lateness per column. Several collectives may share a column;
/// the column describes the collective with the largest skew.
void write_heat_map(JsonWriter& json, const PageInput& input) {
  const std::vector<diagnose::CollectiveSkew>& skews = input.diagnosis.skews;
  const HeatMap map = make_heat_map(skews);
  json.key("heat_map").begin_object().field("collectives", skews.size());
  json.key("columns").begin_array();
  for (const HeatColumn& column : map.columns) {
    const diagnose::CollectiveSkew& skew = skews[column.worst];
    const graph::Collective& collective = input.job.graph.collectives[skew.collective];
    json.begin_object().field("count", column.count).field("index", column.worst);
    json.field("kind", trace::to_text(collective.kind));
    json.field("group", collective.group).field("bytes", collective.bytes);
    json.field("step", skew.step).field("first", skew.first_arrival);
    json.field("last", skew.last_arrival).field("end", skew.end);
    json.field("last_rank", skew.last_rank).end_object();
  }
  json.end_array().key("rows").begin_array();
  for (const HeatRow& row : map.rows) {
    json.begin_object().field("rank", row.rank);
    write_numbers(json, "late_by", row.late_by);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_memory(JsonWriter& json, const PageInput& input) {
  json.key("memory").begin_array();
  for (const RankCurve& each : memory_curves(input.job.run)) {
    const sim::MemoryCurve& curve = each.curve;
    json.begin_object().field("rank", each.rank).field("device", curve.device);
    json.field("source", sim::memory_source_name(curve.source));
    // Times and bytes are two separate arrays: this is shorter than a list of points, and the page
    // needs the arrays separately.
    json.key("times").begin_array();
    for (const sim::MemoryPoint& point : curve.points) json.value(point.time);
    json.end_array().key("bytes").begin_array();
    for (const sim::MemoryPoint& point : curve.points) json.value(point.allocated);
    json.end_array();
    write_peak(json, "peak", curve.device, curve.source, curve.peak);
    json.end_object();
  }
  json.end_array();
}

/// Writes the members of a `Step` of page_data.ts into the open object.
void write_step(JsonWriter& json, Nanos step, Nanos low, Nanos high, std::int32_t rank,
                const predict::Breakdown& parts) {
  json.field("step", step).field("low", low).field("high", high).field("rank", rank);
  json.key("parts").begin_object();
  json.field("compute", parts.compute).field("communication", parts.communication);
  json.field("waiting", parts.waiting).field("host", parts.host).end_object();
}

void write_prediction(JsonWriter& json, const predict::StepPrediction& prediction) {
  write_step(json, prediction.step, prediction.low, prediction.high, prediction.slowest_rank,
             prediction.breakdown);
}

/// The recorded step of the slowest rank, with its seven causes merged into the four parts that
/// predictions distinguish.
predict::Breakdown recorded_parts(const diagnose::Diagnosis& diagnosis) {
  predict::Breakdown parts;
  for (const diagnose::RankDiagnosis& rank : diagnosis.ranks) {
    if (rank.rank != diagnosis.late_rank) continue;
    const CauseTimes& causes = rank.causes.mean;
    parts.compute = causes[Cause::kCompute] + causes[Cause::kMemoryCopy];
    parts.communication = causes[Cause::kTransfer];
    parts.waiting = causes[Cause::kWaiting];
    parts.host = causes[Cause::kDataLoading] + causes[Cause::kHostLaunch] + causes[Cause::kIdle];
  }
  return parts;
}

void write_what_if(JsonWriter& json, const PageInput& input) {
  const diagnose::Diagnosis& diagnosis = input.diagnosis;
  const predict::ReplaySummary& summary = input.summary;
  json.key("what_if").begin_object();
  json.field("measured_links", summary.has_links);
  json.key("recorded").begin_object();
  write_step(json, diagnosis.step, diagnosis.step, diagnosis.step, diagnosis.late_rank,
             recorded_parts(diagnosis));
  json.end_object().key("baseline").begin_object();
  write_prediction(json, summary.prediction.baseline);
  json.end_object().key("answers").begin_array();
  const predict::Answer* best = summary.best_choice();
  // The user's what-ifs come first, because the page shows the first answer of the list when it
  // opens.
  const auto write_answer = [&](const predict::Answer& answer, bool asked) {
    json.begin_object().field("what_if", answer.what_if).field("asked", asked);
    json.field("best", &answer == best);
    write_prediction(json, answer.prediction);
    json.end_object();
  };
  for (const predict::Answer& answer : input.asked) write_answer(answer, true);
  for (const predict::Answer& answer : summary.worth_knowing) {
    // The user may have asked for one of the standard what-ifs.
    const bool is_asked =
        std::any_of(input.asked.begin(), input.asked.end(),
                    [&](const predict::Answer& other) { return other.what_if == answer.what_if; });
    if (!is_asked) write_answer(answer, false);
  }
  json.end_array().end_object();
}

void write_quality(JsonWriter& json, const PageInput& input) {
  const predict::ReplaySummary& summary = input.summary;
  json.key("quality").begin_object();
  write_diagnostics(json, input.diagnostics);
  json.field("replayed_step", summary.replayed_step).field("replay_error", summary.worst_error);
  json.field("ops", summary.ops).field("edges", summary.edges);
  json.field("inferred_edges", summary.inferred_edges);
  json.field("interference", summary.prediction.interference);
  json.field("overhead_per_event", summary.prediction.overhead_per_event).end_object();
}

void write_reproduce(JsonWriter& json, const PageInput& input) {
  json.key("reproduce").begin_object();
  write_names(json, "inputs", input.inputs);
  write_names(json, "links", input.links);
  json.key("commands").begin_array();
  for (const ReproduceCommand& each : input.commands) {
    json.begin_object().field("command", each.command).field("what", each.what).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string page_json(const PageInput& input) {
  const diagnose::Diagnosis& diagnosis = input.diagnosis;
  JsonWriter json;
  json.begin_object().field("version", input.version);
  write_job(json, input);
  json.field("verdict", diagnosis.verdict).field("step", diagnosis.step);
  json.field("late_rank", diagnosis.late_rank);
  write_findings(json, input);
  write_ranks(json, input);
  json.key("path").begin_object().field("length", diagnosis.path.length);
  write_numbers(json, "causes", diagnosis.path.by_cause);
  json.end_object();
  write_heat_map(json, input);
  write_memory(json, input);
  json.key("schedules");
  write_charts(json, input.schedules);
  write_what_if(json, input);
  write_quality(json, input);
  write_reproduce(json, input);
  return json.end_object().take();
}

}  // namespace weft::report
