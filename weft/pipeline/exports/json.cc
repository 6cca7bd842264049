// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/exports/json.h"

#include "weft/base/json/writer.h"

namespace weft::pipeline::exports {
namespace {

/// Layers and recomputation are only known for plans, not for instances.
void write_stages(JsonWriter& json, const Scheduled& scheduled) {
  json.key("stages").begin_array();
  for (std::size_t s = 0; s < scheduled.pipeline.stages.size(); ++s) {
    json.begin_object().field("group", scheduled.pipeline.stages[s].device);
    if (!scheduled.stages.empty()) {
      const PlannedStage& stage = scheduled.stages[s];
      json.key("layers").begin_array();
      for (std::int32_t i = stage.first; i < stage.last; ++i) json.value(scheduled.layers[i].id);
      json.end_array().field("recompute", stage.recompute);
    }
    json.end_object();
  }
  json.end_array();
}

void write_groups(JsonWriter& json, const Scheduled& scheduled) {
  json.key("groups").begin_array();
  for (std::size_t g = 0; g < scheduled.devices.size(); ++g) {
    json.begin_object().key("devices").begin_array();
    for (const std::int32_t device : scheduled.devices[g]) json.value(device);
    json.end_array().key("ops").begin_array();
    for (std::size_t i = 0; i < scheduled.schedule.orders[g].size(); ++i) {
      const Op& op = scheduled.schedule.orders[g][i];
      const Span& span = scheduled.timeline.ops[g][i];
      json.begin_object().field("stage", op.stage).field("kind", std::string(1, letter(op.kind)));
      json.field("microbatch", op.micro).field("start", span.start).field("end", span.end);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

/// `end` is the arrival, for which the receiver waits. It is not the time when the links are free.
void write_transfers(JsonWriter& json, const Timeline& timeline) {
  json.key("transfers").begin_array();
  for (const Sent& sent : timeline.transfers) {
    const auto from = sent.is_backward ? sent.boundary + 1 : sent.boundary;
    json.begin_object().field("from_stage", from);
    json.field("to_stage", sent.is_backward ? from - 1 : from + 1).field("microbatch", sent.micro);
    json.field("start", sent.span.start).field("end", sent.arrival).end_object();
  }
  json.end_array();
}

}  // namespace

Exported json_schedule(const Scheduled& scheduled) {
  JsonWriter json;
  json.begin_object().field("pipeline_schedule_version", 1).field("name", scheduled.name);
  json.field("schedule", scheduled.schedule_name);
  json.field("microbatches", scheduled.pipeline.micro_batches);
  const int decimals = scheduled.pipeline.decimals;
  // Times of instances have no unit; the reader of the file multiplied them by a power of ten.
  const std::string unit = decimals > 0 ? "1e-" + std::to_string(decimals) : std::string();
  json.field("unit", scheduled.has_times ? "ns" : unit).field("step", scheduled.timeline.makespan);
  write_stages(json, scheduled);
  write_groups(json, scheduled);
  write_transfers(json, scheduled.timeline);
  return {json.end_object().take() + "\n", {}};
}

}  // namespace weft::pipeline::exports
