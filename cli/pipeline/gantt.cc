// SPDX-License-Identifier: Apache-2.0
// `weft pipeline gantt PLAN [PLAN]`: pictures of plans, and drawing for all questions.
#include <fmt/format.h>

#include "cli/pipeline/pipeline.h"
#include "weft/base/file.h"
#include "weft/pipeline/exports/scheduled.h"

namespace weft::cli {
namespace {

using pipeline::exports::Scheduled;

constexpr std::size_t kUsualColumns = 100;
constexpr std::size_t kMostPlans = 2;

}  // namespace

Status draw(const Arguments& arguments, Console& console, std::span<const pipeline::Drawn> drawn,
            bool in_result) {
  if (in_result) {
    const int columns = console.out.columns;
    if (!console.result.empty()) console.result += "\n";
    console.result += pipeline::gantt_text(
        drawn, columns > 0 ? static_cast<std::size_t>(columns) : kUsualColumns);
  }
  if (!arguments.has("--svg")) return {};
  return write_file(arguments.all("--svg").back(), pipeline::gantt_svg(drawn));
}

Result<ExitCode> run_pipeline_gantt(const Arguments& arguments, Console& console) {
  const std::size_t plans = arguments.inputs.size() - 1;
  if (plans < 1 || plans > kMostPlans) {
    return fail(ErrorCode::kUsage, "draw one plan or two: weft pipeline gantt PLAN [PLAN]");
  }
  std::vector<Scheduled> scheduled;
  for (std::size_t i = 1; i <= plans; ++i) {
    WEFT_ASSIGN(const pipeline::ReadPlan plan, pipeline::read_plan(arguments.inputs[i]));
    WEFT_ASSIGN(Scheduled one, pipeline::exports::scheduled_plan(plan));
    scheduled.push_back(std::move(one));
  }
  std::vector<pipeline::Drawn> drawn;
  for (const Scheduled& one : scheduled) drawn.push_back(pipeline::exports::drawn(one));
  WEFT_TRY(draw(arguments, console, drawn, true));
  return ExitCode::kDone;
}

}  // namespace weft::cli
