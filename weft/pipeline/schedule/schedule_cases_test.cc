// SPDX-License-Identifier: Apache-2.0
// Runs the golden cases in tests/cases/pipeline_schedules. The input of a case is one pipeline, in
// the JSON form of instance files (docs/formats/pipeline.md), and the name of a schedule. The name
// is one that plan_schedule() knows; "searched" is the best schedule that solve() finds. The output
// is the order of ops on each device, the most activations that it keeps at once, and a drawing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weft/base/golden_cases.h"
#include "weft/pipeline/plan/evaluate.h"
#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/schedule/gantt.h"
#include "weft/pipeline/schedule/instances.h"
#include "weft/pipeline/schedule/solve.h"

namespace weft::pipeline {
namespace {

const std::string kScheduleCases = std::string(WEFT_SOURCE_DIR) + "/tests/cases/pipeline_schedules";

/// The most columns of a drawing, without the numbers of the devices. A drawing has more columns if
/// the step has more units of time.
constexpr Nanos kDrawnColumns = 80;

struct ScheduledCase {
  std::string name;
  Schedule schedule;
  Nanos bound = 0;
};

Result<ScheduledCase> schedule_case(const Pipeline& pipeline, std::string name) {
  WEFT_TRY(check(pipeline));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (name == "searched") {
    WEFT_ASSIGN(Solution solution, solve(pipeline));
    return ScheduledCase{name, std::move(solution.schedule), solution.lower_bound};
  }
  WEFT_ASSIGN(Schedule schedule, plan_schedule(pipeline, name));
  return ScheduledCase{name, std::move(schedule), lower_bounds(pipeline).best()};
}

/// The most activations that a device keeps at once, one per micro-batch and stage: a forward adds
/// one, the gradient of the weights removes one.
Micro most_kept(const std::vector<Op>& order) {
  Micro held = 0, most = 0;
  for (const Op& op : order) {
    held += op.kind == Kind::kForward ? 1 : op.kind == Kind::kInput ? 0 : -1;
    most = std::max(most, held);
  }
  return most;
}

Result<std::string> print_scheduled(const Pipeline& pipeline, const ScheduledCase& scheduled) {
  WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, scheduled.schedule));
  std::string text =
      fmt::format("step {}, lower bound {}\n", print_time(pipeline, timeline.makespan),
                  print_time(pipeline, scheduled.bound));
  for (std::size_t d = 0; d < scheduled.schedule.orders.size(); ++d) {
    text += fmt::format("device {}:", d);
    for (const Op& op : scheduled.schedule.orders[d]) text += " " + print(op);
    text += fmt::format("\n  most activations kept: {}", most_kept(scheduled.schedule.orders[d]));
    if (!pipeline.memory_limits.empty()) {
      const bool fit = timeline.peaks[d] <= pipeline.memory_limits[d];
      text += fmt::format(", memory {} of {}{}", timeline.peaks[d], pipeline.memory_limits[d],
                          fit ? "" : ": too much");
    }
    text += "\n";
  }
  // A whole number of columns per unit of time, so that the drawing shows exact times.
  const Nanos span = std::max<Nanos>(1, timeline.makespan);
  const Nanos columns = span * std::max<Nanos>(1, kDrawnColumns / span);
  constexpr std::size_t kLabel = 3;  // the number of a device and two blanks
  const Drawn drawn[] = {{scheduled.name, &pipeline, &scheduled.schedule, &timeline}};
  return text + gantt_text(drawn, kLabel + static_cast<std::size_t>(columns));
}

Result<std::string> schedule_of_case(const golden::Case& golden) {
  const std::string file = "{\"instances\": [" + golden.input("pipeline") + "]}";
  WEFT_ASSIGN(const std::vector<Pipeline> pipelines, parse_instances(file, "the case"));
  const auto scheduled = schedule_case(pipelines.front(), golden.input("schedule"));
  if (!scheduled) return "no schedule: " + scheduled.error().message + "\n";
  return print_scheduled(pipelines.front(), *scheduled);
}

class ScheduleCases : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleCases, GiveTheExpectedOrders) {
  const Status checked = golden::check(GetParam(), schedule_of_case);
  EXPECT_TRUE(checked) << checked.error().text();
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleCases, testing::ValuesIn(golden::files(kScheduleCases)),
                         [](const auto& given) {
                           return std::filesystem::path(given.param).stem().string();
                         });

}  // namespace
}  // namespace weft::pipeline
