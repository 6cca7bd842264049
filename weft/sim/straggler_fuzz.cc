// SPDX-License-Identifier: Apache-2.0
// Fuzz target for op timelines. Reads any bytes as an op timeline, builds the graph, and runs the
// straggler analysis. Checks that none of these steps crashes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/check.h"
#include "weft/sim/stragglers.h"
#include "weft/trace/formats/straggler/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto source = memory_source(text, "fuzz", 1 + size % 4096);
  Diagnostics diagnostics;
  auto ranks = trace::make_straggler_reader()->read(*source, {}, diagnostics);
  if (!ranks) return 0;
  trace::Run run;
  run.ranks = std::move(*ranks);
  const auto job = graph::build_phases(run, diagnostics);
  if (!job) return 0;
  WEFT_CHECK(graph::verify(job->graph));
  sim::StragglerOptions options;
  options.workers = job->workers;
  options.most_workers = 4;
  for (const sim::PeerRule rule : {sim::PeerRule::kSameName, sim::PeerRule::kSamePosition}) {
    options.peers = rule;
    options.keep_delays = rule == sim::PeerRule::kSamePosition;
    const auto report = sim::analyse_stragglers(job->graph, options);
    WEFT_CHECK(report && report->simulated_step >= 0 && report->ideal_step >= 0);
  }
  return 0;
}
