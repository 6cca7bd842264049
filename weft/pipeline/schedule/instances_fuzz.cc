// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as instances. The result must be an Error or pipelines. Small pipelines
// must get a schedule that fits into memory and is not shorter than its bound.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/pipeline/schedule/instances.h"
#include "weft/pipeline/schedule/simulate.h"
#include "weft/pipeline/schedule/solve.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::pipeline;
  const auto pipelines = parse_instances({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!pipelines) return 0;
  for (const Pipeline& pipeline : *pipelines) {
    if (pipeline.stages.size() * static_cast<std::size_t>(pipeline.micro_batches) > 64) continue;
    SolveOptions options;
    options.decisions = 300;
    options.most_states = 2000;
    const auto solution = solve(pipeline, options);
    if (!solution) continue;
    const auto timeline = simulate(pipeline, solution->schedule);
    WEFT_CHECK(timeline && fits(pipeline, *timeline));
    WEFT_CHECK(timeline->makespan == solution->makespan);
    WEFT_CHECK(solution->lower_bound <= solution->makespan);
  }
  return 0;
}
