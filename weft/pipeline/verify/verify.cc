// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/base/counted.h"
#include "weft/base/file.h"
#include "weft/base/milliseconds.h"
#include "weft/pipeline/verify/bound.h"
#include "weft/pipeline/verify/figures.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {
namespace {

/// Checks that every layer is in one stage, and that it comes after the layers that it reads.
Finding layers(const PlanData& plan) {
  if (!plan.misplaced.empty()) return {"layers", false, plan.misplaced};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].first == plan.stages[s].last) {
      return {"layers", false, fmt::format("stage {} has no layers", s)};
    }
  }
  for (const auto& [from, to] : plan.edges) {
    if (from >= to) {
      return {"layers", false,
              fmt::format("'{}' is before '{}', whose output it needs", plan.layers[to].id,
                          plan.layers[from].id)};
    }
  }
  if (plan.fixed_stages > 0 && static_cast<std::size_t>(plan.fixed_stages) != plan.stages.size()) {
    return {
        "layers", false,
        fmt::format("the plan has {}, but {} asked for", counted(plan.stages.size(), "stage"),
                    plan.fixed_stages == 1 ? "1 was" : fmt::format("{} were", plan.fixed_stages))};
  }
  return {"layers", true,
          fmt::format("{} in {}, each layer once, in a valid order",
                      counted(plan.layers.size(), "layer"), counted(plan.stages.size(), "stage"))};
}

/// Checks that every stage has devices, that the requested limits hold, and that groups have no
/// device in common.
Finding devices(const PlanData& plan) {
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> owner(plan.devices, kNobody);
  std::vector<std::int32_t> chunks(plan.groups, 0);
  std::size_t count = 0;
  for (const StageData& stage : plan.stages) {
    if (stage.devices.empty()) return {"devices", false, "a stage has no devices"};
    if (plan.most_replicas > 0 &&
        stage.devices.size() > static_cast<std::size_t>(plan.most_replicas)) {
      return {"devices", false,
              fmt::format("a stage has {}, but at most {} were asked for",
                          counted(stage.devices.size(), "replica"), plan.most_replicas)};
    }
    const bool is_new = chunks[stage.group]++ == 0;
    if (plan.most_chunks > 0 && chunks[stage.group] > plan.most_chunks) {
      return {"devices", false,
              fmt::format("device {} has more than the {} that it may have", stage.devices.front(),
                          counted(plan.most_chunks, "stage"))};
    }
    for (const std::int32_t device : stage.devices) {
      if (!is_new) break;
      if (device >= plan.devices || owner[device] != kNobody) {
        return {"devices", false,
                fmt::format("device {} is in two groups or does not exist", device)};
      }
      owner[device] = stage.group;
      ++count;
    }
  }
  return {"devices", true,
          fmt::format("{} of {} are used, none of them twice", count, plan.devices)};
}

/// Checks that the figures for people follow from the exact values.
Finding figures(const PlanData& plan, const std::vector<Bytes>& held) {
  std::string wrong = wrong_figure(plan, held);
  if (wrong.empty()) wrong = wrong_schedule(plan);
  if (!wrong.empty()) return {"figures", false, std::move(wrong)};
  return {"figures", true, "they follow from the exact values"};
}

/// Some values affect no other finding, such as the bandwidth of a link that the plan does not use.
/// Only the checksum shows whether they were changed.
Finding checksum(const PlanData& plan) {
  switch (plan.checksum) {
    case Checksum::kRight:
      return {"file", true, "the file is as it was written"};
    case Checksum::kWrong:
      return {"file", false, "the file was changed after it was written"};
    case Checksum::kNone:
      break;
  }
  return {"file", true,
          "it has no checksum, so unused links and 'no_shorter_one_stage_plan' cannot be checked"};
}

