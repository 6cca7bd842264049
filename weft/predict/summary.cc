// SPDX-License-Identifier: Apache-2.0
// Computes all results of `weft replay`. summarise() makes one Predictor and uses it for all
// questions, because all questions need the same cleaned graph and link model. The replay of the
// recording and the straggler analysis use the recorded graph instead, because they describe the
// job as it was recorded.
#include "weft/predict/summary.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"

namespace weft::predict {
namespace {

/// The what-ifs that most users ask first. Those that a recording cannot answer are left out.
constexpr const char* kWorthKnowing[] = {
    "network.bandwidth=2x", "comm=off",        "stragglers=off",   "compute=1.5x",
    "ddp.bucket_mb=1",      "ddp.bucket_mb=5", "ddp.bucket_mb=25", "ddp.bucket_mb=100"};

/// True if the what-if is a setting that a user can choose. A faster network or device is not a
/// setting.
bool is_choice(const Answer& answer) { return answer.what_if.starts_with("ddp.bucket_mb="); }

/// Returns the part of `times` for the given steps.
StepTimes only(const StepTimes& times, const std::vector<std::int64_t>& steps) {
  StepTimes result;
  result.steps = steps;
  result.ranks = times.ranks;
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    std::vector<Nanos>& periods = result.period.emplace_back();
    for (const std::int64_t step : steps) {
      const auto found = std::find(times.steps.begin(), times.steps.end(), step);
      periods.push_back(times.period[r][static_cast<std::size_t>(found - times.steps.begin())]);
    }
  }
  return result;
}

std::vector<Answer> answer_worth_knowing(const Predictor& predictor) {
  // Each answer has a fixed place in the list, so the order does not depend on threads.
  constexpr std::size_t kCount = std::size(kWorthKnowing);
  std::vector<std::optional<Answer>> answers(kCount);
  parallel_for(kCount, [&](std::size_t i) {
    const WhatIf what_if = parse_what_if(kWorthKnowing[i]).value();
    auto prediction = predictor.ask({what_if});
    if (prediction) answers[i] = Answer{what_if.text, std::move(*prediction)};
  });
  std::vector<Answer> list;
  for (auto& answer : answers) {
    if (answer) list.push_back(std::move(*answer));
  }
  return list;
}

void add_self_replay(ReplaySummary& summary, const Job& job) {
  const SelfReplay self = self_replay(job);
  const StepTimes recorded = only(self.recorded, summary.steps);
  const StepTimes replayed = only(self.replayed, summary.steps);
  summary.recorded_step = recorded.slowest_mean();
  summary.replayed_step = replayed.slowest_mean();
  for (std::size_t r = 0; r < recorded.ranks.size(); ++r) {
    RankSummary& rank = summary.ranks.emplace_back();
    rank.rank = recorded.ranks[r];
    rank.recorded = recorded.period[r];
    rank.replayed = replayed.period[r];
    for (std::size_t s = 0; s < summary.steps.size(); ++s) {
      if (rank.recorded[s] <= 0) continue;
      const double ratio =
          static_cast<double>(rank.replayed[s]) / static_cast<double>(rank.recorded[s]);
      summary.worst_error = std::max(summary.worst_error, std::abs(ratio - 1));
    }
  }
}

}  // namespace

std::optional<RankMemory> peak_memory(const trace::RankTrace& trace) {
  std::optional<RankMemory> memory;
  for (const sim::MemoryCurve& curve : sim::training_memory(trace)) {
    if (memory && curve.peak.bytes <= memory->peak.bytes) continue;
    memory = RankMemory{curve.device, curve.source, curve.peak, 0};
  }
  if (!memory) return memory;
  const std::vector<Nanos>& starts = trace.events.start;
  memory->since_start = memory->peak.time - *std::min_element(starts.begin(), starts.end());
  return memory;
}

