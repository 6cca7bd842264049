// SPDX-License-Identifier: Apache-2.0
// Measures the quality of plans under tight memory limits: from the least memory into which some
// plan with one stage per device fits, up to twice as much. Each plan is compared with the plans of
// all rivals, with plans made for a single schedule, and with a plan made with far more effort.
//   pipeline_tight [tasks=N] [only=TEXT] [list=FILE]
// only=TEXT takes the inputs whose names contain TEXT. list=FILE writes one line per input. Bar: no
// plan has a longer step than the plan of a rival or a plan made for a single schedule. Times are
// processor times. Exit status: 0 if the bar holds, else 1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/plan/random_task.h"
#include "weft/pipeline/rivals/rivals.h"

namespace {

using namespace weft::pipeline;
using weft::Bytes;
using weft::Nanos;

/// The memory of the devices, as multiples of the least memory into which a plan fits.
constexpr double kSlacks[] = {1.0, 1.05, 1.15, 1.3, 1.6, 2.0};
constexpr std::int64_t kManyOps = 40'000'000;  ///< simulated ops of the plan made with more effort

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// Random layers on 8 or 16 devices with equal or unequal links, speeds and memories.
Task random_tight_task(std::mt19937& random) {
  const std::int32_t devices = number_in(random, 0, 2) == 0 ? 8 : 16;
  Profile profile =
      random_layers(random, devices * static_cast<std::int32_t>(number_in(random, 1, 4)));
  const std::int64_t stash = number_in(random, 1, 12);
  const bool weights = number_in(random, 0, 1) == 0;
  for (Layer& layer : profile.layers) {
    layer.stash = layer.activation * number_in(random, 1, stash);
    if (weights) layer.weight = layer.backward * number_in(random, 20, 60) / 100;
  }
  Task task;
  task.chain = layer_chain(profile);
  const std::int64_t kind = number_in(random, 0, 2);
  task.cluster = kind == 0 ? uniform_cluster(devices, 25'000'000'000)
                           : random_cluster(random, devices, kind == 2);
  const bool unequal = number_in(random, 0, 2) == 0;
  for (Bytes& memory : task.cluster.memory) memory = unequal ? number_in(random, 5, 10) : 10;
  task.micro_batches = static_cast<Micro>(4 << number_in(random, 0, 3));
  task.limit_memory = true;
  return task;
}

/// The task with its relative memory sizes multiplied by `unit` bytes.
Task with_memory(const Task& task, double unit) {
  Task scaled = task;
  for (Bytes& memory : scaled.cluster.memory) {
    memory = static_cast<Bytes>(std::ceil(static_cast<double>(memory) * unit));
  }
  return scaled;
}

/// The least unit of memory for which a plan is found, to within a thousandth. Bisects on a
/// logarithmic scale.
double least_unit(const Task& task) {
  double low = 0, high = 1e12;
  while (high > low * 1.001 + 1) {
    const double middle = low > 0 ? std::sqrt(low * high) : high / 1024;
    const bool fits = fit_stages(with_memory(task, middle), {}).answer == Fit::kFound;
    (fits ? high : low) = middle;
  }
  return high;
}

/// The best of the plans to compare with, and where it comes from.
struct Found {
  Nanos step = kNoStep;
  std::string name;
  void take(const weft::Result<Evaluated>& plan, const std::string& by) {
    if (plan && plan->step < step) *this = {plan->step, by};
  }
};

weft::Result<Evaluated> planned(const Task& task, const PlannerOptions& options) {
  WEFT_ASSIGN(Planned plan, make_plan(task, options));
  return std::move(plan.plan);
}

/// Statistics for one memory limit. Two ratios are collected: the planned step divided by the best
/// step of rivals and single schedules, and divided by the best step found with more effort. For
/// each ratio there is a sum of logarithms (for the geometric mean) and a maximum. There are also
/// sums of gaps to bounds.
struct Row {
  double logs = 0, most = 1, more_logs = 0, most_more = 1, gaps = 0, one_stage_gaps = 0;
  double longest_ms = 0;
  int plans = 0, none = 0, worse = 0;
};

void compare(const Task& task, const std::string& name, Row& row, std::FILE* list) {
  const double begin = now_ms();
  const auto plan = make_plan(task, {});
  const double took = now_ms() - begin;
  row.longest_ms = std::max(row.longest_ms, took);
  Found other, more;
  for (const std::string& rival : rivals()) other.take(rival_plan(task, rival), rival);
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "interleaved"}) {
    PlannerOptions options;
    options.schedules = {schedule};
    other.take(planned(task, options), std::string("planned for ") + schedule);
  }
  PlannerOptions options;
  options.ops = kManyOps;
  more = other;
  more.take(planned(task, options), "more effort");
  const Nanos step = plan ? plan->plan.step : kNoStep;
  if (other.step < step) ++row.worse;
  if (!plan) {
    if (more.step < kNoStep) ++row.none;
  } else {
    const auto over = [&](const Found& found) {
      return static_cast<double>(step) / static_cast<double>(std::min(found.step, step));
    };
    ++row.plans;
    row.logs += std::log(over(other));
    row.more_logs += std::log(over(more));
    row.most = std::max(row.most, over(other));
    row.most_more = std::max(row.most_more, over(more));
    const auto gap = [&](Nanos bound) {
      return static_cast<double>(step - bound) / static_cast<double>(step);
    };
    row.gaps += gap(plan->bound);
    row.one_stage_gaps += gap(std::min(plan->one_stage_bound, step));
  }
  if (list) {
    std::fprintf(list, "%s\t%.1f\t%lld\t%lld\t%s\t%lld\t%s\t%lld\n", name.c_str(), took,
                 static_cast<long long>(step), static_cast<long long>(other.step),
                 other.name.c_str(), static_cast<long long>(more.step),
                 plan ? plan->plan.schedule.c_str() : "none",
                 static_cast<long long>(plan ? plan->one_stage_bound : 0));
    std::fflush(list);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 24;
  std::FILE* list = nullptr;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("tasks=")) tasks = std::atoi(argument.c_str() + 6);
    if (argument.starts_with("only=")) only = argument.substr(5);
    if (argument.starts_with("list=")) list = std::fopen(argument.c_str() + 5, "w");
  }
  Row rows[std::size(kSlacks)];
  std::mt19937 random(17);
  for (int t = 0; t < tasks; ++t) {
    const Task task = random_tight_task(random);
    double unit = 0;
    for (std::size_t i = 0; i < std::size(kSlacks); ++i) {
      char name[128];
      std::snprintf(name, sizeof name, "%d: %d layers, %d devices, %d micro-batches, slack %.2f", t,
                    task.chain.size(), task.cluster.devices, task.micro_batches, kSlacks[i]);
      if (std::string(name).find(only) == std::string::npos) continue;
      if (unit == 0) unit = least_unit(task);
      compare(with_memory(task, unit * kSlacks[i]), name, rows[i], list);
    }
  }
  std::printf(
      "%d tasks; ratio of the planned step to the best of rivals and single schedules, and to the "
      "best found with more effort; gaps to bounds\n",
      tasks);
  std::printf(
      "slack  plans  none  worse   mean    most  | effort: mean  most  | gap  one stage  "
      "longest ms\n");
  bool held = true;
  for (std::size_t i = 0; i < std::size(kSlacks); ++i) {
    const Row& row = rows[i];
    const double count = std::max(row.plans, 1);
    std::printf(
        "%5.2f  %5d %5d  %5d  %5.3f  %6.3f  | %12.3f %5.2f  | %3.0f %%  %6.1f %%  %9.0f%s\n",
        kSlacks[i], row.plans, row.none, row.worse, std::exp(row.logs / count), row.most,
        std::exp(row.more_logs / count), row.most_more, 100 * row.gaps / count,
        100 * row.one_stage_gaps / count, row.longest_ms, row.worse > 0 ? "   MISSED" : "");
    held &= row.worse == 0;
  }
  if (list) std::fclose(list);
  return held ? 0 : 1;
}
