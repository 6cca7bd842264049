// SPDX-License-Identifier: Apache-2.0
// Computes all results of `weft diagnose`. diagnose() replays the job once as recorded. Causes and
// skews come from this replay. For an op timeline, the critical path and the findings need a replay
// without the recorded pauses (working_graph()). So the functions that compute them make separate
// replays.
#include "weft/diagnose/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/base/milliseconds.h"

namespace weft::diagnose {
namespace {

double per_cent(Nanos part, Nanos whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_ranks(Diagnosis& diagnosis, const predict::Job& job, const Times& times,
               const predict::StepTimes& steps) {
  const std::vector<std::size_t> complete = complete_steps(steps);
  for (const std::size_t s : complete) diagnosis.steps.push_back(steps.steps[s]);
  const std::vector<Lateness> lateness = lateness_by_rank(diagnosis.skews);
  std::vector<RankCauses> causes = find_causes(job, times, steps);
  for (std::size_t r = 0; r < steps.ranks.size(); ++r) {
    RankDiagnosis& rank = diagnosis.ranks.emplace_back();
    rank.rank = steps.ranks[r];
    rank.causes = std::move(causes[r]);
    rank.step = rank.causes.mean.total();
    for (const std::size_t s : complete) rank.steps.push_back(steps.period[r][s]);
    rank.lateness.rank = rank.rank;
    for (const Lateness& late : lateness) {
      if (late.rank == rank.rank) rank.lateness = late;
    }
    for (const trace::RankTrace& trace : job.run.ranks) {
      if (trace.rank == rank.rank) rank.memory = predict::peak_memory(trace);
    }
  }
}

void name_slowest(Diagnosis& diagnosis) {
  for (const RankDiagnosis& rank : diagnosis.ranks) {
    if (rank.step <= diagnosis.step) continue;
    diagnosis.step = rank.step;
    diagnosis.slowest_rank = rank.rank;
  }
  // Ranks that wait for each other have nearly equal steps, so the longest step does not show which
  // rank is late. The critical path shows it.
  const std::int32_t late = diagnosis.path.main_rank();
  diagnosis.late_rank = late >= 0 ? late : diagnosis.slowest_rank;
}

/// Returns the finding that the verdict mentions. This is the finding with the largest gain, with
/// two exceptions. If another finding has nearly the same gain and names a rank or a cause, it is
/// preferred, because it tells the user more about what to do. The profiler's cost is never
/// mentioned, because it does not exist without recording.
const Finding* headline_of(const std::vector<Finding>& findings) {
  const Finding* first = nullptr;
  for (const Finding& finding : findings) {
    if (finding.kind == FindingKind::kProfiler) continue;
    if (first == nullptr) first = &finding;
    const bool specific =
        finding.kind == FindingKind::kStraggler || finding.kind == FindingKind::kHostStalls;
    if (specific && static_cast<double>(finding.gain) >= 0.8 * static_cast<double>(first->gain)) {
      return &finding;
    }
  }
  return first;
}

/// Writes one sentence: the step, the rank that decides it, the rank's three main causes, and the
/// main finding.
std::string verdict_of(const Diagnosis& diagnosis) {
  const auto late =
      std::find_if(diagnosis.ranks.begin(), diagnosis.ranks.end(),
                   [&](const RankDiagnosis& rank) { return rank.rank == diagnosis.late_rank; });
  std::string text = fmt::format("step {:.1f} ms", milliseconds(diagnosis.step));
  if (late == diagnosis.ranks.end()) return text;
  if (diagnosis.ranks.size() > 1) text += fmt::format(", decided by rank {}", late->rank);
  std::vector<std::pair<Nanos, Cause>> causes;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    const Nanos time = late->causes.mean[cause];
    if (per_cent(time, late->step) >= 0.5) causes.emplace_back(-time, cause);  // longest first
  }
  std::sort(causes.begin(), causes.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(3, causes.size()); ++i) {
    text += fmt::format("{} {:.0f} % {}", i == 0 ? ":" : ",",
                        per_cent(-causes[i].first, late->step), cause_words(causes[i].second));
  }
  if (const Finding* headline = headline_of(diagnosis.findings)) {
    text += fmt::format("; {:.1f} ms instead of {:.1f} without {}",
                        milliseconds(diagnosis.baseline - headline->gain),
                        milliseconds(diagnosis.baseline), headline->title);
    // Readers expect the first finding, so name any other one by its number.
    const auto number = headline - diagnosis.findings.data() + 1;
    if (number > 1) text += fmt::format(" (finding {})", number);
  }
  return text;
}

}  // namespace

const char* cause_words(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kMemoryCopy:
      return "memory copies";
    case Cause::kTransfer:
      return "exposed transfer";
    case Cause::kWaiting:
      return "waiting for other ranks";
    case Cause::kDataLoading:
      return "data loading";
    case Cause::kHostLaunch:
      return "host-bound launch gaps";
    case Cause::kIdle:
      return "idle";
  }
  return "idle";
}

Result<Diagnosis> diagnose(const predict::Job& job, const FindingOptions& options) {
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, {}));
  return diagnose(job, predictor, options);
}

Result<Diagnosis> diagnose(const predict::Job& job, const predict::Predictor& predictor,
                           const FindingOptions& options) {
  sim::Replay replay(job.graph);
  replay.run();
  const Times times{replay.starts(), replay.ends()};
  const predict::StepTimes steps = predict::replayed_steps(replay);
  if (complete_steps(steps).empty()) {
    return fail(ErrorCode::kUsage,
                "no step was recorded on all ranks; record all ranks over the same steps");
  }
  Diagnosis diagnosis;
  diagnosis.label = job.run.label;
  diagnosis.world = job.run.world;
  diagnosis.from_phases = job.from_phases;
  diagnosis.skews = find_skews(job, times);
  add_ranks(diagnosis, job, times, steps);
  diagnosis.path = job.from_phases ? find_critical_path(job) : find_critical_path(job, replay);
  name_slowest(diagnosis);
  if (diagnosis.ranks.size() > 1) {
    WEFT_ASSIGN(diagnosis.stragglers,
                sim::analyse_stragglers(job.graph, predict::straggler_options(job)));
  }
  WEFT_ASSIGN(const predict::StepPrediction baseline, predictor.baseline());
  diagnosis.baseline = baseline.step;
  const sim::StragglerReport* stragglers = diagnosis.stragglers ? &*diagnosis.stragglers : nullptr;
  WEFT_ASSIGN(diagnosis.findings, find_findings(job, predictor, stragglers, options));
  diagnosis.verdict = verdict_of(diagnosis);
  return diagnosis;
}

std::string show_command(const std::vector<std::string>& inputs, std::size_t finding) {
  std::string command = "weft diagnose";
  for (const std::string& input : inputs) command += " " + shell_word(input);
  return command + " --finding " + std::to_string(finding);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace weft::diagnose
