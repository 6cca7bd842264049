// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/base/file.h"
#include "weft/pipeline/verify/bound.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {
namespace {

double ms(Nanos time) { return static_cast<double>(time) * 1e-6; }

Finding layers(const PlanData& plan) {
  std::vector<std::int32_t> stage_of(plan.layers.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].first == plan.stages[s].last) {
      return {"layers", false, fmt::format("stage {} has none", s)};
    }
    for (std::int32_t i = plan.stages[s].first; i < plan.stages[s].last; ++i) {
      stage_of[i] = static_cast<std::int32_t>(s);
    }
  }
  for (const auto& [from, to] : plan.edges) {
    if (from >= to) {
      return {"layers", false,
              fmt::format("'{}' comes before '{}', which it needs", plan.layers[to].id,
                          plan.layers[from].id)};
    }
  }
  if (plan.fixed_stages > 0 && static_cast<std::size_t>(plan.fixed_stages) != plan.stages.size()) {
    return {"layers", false, fmt::format("{} stages were asked for", plan.fixed_stages)};
  }
  return {"layers", true,
          fmt::format("{}, each in one of {} stages, none before what it needs", plan.layers.size(),
                      plan.stages.size())};
}

Finding devices(const PlanData& plan) {
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> owner(plan.devices, kNobody);
  std::vector<std::int32_t> chunks(plan.groups, 0);
  std::size_t count = 0;
  for (const StageData& stage : plan.stages) {
    if (stage.devices.empty()) return {"devices", false, "a stage has none"};
    if (plan.most_replicas > 0 &&
        stage.devices.size() > static_cast<std::size_t>(plan.most_replicas)) {
      return {"devices", false,
              fmt::format("a stage has {} replicas, and {} were asked for at most",
                          stage.devices.size(), plan.most_replicas)};
    }
    const bool is_new = chunks[stage.group]++ == 0;
    if (plan.most_chunks > 0 && chunks[stage.group] > plan.most_chunks) {
      return {"devices", false,
              fmt::format("device {} has more than the {} stages asked for", stage.devices.front(),
                          plan.most_chunks)};
    }
    for (const std::int32_t device : stage.devices) {
      if (!is_new) break;
      if (device >= plan.devices || owner[device] != kNobody) {
        return {"devices", false, fmt::format("device {} is used twice, or not there", device)};
      }
      owner[device] = stage.group;
      ++count;
    }
  }
  return {"devices", true, fmt::format("{} of {}, none twice", count, plan.devices)};
}

/// What people read must be what was checked.
Finding figures(const PlanData& plan) {
  for (const ToldFigure& figure : plan.told) {
    if (std::abs(figure.told - figure.is) > 1e-6 * std::max(1.0, std::abs(figure.is))) {
      return {
          "figures", false,
          fmt::format("{} is {:.6f}, and should be {:.6f}", figure.name, figure.told, figure.is)};
    }
  }
  return {"figures", true, "as the exact ones say"};
}

Finding memory(const PlanData& plan, const Replayed& replayed) {
  if (!plan.limit_memory) return {"memory", true, "not limited"};
  std::vector<Bytes> state(plan.groups, 0), again(plan.groups, 0);
  for (const StageData& stage : plan.stages) {
    Bytes stash = 0;
    for (std::int32_t i = stage.first; i < stage.last; ++i) {
      state[stage.group] += plan.state_factor * plan.layers[i].parameters;
      stash += plan.layers[i].stash;
    }
    // A forward that runs once more has all of one micro-batch there, one at a time.
    const auto replicas = static_cast<Bytes>(stage.devices.size());
    if (stage.recompute) {
      again[stage.group] = std::max(again[stage.group], (stash + replicas - 1) / replicas);
    }
  }
  double fullest = 0;
  for (const StageData& stage : plan.stages) {
    const Bytes held = state[stage.group] + again[stage.group] + replayed.most[stage.group];
    for (const std::int32_t device : stage.devices) {
      const Bytes limit = plan.memory[device];
      if (limit == 0) continue;
      if (held > limit) {
        return {"memory", false,
                fmt::format("device {} would hold {:.3f} GB of {:.3f}", device,
                            static_cast<double>(held) * 1e-9, static_cast<double>(limit) * 1e-9)};
      }
      fullest = std::max(fullest, static_cast<double>(held) / static_cast<double>(limit));
    }
  }
  return {"memory", true, fmt::format("the fullest device is {:.1f} % full", 100 * fullest)};
}

Finding bound(const PlanData& plan) {
  if (plan.bound > plan.step) return {"bound", false, "it is above the step"};
  const bool shares = plan.most_chunks != 1;
  if (shares) {
    const Nanos sure = bound_of_all(plan);
    if (plan.bound > sure) {
      return {"bound", false,
              fmt::format("{:.3f} ms are not proved, {:.3f} are", ms(plan.bound), ms(sure))};
    }
  }
  const Nanos claimed = shares ? plan.one_stage_bound : plan.bound;
  const BoundCheck check = check_bound(plan, claimed);
  switch (check.answer) {
    case BoundCheck::Answer::kHolds:
      if (shares) {
        return {"bound", true,
                fmt::format("no plan can take less than {:.3f} ms, none with one stage a device "
                            "less than {:.3f}",
                            ms(plan.bound), ms(claimed))};
      }
      return {"bound", true, fmt::format("no plan can take less than {:.3f} ms", ms(claimed))};
    case BoundCheck::Answer::kFails:
      return {"bound", false,
              fmt::format("{:.3f} ms are not proved, {:.3f} are", ms(claimed), ms(check.least))};
    case BoundCheck::Answer::kTooMany:
      break;
  }
  return {"bound", false,
          fmt::format("too many plans to go through; {:.3f} ms are certain, {:.3f} claimed",
                      ms(check.least), ms(claimed))};
}

}  // namespace

Result<std::vector<Finding>> verify_plan_text(std::string_view json, const std::string& file) {
  WEFT_ASSIGN(const PlanData plan, parse_plan(json, file));
  std::vector<Finding> findings{layers(plan), devices(plan)};
  if (!findings[0].right || !findings[1].right) return findings;
  const auto replayed = replay(plan);
  if (!replayed) {
    findings.push_back({"time", false, replayed.error().message});
    return findings;
  }
  const bool same = replayed->step == plan.step;
  findings.push_back({"time", same,
                      same ? fmt::format("a step takes {:.3f} ms", ms(plan.step))
                           : fmt::format("a step takes {:.6f} ms, not {:.6f}", ms(replayed->step),
                                         ms(plan.step))});
  findings.push_back(memory(plan, *replayed));
  findings.push_back(bound(plan));
  findings.push_back(figures(plan));
  return findings;
}

Result<std::vector<Finding>> verify_plan(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return verify_plan_text(text, path);
}

}  // namespace weft::pipeline::verify