/// Checks that no device holds more than its limit.
Finding memory(const PlanData& plan, const std::vector<Bytes>& held) {
  if (!plan.limit_memory) return {"memory", true, "not limited"};
  double fullest = 0;
  for (const StageData& stage : plan.stages) {
    const Bytes all = held[stage.group];
    for (const std::int32_t device : stage.devices) {
      const Bytes limit = plan.memory[device];
      if (limit == 0) continue;
      if (all > limit) {
        return {"memory", false,
                fmt::format("device {} would hold {} bytes ({:.3f} GB) but has only {}", device,
                            all, static_cast<double>(all) * 1e-9, limit)};
      }
      fullest = std::max(fullest, static_cast<double>(all) / static_cast<double>(limit));
    }
  }
  return {"memory", true, fmt::format("the fullest device is {:.1f} % full", 100 * fullest)};
}

/// Prints to the nanosecond, so that bounds that differ also look different.
Finding unproved(Nanos claimed, Nanos sure) {
  return {"bound", false,
          fmt::format("{:.6f} ms is not proved, only {:.6f} is", milliseconds(claimed),
                      milliseconds(sure))};
}

/// Says for which plans the bound holds: "8 micro-batches, at most 1 stage per device". A plan with
/// other choices may be shorter.
std::string bounded_plans(const PlanData& plan) {
  std::string text = counted(plan.micro_batches, "micro-batch");
  if (plan.fixed_stages > 0) text += ", exactly " + counted(plan.fixed_stages, "stage");
  if (plan.most_chunks > 0)
    text += ", at most " + counted(plan.most_chunks, "stage") + " per device";
  if (plan.most_replicas > 0) {
    text += ", at most " + counted(plan.most_replicas, "replica") + " per stage";
  }
  return plan.limit_memory ? text + ", within the memory of the devices" : text;
}

/// Checks that the bounds in the file are not above what can be proved.
Finding bound(const PlanData& plan) {
  if (plan.bound > plan.step) return {"bound", false, "the bound is above the step"};
  const bool shares = plan.most_chunks != 1;
  if (!shares && plan.one_stage_bound != plan.bound) {
    return {"bound", false, "no stages may share devices, so one_stage_bound must equal the bound"};
  }
  if (shares) {
    const Nanos sure = bound_of_all(plan);
    if (plan.bound > sure) return unproved(plan.bound, sure);
  }
  const BoundCheck check = check_bound(plan, plan.one_stage_bound);
  switch (check.answer) {
    case BoundCheck::Answer::kHolds:
      return {"bound", true,
              fmt::format("of all plans with {}, none can take less than {:.3f} ms{}",
                          bounded_plans(plan), milliseconds(plan.bound),
                          shares ? fmt::format(", and none with one stage per device less than "
                                               "{:.3f} ms",
                                               milliseconds(plan.one_stage_bound))
                                 : "")};
    case BoundCheck::Answer::kFails:
      return unproved(plan.one_stage_bound, check.least);
    case BoundCheck::Answer::kTooMany:
      break;
  }
  return {"bound", false,
          fmt::format("there are too many plans to check; {:.6f} ms is proved, {:.6f} ms claimed",
                      milliseconds(check.least), milliseconds(plan.one_stage_bound))};
}

}  // namespace

Result<std::vector<Finding>> verify_plan_text(std::string_view json, const std::string& file) {
  WEFT_ASSIGN(const PlanData plan, parse_plan(json, file));
  std::vector<Finding> findings{layers(plan), devices(plan)};
  // Without valid stages there is nothing to time.
  if (!findings[0].right || !findings[1].right) return findings;
  const auto replayed = replay(plan);
  if (!replayed) {
    findings.push_back({"time", false, replayed.error().message});
    return findings;
  }
  const bool same = replayed->step == plan.step;
  findings.push_back({"time", same,
                      same ? fmt::format("a step takes {:.3f} ms", milliseconds(plan.step))
                           : fmt::format("a step takes {:.6f} ms, not {:.6f}",
                                         milliseconds(replayed->step), milliseconds(plan.step))});
  const std::vector<Bytes> held = held_by_groups(plan, *replayed);
  findings.push_back(memory(plan, held));
  findings.push_back(bound(plan));
  findings.push_back(figures(plan, held));
  findings.push_back(checksum(plan));
  return findings;
}

Result<std::vector<Finding>> verify_plan(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return verify_plan_text(text, path);
}

}  // namespace weft::pipeline::verify
