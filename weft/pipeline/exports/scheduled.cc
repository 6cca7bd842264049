// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/exports/scheduled.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft::pipeline::exports {
namespace {

/// Names a group of devices in a few characters: "3", "1,4", "0-7", "0,2.. (9)" for nine devices.
std::string short_list(const std::vector<std::int32_t>& devices) {
  const auto count = static_cast<std::int32_t>(devices.size());
  if (count > 2 && devices.back() - devices.front() == count - 1) {
    return fmt::format("{}-{}", devices.front(), devices.back());
  }
  if (count <= 3) return fmt::format("{}", fmt::join(devices, ","));
  return fmt::format("{},{}.. ({})", devices[0], devices[1], count);
}

}  // namespace

Result<Scheduled> scheduled_plan(const ReadPlan& plan) {
  const auto pipeline = pipeline_of(plan.task, plan.stages);
  auto simulated = pipeline ? scheduled_pipeline(*pipeline, plan.schedule, plan.schedule_name)
                            : tl::unexpected(pipeline.error());
  if (!simulated) {
    Error error = std::move(simulated.error());
    error.file = plan.file;
    return tl::unexpected(std::move(error));
  }
  Scheduled scheduled = std::move(*simulated);
  scheduled.name = plan.profile.name;
  scheduled.has_times = true;
  // Device g of the pipeline is group g of the plan.
  const std::vector<DeviceId> groups = groups_of(plan.stages);
  for (std::size_t s = 0; s < groups.size(); ++s) {
    scheduled.devices[groups[s]] = plan.stages[s].devices;
  }
  scheduled.stages = plan.stages;
  scheduled.layers = plan.profile.layers;
  return scheduled;
}

Result<Scheduled> scheduled_pipeline(const Pipeline& pipeline, const Schedule& schedule,
                                     std::string schedule_name) {
  Scheduled scheduled;
  scheduled.name = pipeline.name;
  scheduled.schedule_name = std::move(schedule_name);
  scheduled.pipeline = pipeline;
  scheduled.schedule = schedule;
  WEFT_ASSIGN(scheduled.timeline, simulate(pipeline, schedule));
  for (DeviceId device = 0; device < pipeline.devices(); ++device) {
    scheduled.devices.push_back({device});
  }
  return scheduled;
}

Drawn drawn(const Scheduled& scheduled) {
  Drawn drawn{scheduled.name + ", " + scheduled.schedule_name, &scheduled.pipeline,
              &scheduled.schedule, &scheduled.timeline};
  for (const auto& devices : scheduled.devices) drawn.rows.push_back(short_list(devices));
  drawn.in_nanos = scheduled.has_times;
  return drawn;
}

Result<EqualRanks> equal_ranks(const Scheduled& scheduled, const std::string& framework) {
  const auto& devices = scheduled.devices;
  EqualRanks ranks;
  ranks.replicas = static_cast<std::int32_t>(devices.front().size());
  for (const Stage& stage : scheduled.pipeline.stages) {
    const auto here = static_cast<std::int32_t>(devices[stage.device].size());
    if (here == ranks.replicas) continue;
    return fail(ErrorCode::kInfeasible,
                fmt::format("{} cannot express stages with {} and {} devices; weft.torch.pipeline "
                            "runs such a plan, or plan with --replicas 1",
                            framework, ranks.replicas, here));
  }
  ranks.of_rank.resize(devices.size());
  std::iota(ranks.of_rank.begin(), ranks.of_rank.end(), 0);
  // Sort by devices of the cluster. Groups are numbered by their first stages, which may give
  // another order.
  std::sort(ranks.of_rank.begin(), ranks.of_rank.end(),
            [&](DeviceId a, DeviceId b) { return devices[a] < devices[b]; });
  ranks.rank.resize(devices.size());
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    ranks.rank[ranks.of_rank[rank]] = static_cast<std::int32_t>(rank);
  }
  return ranks;
}

void note_ranks(const Scheduled& scheduled, const EqualRanks& ranks,
                std::vector<std::string>& notes) {
  bool plain = true;
  std::string list;
  for (std::size_t rank = 0; rank < ranks.of_rank.size(); ++rank) {
    const auto& devices = scheduled.devices[ranks.of_rank[rank]];
    plain &= devices.size() == 1 && devices.front() == static_cast<std::int32_t>(rank);
    list += fmt::format("{}{}", rank > 0 ? "; " : "", fmt::join(devices, ", "));
  }
  if (plain) return;
  notes.push_back(
      ranks.replicas == 1
          ? fmt::format("the ranks of the pipeline run on devices {}, in this order", list)
          : fmt::format("the pipeline runs as {} data-parallel replicas; its ranks run on "
                        "devices {}",
                        ranks.replicas, list));
}

void note_recomputation(const Scheduled& scheduled, std::vector<std::string>& notes) {
  std::vector<std::size_t> stages;
  for (std::size_t s = 0; s < scheduled.stages.size(); ++s) {
    if (scheduled.stages[s].recompute) stages.push_back(s);
  }
  if (stages.empty()) return;
  notes.push_back(fmt::format(
      "the plan recomputes the activations of stages {}; the exported file cannot say so, "
      "so wrap their modules in activation checkpointing",
      fmt::join(stages, ", ")));
}

}  // namespace weft::pipeline::exports
