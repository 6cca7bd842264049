// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/schedule_chart.h"

#include <fmt/format.h>

#include "weft/base/json/writer.h"
#include "weft/pipeline/recorded/schedule.h"
#include "weft/pipeline/schedule/solve.h"

namespace weft::report {
namespace {

using pipeline::Op;
using pipeline::Span;
using pipeline::exports::Scheduled;

/// Writes the ops of one device. A schedule can have thousands of ops, and one JSON object per op
/// would make the page several times larger. So the kinds of all ops are written as one string with
/// one letter per op. The numbers of all ops are written as one array with four numbers per op.
void write_row(JsonWriter& json, const std::string& name, const std::vector<Op>& order,
               const std::vector<Span>& spans) {
  std::string kinds;
  json.begin_object().field("name", name).key("ops").begin_array();
  for (std::size_t i = 0; i < order.size(); ++i) {
    kinds += pipeline::letter(order[i].kind);
    for (const std::int64_t number : {std::int64_t{order[i].stage}, std::int64_t{order[i].micro},
                                      spans[i].start, spans[i].end}) {
      json.value(number);
    }
  }
  json.end_array().field("kinds", kinds).end_object();
}

/// Simulates `schedule` with the recorded op times.
Result<ScheduleChart> chart_of(const pipeline::recorded::RecordedSchedule& recorded,
                               const pipeline::Schedule& schedule, std::string title) {
  ScheduleChart chart;
  WEFT_ASSIGN(chart.scheduled,
              pipeline::exports::scheduled_pipeline(recorded.pipeline, schedule, recorded.name));
  chart.scheduled.has_times = true;
  chart.title = std::move(title);
  for (const std::int32_t rank : recorded.ranks) chart.rows.push_back(fmt::format("rank {}", rank));
  return chart;
}

}  // namespace

std::vector<ScheduleChart> recorded_charts(const predict::Job& job) {
  std::vector<ScheduleChart> charts;
  const auto recorded = pipeline::recorded::recorded_schedule(job);
  if (!recorded) return charts;
  auto own = chart_of(*recorded, recorded->schedule, "as recorded, " + recorded->name);
  if (!own) return charts;
  charts.push_back(std::move(*own));
  pipeline::SolveOptions options;
  // The limit is a number of decisions of the solver and not a time, so that the same recording
  // gives the same page on every machine. 2000 decisions take a fraction of a second.
  options.decisions = 2000;
  const auto best = pipeline::solve(recorded->pipeline, options);
  if (!best || best->makespan >= charts.front().scheduled.timeline.makespan) return charts;
  auto other = chart_of(*recorded, best->schedule, "a shorter schedule in the same memory");
  if (other) charts.push_back(std::move(*other));
  return charts;
}

void write_charts(JsonWriter& json, const std::vector<ScheduleChart>& charts) {
  json.begin_array();
  for (const ScheduleChart& chart : charts) {
    const Scheduled& scheduled = chart.scheduled;
    json.begin_object().field("title", chart.title);
    json.field("in_nanos", scheduled.has_times).field("step", scheduled.timeline.makespan);
    json.field("idle", pipeline::idle_share(scheduled.timeline));
    json.field("microbatches", scheduled.pipeline.micro_batches).key("rows").begin_array();
    for (std::size_t i = 0; i < chart.rows.size(); ++i) {
      write_row(json, chart.rows[i], scheduled.schedule.orders[i], scheduled.timeline.ops[i]);
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace weft::report