const Answer* ReplaySummary::best_choice() const {
  const Answer* best = nullptr;
  // Without measured transfer times the error bars are too wide to tell which bucket size is best.
  if (!has_links) return best;
  for (const Answer& answer : worth_knowing) {
    if (!is_choice(answer)) continue;
    if (!best || answer.prediction.step < best->prediction.step) best = &answer;
  }
  return best;
}

Result<ReplaySummary> summarise(const Job& job, const PredictOptions& options) {
  WEFT_ASSIGN(const Predictor predictor, Predictor::make(job, options));
  return summarise(job, predictor, options);
}

Result<ReplaySummary> summarise(const Job& job, const Predictor& predictor,
                                const PredictOptions& options) {
  ReplaySummary summary;
  summary.label = job.run.label;
  summary.world = job.run.world;
  summary.from_phases = job.from_phases;
  summary.has_links = predictor.uses_tables();
  summary.links_unused = !options.links.empty() && !summary.has_links;
  summary.steps = options.steps.empty() ? job.graph.steps : options.steps;
  for (const WhatIf& what_if : options.what_ifs) summary.what_if.push_back(what_if.text);

  Prediction& prediction = summary.prediction;
  prediction.interference = predictor.interference();
  prediction.overhead_per_event = predictor.overhead_per_event();
  WEFT_ASSIGN(prediction.baseline, predictor.baseline());
  prediction.predicted = prediction.baseline;
  if (options.what_ifs.empty()) {
    summary.worth_knowing = answer_worth_knowing(predictor);
  } else {
    WEFT_ASSIGN(prediction.predicted, predictor.ask(options.what_ifs));
  }

  add_self_replay(summary, job);
  // The lists of ranks may differ, so each rank is looked up by its number.
  const auto index_of = [](const StepPrediction& step, std::int32_t rank) {
    const auto found = std::find(step.ranks.begin(), step.ranks.end(), rank);
    return static_cast<std::size_t>(found - step.ranks.begin());
  };
  for (RankSummary& rank : summary.ranks) {
    if (const auto i = index_of(prediction.baseline, rank.rank);
        i < prediction.baseline.ranks.size()) {
      rank.baseline = prediction.baseline.rank_steps[i];
      rank.mean_baseline = prediction.baseline.rank_step[i];
    }
    if (const auto i = index_of(prediction.predicted, rank.rank);
        i < prediction.predicted.ranks.size()) {
      rank.predicted = prediction.predicted.rank_steps[i];
      rank.mean_predicted = prediction.predicted.rank_step[i];
    }
    for (std::size_t t = 0; t < job.run.ranks.size(); ++t) {
      if (job.run.ranks[t].rank != rank.rank) continue;
      if (t < job.alignment.ranks.size()) rank.clock = job.alignment.ranks[t];
      rank.memory = peak_memory(job.run.ranks[t]);
    }
  }

  if (summary.ranks.size() > 1) {
    WEFT_ASSIGN(summary.stragglers, sim::analyse_stragglers(job.graph, straggler_options(job)));
  }
  summary.unprofiled = unprofiled_steps(job.run);
  summary.ops = job.graph.size();
  summary.edges = job.graph.edges.size();
  summary.inferred_edges = static_cast<std::size_t>(
      std::count_if(job.graph.edges.begin(), job.graph.edges.end(),
                    [](const graph::Edge& edge) { return edge.inferred; }));
  return summary;
}

Result<std::vector<WhatIf>> parse_what_ifs(const Job& job, const std::vector<std::string>& texts,
                                           const std::vector<cost::LinkTable>& links) {
  std::vector<WhatIf> what_ifs;
  for (const std::string& text : texts) {
    auto what_if = parse_what_if(text);
    // It takes long to find out what the recording can answer, so do this only if a what-if is
    // refused.
    if (!what_if) what_if = parse_what_if(text, answerable(job, links));
    if (!what_if) return tl::unexpected(what_if.error());
    what_ifs.push_back(std::move(*what_if));
  }
  return what_ifs;
}

}  // namespace weft::predict
