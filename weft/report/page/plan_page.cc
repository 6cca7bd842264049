// SPDX-License-Identifier: Apache-2.0
// Reads each plan, simulates the schedule of the plan, and writes the plan and the schedule as
// JSON. web/plan_page.ts shows the result. Its interfaces PlanPage, Plan and Stage declare the
// members.
#include "weft/report/page/plan_page.h"

#include <fmt/format.h>

#include "weft/base/json/writer.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/report/page/html.h"
#include "weft/report/page/schedule_chart.h"

namespace weft::report {
namespace {

using pipeline::PlannedStage;
using pipeline::ReadPlan;
using pipeline::exports::Scheduled;

/// Writes one object per stage; `Stage` of web/plan_page.ts declares its members. Times are for one
/// micro-batch.
void write_stages(JsonWriter& json, const ReadPlan& plan, const Scheduled& scheduled) {
  json.key("stages").begin_array();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const PlannedStage& planned = plan.stages[s];
    const pipeline::Stage& stage = scheduled.pipeline.stages[s];
    json.begin_object().field("layers", planned.last - planned.first);
    json.field("first", plan.profile.layers[planned.first].id);
    json.field("last", plan.profile.layers[planned.last - 1].id);
    json.key("devices").begin_array();
    for (const std::int32_t device : planned.devices) json.value(device);
    json.end_array().field("recompute", planned.recompute).field("forward", stage.forward);
    // A schedule may split the backward into two ops: one for the gradients of the input, one for
    // the gradients of the weights. The table of stages shows the sum of their times.
    json.field("backward", stage.input + stage.weight).field("all_reduce", stage.all_reduce);
    const bool last = s + 1 == plan.stages.size();
    json.field("sends", last ? Bytes{0} : plan.task.chain.cut[planned.last]).end_object();
  }
  json.end_array();
}

void write_plan_command(JsonWriter& json, const std::string& command, const char* what) {
  json.begin_object().field("command", command).field("what", what).end_object();
}

}  // namespace

Result<std::string> make_plan_page(const std::vector<std::string>& files,
                                   const std::string& version) {
  std::vector<ScheduleChart> charts;
  std::string inputs;
  JsonWriter json;
  json.begin_object().field("version", version).key("plans").begin_array();
  for (const std::string& file : files) {
    WEFT_ASSIGN(const ReadPlan plan, pipeline::read_plan(file));
    WEFT_ASSIGN(Scheduled scheduled, pipeline::exports::scheduled_plan(plan));
    json.begin_object().field("file", file).field("profile", plan.profile.name);
    json.field("cluster", plan.task.cluster.name).field("layers", plan.profile.layers.size());
    json.field("devices", plan.task.cluster.devices);
    json.field("microbatches", plan.task.micro_batches).field("schedule", plan.schedule_name);
    json.field("step", scheduled.timeline.makespan).field("bound", plan.bound);
    json.field("one_stage_per_device", plan.most_chunks == 1);
    write_stages(json, plan, scheduled);
    json.end_object();
    ScheduleChart chart;
    chart.title = file + ", " + plan.schedule_name;
    chart.scheduled = std::move(scheduled);
    chart.rows = pipeline::exports::drawn(chart.scheduled).rows;
    for (std::string& row : chart.rows) row = "device " + row;
    charts.push_back(std::move(chart));
    inputs += " " + diagnose::shell_word(file);
  }
  json.end_array().key("charts");
  write_charts(json, charts);
  json.key("commands").begin_array();
  const std::string first = diagnose::shell_word(files.front());
  write_plan_command(json, "weft verify " + first,
                     "checks stages, time, memory and lower bound with independent code");
  write_plan_command(json, "weft pipeline export " + first + " --to torch-csv -o schedule.csv",
                     "the schedule for torch.distributed.pipelining");
  write_plan_command(json, "weft pipeline gantt" + inputs, "the schedule in a terminal");
  write_plan_command(json, "weft report" + inputs + " -o plan.html", "this page");
  json.end_array().end_object();
  return render_page({"Weft plan: " + files.front(), "", json.take(), PageKind::kPlan});
}

}  // namespace weft::report
