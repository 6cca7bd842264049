// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "weft/base/milliseconds.h"

namespace weft::pipeline::verify {
namespace {

/// Whether two numbers are equal. The last digit may differ, because another program may have
/// changed it when it rewrote the JSON. A difference of one nanosecond is larger.
bool same(double figures, double is) { return std::abs(figures - is) <= 1e-14 * std::abs(is); }

std::string wrong_of_stage(const PlanData& plan, std::size_t s, const StageTimes& times,
                           Bytes sends, Bytes held) {
  // memory_bytes may be missing if memory is not limited.
  const StageFigures& figures = plan.stages[s].figures;
  const std::tuple<const char*, double, Nanos> all[] = {
      {"forward_ms", figures.forward_ms, times.forward},
      {"backward_ms", figures.backward_ms, times.input + times.weight},
      {"all_reduce_ms", figures.all_reduce_ms, times.reduce}};
  for (const auto& [name, says, is] : all) {
    if (!same(says, milliseconds(is))) {
      return fmt::format("{} of stage {} is {}, but should be {}", name, s, says, milliseconds(is));
    }
  }
  if (figures.sends != sends) {
    return fmt::format("sends_bytes of stage {} is {}, but should be {}", s, figures.sends, sends);
  }
  if (!figures.memory && plan.limit_memory) return fmt::format("stage {} has no memory_bytes", s);
  if (figures.memory && *figures.memory != held) {
    return fmt::format("memory_bytes of stage {} is {}, but should be {}", s, *figures.memory,
                       held);
  }
  return {};
}

/// How many forwards stage `s` runs at most before it alternates. `depth`: forwards per later
/// stage.
std::int64_t warm_up(const PlanData& plan, std::size_t s, std::int64_t depth) {
  const auto behind = static_cast<std::int64_t>(plan.stages.size() - 1 - s);
  return std::min<std::int64_t>(1 + depth * behind, plan.micro_batches);
}

/// Whether an order runs `warm` forwards, then alternates between a backward and a forward, with
/// micro-batches in order.
bool alternates(const std::vector<OpData>& order, std::int64_t warm, std::int64_t micros) {
  std::int64_t forwards = 0, backwards = 0;
  for (const OpData& op : order) {
    const bool forward = forwards < micros && forwards - backwards < warm;
    const std::int64_t due = forward ? forwards++ : backwards++;
    if (op.kind != (forward ? 'F' : 'B') || op.micro != due) return false;
  }
  return true;
}

std::int64_t forwards_first(const std::vector<OpData>& order) {
  const auto other =
      std::find_if(order.begin(), order.end(), [](const OpData& op) { return op.kind != 'F'; });
  return other - order.begin();
}

bool is_gpipe(const std::vector<OpData>& order) {
  return std::none_of(order.begin() + forwards_first(order), order.end(),
                      [](const OpData& op) { return op.kind == 'F'; });
}

/// Whether all orders have the shape of 1F1B with `depth` forwards per later stage. With memory
/// limits, a device that cannot keep that many micro-batches may start with fewer.
bool is_warmed_up(const PlanData& plan, std::int64_t depth) {
  // These schedules have one stage per device.
  if (plan.groups != plan.stages.size()) return false;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<OpData>& order = plan.orders[s];
    const std::int64_t most = warm_up(plan, s, depth), warm = forwards_first(order);
    if (warm < 1 || warm > most || (warm < most && !plan.limit_memory)) return false;
    if (!alternates(order, warm, plan.micro_batches)) return false;
  }
  return true;
}

}  // namespace

std::vector<Bytes> held_by_groups(const PlanData& plan, const Replayed& replayed) {
  std::vector<Bytes> held = replayed.most, again(plan.groups, 0);
  for (const StageData& stage : plan.stages) {
    Bytes stash = 0;
    for (std::int32_t i = stage.first; i < stage.last; ++i) {
      held[stage.group] += plan.state_factor * plan.layers[i].parameters;
      stash += plan.layers[i].stash;
    }
    // During recomputation a device holds all activations of one micro-batch, of one stage at a
    // time.
    const auto replicas = static_cast<Bytes>(stage.devices.size());
    if (stage.recompute) {
      again[stage.group] = std::max(again[stage.group], (stash + replicas - 1) / replicas);
    }
  }
  for (std::size_t g = 0; g < held.size(); ++g) held[g] += again[g];
  return held;
}

std::string wrong_figure(const PlanData& plan, const std::vector<Bytes>& held) {
  const PlanFigures& figures = plan.figures;
  const double gap = plan.step > 0 ? 100 * static_cast<double>(plan.step - plan.bound) /
                                         static_cast<double>(plan.step)
                                   : 0;
  const std::tuple<const char*, double, double> all[] = {
      {"step_ms", figures.step_ms, milliseconds(plan.step)},
      {"lower_bound_ms", figures.bound_ms, milliseconds(plan.bound)},
      {"one_stage_bound_ms", figures.one_stage_bound_ms, milliseconds(plan.one_stage_bound)},
      {"gap_pct", figures.gap_pct, gap}};
  for (const auto& [name, says, is] : all) {
    if (!same(says, is)) return fmt::format("{} is {}, but should be {}", name, says, is);
  }
  const std::vector<Bytes> cuts = plan.cuts();
  const std::vector<StageTimes> times = stage_times(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const bool last = s + 1 == plan.stages.size();
    std::string wrong = wrong_of_stage(plan, s, times[s], last ? 0 : cuts[plan.stages[s].last],
                                       held[plan.stages[s].group]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string wrong_schedule(const PlanData& plan) {
  // SPP's order of execution (pe) starts like 1F1B with four forwards per later stage.
  static constexpr std::pair<std::string_view, std::int64_t> kDepths[] = {
      {"1f1b", 1}, {"1f1b-2", 2}, {"pe", 4}};
  static constexpr std::string_view kFree[] = {
      "interleaved", "v", "list", "eager", "searched", "zb-h1", "zb-v", "zb-auto", "dualpipe-v"};
  const std::string& name = plan.figures.schedule;
  bool fits = std::find(std::begin(kFree), std::end(kFree), name) != std::end(kFree);
  if (name == "gpipe") fits = std::all_of(plan.orders.begin(), plan.orders.end(), is_gpipe);
  for (const auto& [known, depth] : kDepths) {
    if (name == known) fits = is_warmed_up(plan, depth);
  }
  return fits ? "" : fmt::format("the orders are not those of schedule '{}'", name);
}

}  // namespace weft::pipeline::verify
