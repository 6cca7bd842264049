// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/job.h"

#include <algorithm>

#include "weft/base/median.h"
#include "weft/graph/build.h"
#include "weft/trace/clock/device_clock.h"

namespace weft::predict {
namespace {

constexpr DiagnosticKind kNoSteps{
    "no-steps", Severity::kWarning,
    "no steps are marked, so the whole recording was taken as one step",
    "call prof.step() after each training step; with Nsight Systems, put an NVTX range \"step N\" "
    "around each step; with JAX, put a StepTraceAnnotation around each step"};

/// If the file of a rank ends too early, the rank is replayed only if it has at least this share of
/// the events of a complete rank.
constexpr double kEnoughOfACutFile = 0.98;

/// Refuses runs whose replay would be misleading: much of a rank is missing, or a rank has no steps
/// although others have steps.
Status check_ranks(const trace::Run& run) {
  std::vector<std::int64_t> whole;
  bool any_steps = false;
  for (const trace::RankTrace& trace : run.ranks) {
    if (trace.cut_at < 0) whole.push_back(static_cast<std::int64_t>(trace.events.size()));
    any_steps = any_steps || !trace.steps.empty();
  }
  const auto expected = static_cast<double>(median(whole));
  for (const trace::RankTrace& trace : run.ranks) {
    const std::string rank = "rank " + std::to_string(trace.rank);
    // If every file is cut, there is no complete rank to compare with. Then a rank is kept if it
    // has steps and device work.
    const bool much_lost =
        static_cast<double>(trace.events.size()) < kEnoughOfACutFile * expected ||
        (whole.empty() && (trace.steps.empty() || !trace.facts.device_events));
    if (trace.cut_at >= 0 && much_lost) {
      return fail(ErrorCode::kBadInput,
                  "the file ends too early: much of " + rank +
                      " is missing, so a replay would be misleading; copy or record the file "
                      "again, or leave this rank out",
                  trace.file, trace.cut_at);
    }
    if (any_steps && trace.steps.empty()) {
      return fail(ErrorCode::kBadInput,
                  rank +
                      " marks no steps, but other ranks mark steps; record all ranks over the "
                      "same steps, or leave this rank out",
                  trace.file);
    }
  }
  return {};
}

}  // namespace

Result<Job> make_job(trace::Run run, Diagnostics& diagnostics) {
  WEFT_TRY(check_ranks(run));
  Job job;
  job.run = std::move(run);
  trace::correct_device_clocks(job.run, diagnostics);
  job.matches = trace::match_calls(job.run, diagnostics);
  job.alignment = trace::align(job.run, job.matches, {}, diagnostics);
  trace::apply(job.run, job.alignment);
  if (graph::has_phases(job.run)) {
    WEFT_ASSIGN(graph::PhaseGraph phases, graph::build_phases(job.run, diagnostics));
    job.graph = std::move(phases.graph);
    job.workers = std::move(phases.workers);
    job.from_phases = true;
    return job;
  }
  const bool marked = std::any_of(job.run.ranks.begin(), job.run.ranks.end(),
                                  [](const trace::RankTrace& rank) { return !rank.steps.empty(); });
  if (!marked) diagnostics.add(kNoSteps, job.run.label);
  WEFT_ASSIGN(job.graph, graph::build(job.run, job.matches, diagnostics));
  return job;
}

Result<Job> make_job(trace::Recording recording, Diagnostics& diagnostics) {
  if (recording.runs.size() > 1) {
    std::string list;
    for (std::size_t i = 0; i < recording.runs.size(); ++i) {
      list += (i ? ", " : "") + std::to_string(i + 1) + " (" + recording.runs[i].label + ")";
    }
    return fail(ErrorCode::kUsage, "the input contains " + std::to_string(recording.runs.size()) +
                                       " runs; choose one with --run N: " + list);
  }
  return make_job(std::move(recording.runs.front()), diagnostics);
}

Result<Job> open_job(const std::vector<std::string>& inputs, const trace::LoadOptions& options,
                     Diagnostics& diagnostics) {
  WEFT_ASSIGN(trace::Recording recording, trace::load(inputs, options, diagnostics));
  return make_job(std::move(recording), diagnostics);
}

}  // namespace weft::predict
