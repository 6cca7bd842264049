// SPDX-License-Identifier: Apache-2.0
// Writes plan files. Figures for people, in milliseconds, come first. Then come the exact integers
// that the checker uses. Layers and cluster are written as planned, so that the file can be checked
// without the profile and the cluster file that the plan was made from.
#include "weft/pipeline/plan/plan_file.h"

#include "weft/base/check.h"
#include "weft/base/json/checksum.h"
#include "weft/base/json/writer.h"

namespace weft::pipeline {
namespace {

double ms(Nanos time) { return static_cast<double>(time) * 1e-6; }

void write_numbers(JsonWriter& json, const char* name, const auto& numbers) {
  json.key(name).begin_array();
  for (const auto number : numbers) json.value(number);
  json.end_array();
}

void write_matrix(JsonWriter& json, const char* name, const std::vector<std::int64_t>& matrix,
                  std::int32_t side) {
  json.key(name).begin_array();
  for (std::int32_t i = 0; i < side; ++i) {
    json.begin_array();
    for (std::int32_t j = 0; j < side; ++j) {
      json.value(matrix[static_cast<std::size_t>(i) * side + j]);
    }
    json.end_array();
  }
  json.end_array();
}

/// Writes the layers in the order of the plan, with exact times in nanoseconds.
void write_layers(JsonWriter& json, const Profile& profile, const LayerChain& chain) {
  json.key("layers").begin_array();
  for (const std::int32_t number : chain.order) {
    const Layer& layer = profile.layers[number];
    json.begin_object().field("id", layer.id);
    json.field("forward_ns", layer.forward).field("backward_ns", layer.backward);
    json.field("weight_ns", layer.weight).field("activation_bytes", layer.activation);
    json.field("parameter_bytes", layer.parameters).field("stash_bytes", layer.stash);
    json.end_object();
  }
  json.end_array().key("edges").begin_array();
  for (const LayerEdge& edge : profile.edges) {
    json.begin_array().value(profile.layers[edge.from].id).value(profile.layers[edge.to].id);
    json.end_array();
  }
  json.end_array();
}

void write_cluster(JsonWriter& json, const Cluster& cluster) {
  json.key("cluster").begin_object().field("name", cluster.name);
  json.field("devices", cluster.devices);
  write_matrix(json, "bandwidth", cluster.bandwidth, cluster.devices);
  write_matrix(json, "latency_ns", cluster.latency, cluster.devices);
  write_numbers(json, "speed", cluster.speed);
  write_numbers(json, "memory_bytes", cluster.memory);
  json.key("shared_links").begin_array();
  for (const SharedLink& link : cluster.shared) {
    json.begin_object().key("between").begin_array();
    for (const auto* side : {&link.one, &link.other}) {
      json.begin_array();
      for (const std::int32_t device : *side) json.value(device);
      json.end_array();
    }
    json.end_array().field("bytes_per_s", link.bandwidth).end_object();
  }
  json.end_array().end_object();
}

/// The checksum of everything written so far. Names are left out, because users may edit them.
std::string checksum_so_far(JsonWriter json) {  // a copy, which can be closed and parsed
  static constexpr std::string_view kLeftOut[] = {"checksum", "name", "profile"};
  const auto values = parse_json(json.end_object().take(), "plan");
  WEFT_CHECK(values);
  return json_checksum(*values, kLeftOut);
}

}  // namespace

void write_answer(JsonWriter& json, const Profile& profile, const Task& task,
                  const Planned& planned, const Pipeline& pipeline, const Timeline& timeline) {
  const Evaluated& plan = planned.plan;
  json.field("profile", profile.name).field("microbatches", task.micro_batches);
  json.field("step_ms", ms(plan.step)).field("lower_bound_ms", ms(planned.bound));
  json.field("one_stage_bound_ms", ms(planned.one_stage_bound));
  const double gap = plan.step > 0 ? 100.0 * static_cast<double>(plan.step - planned.bound) /
                                         static_cast<double>(plan.step)
                                   : 0.0;
  json.field("gap_pct", gap).field("no_shorter_one_stage_plan", planned.exhausted);
  json.field("schedule", plan.schedule);
  // Peaks of the timeline count micro-batches only; what a device holds all the time is added.
  const std::vector<Bytes> always = static_memory(task, plan.stages);
  json.key("stages").begin_array();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const PlannedStage& stage = plan.stages[s];
    json.begin_object().key("layers").begin_array();
    for (std::int32_t i = stage.first; i < stage.last; ++i) {
      json.value(profile.layers[task.chain.order[i]].id);
    }
    json.end_array();
    write_numbers(json, "devices", stage.devices);
    json.field("recompute", stage.recompute).field("forward_ms", ms(pipeline.stages[s].forward));
    json.field("backward_ms", ms(pipeline.stages[s].input + pipeline.stages[s].weight));
    json.field("all_reduce_ms", ms(pipeline.stages[s].all_reduce));
    json.field("sends_bytes", s + 1 < plan.stages.size() ? task.chain.cut[stage.last] : Bytes{0});
    if (task.limit_memory) {
      const DeviceId group = pipeline.stages[s].device;
      json.field("memory_bytes", always[group] + timeline.peaks[group]);
    }
    json.end_object();
  }
  json.end_array();
}

std::string plan_file(const Profile& profile, const Task& task, const Planned& planned,
                      const Pipeline& pipeline, const Schedule& schedule,
                      const Timeline& timeline) {
  JsonWriter json;
  json.begin_object().field("pipeline_plan_version", 1);
  write_answer(json, profile, task, planned, pipeline, timeline);
  // The checker works with these integers; the milliseconds above are for readers.
  json.field("step_ns", planned.plan.step).field("lower_bound_ns", planned.bound);
  json.field("one_stage_bound_ns", planned.one_stage_bound);
  json.field("limit_memory", task.limit_memory).field("state_factor", task.state_factor);
  json.field("fixed_stages", planned.fixed_stages).field("most_replicas", planned.most_replicas);
  json.field("most_chunks", planned.most_chunks);
  json.key("orders").begin_array();
  for (const auto& order : schedule.orders) {
    std::string line;
    for (const Op& op : order) line += (line.empty() ? "" : " ") + print(op);
    json.value(line);
  }
  json.end_array();
  write_layers(json, profile, task.chain);
  write_cluster(json, task.cluster);
  json.field("checksum", checksum_so_far(json));
  return json.end_object().take() + "\n";
}

}  // namespace weft::pipeline
