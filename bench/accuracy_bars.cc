// SPDX-License-Identifier: Apache-2.0
// Measures Weft's predictions for the tables of bench/accuracy.cc. Most tables compare one
// prediction with one measured time. HeldOutStepBar is different: the recorded steps of a job
// differ by chance, and no prediction can foresee these differences. So next to the error of Weft's
// prediction, it reports two more errors. "scatter" is the error if the mean of the other steps is
// taken as the prediction. The lower bound is the least error of any prediction within the range of
// the other steps. If an error exceeds its bar only because the steps differ so much, its verdict
// is MISSED, not FAIL.
#include "bench/accuracy_bars.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "weft/sim/stragglers.h"
#include "weft/trace/match/multi_rank_sets.h"

namespace weft::accuracy {
namespace {

// The bars: the largest relative errors that are accepted.
constexpr double kSelfReplay = 0.01;
constexpr double kHeldOutMedian = 0.03, kHeldOutWorst = 0.08;
constexpr double kUnprofiled = 0.04;
constexpr double kWhatIfMean = 0.025, kWhatIfWorst = 0.06;
/// The direction of a smaller change may be chance, so it is not checked.
constexpr double kClearChange = 0.06;
constexpr double kSlowdown = 0.01;
constexpr Nanos kClockError = 50 * kMicrosecond;

double ms(Nanos t) { return static_cast<double>(t) / 1e6; }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::optional<double> find(const std::map<std::string, double>& truth, const std::string& name) {
  const auto it = truth.find(name);
  return it == truth.end() ? std::nullopt : std::optional(it->second);
}

/// A truth file names variants of a job. Returns the what-if for a variant: comm=off for "no_sync",
/// ddp.bucket_mb=25 for "bucket25". Returns an empty text if no what-if describes the variant.
std::string what_if_of(const std::string& variant) {
  if (variant == "no_sync") return "comm=off";
  if (!variant.starts_with("bucket")) return {};
  const std::string size = variant.substr(6);
  const bool number = !size.empty() && std::all_of(size.begin(), size.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  return number ? "ddp.bucket_mb=" + size : "";
}

}  // namespace

void SelfReplayBar::add(const JobSet& set, const predict::Job& job) {
  const predict::SelfReplay replay = predict::self_replay(job);
  table_.add({set.name, std::to_string(replay.recorded.ranks.size()),
              std::to_string(replay.recorded.steps.size()), per_cent(replay.worst_error, 3)},
             at_most(replay.worst_error, kSelfReplay));
}

Status HeldOutStepBar::add(const JobSet& set, const predict::Job& job) {
  const predict::StepTimes recorded = predict::recorded_steps(job.graph);
  if (recorded.steps.size() < 2) return {};
  Figures figures;
  figures.name = set.name;
  for (std::size_t held = 0; held < recorded.steps.size(); ++held) {
    predict::PredictOptions others;
    others.keep_profiler = true;
    for (std::size_t s = 0; s < recorded.steps.size(); ++s) {
      if (s != held) others.steps.push_back(recorded.steps[s]);
    }
    WEFT_ASSIGN(const predict::Prediction prediction, predict::predict(job, others));
    for (std::size_t r = 0; r < recorded.ranks.size(); ++r) {
      const std::vector<Nanos>& periods = recorded.period[r];
      if (periods[held] <= 0) continue;
      Nanos low = INT64_MAX, high = 0, sum = 0, count = 0;
      for (std::size_t s = 0; s < periods.size(); ++s) {
        if (s == held || periods[s] <= 0) continue;
        low = std::min(low, periods[s]);
        high = std::max(high, periods[s]);
        sum += periods[s];
        ++count;
      }
      if (count == 0) continue;
      const auto was = static_cast<double>(periods[held]);
      const auto predicted = static_cast<double>(prediction.baseline.rank_step[r]);
      figures.errors.push_back(std::abs(predicted / was - 1));
      figures.scatter.push_back(
          std::abs(static_cast<double>(sum) / static_cast<double>(count) / was - 1));
      const Nanos beyond = std::max({Nanos{0}, low - periods[held], periods[held] - high});
      figures.bounds.push_back(static_cast<double>(beyond) / was);
    }
  }
  sets_.push_back(std::move(figures));
  return {};
}

Table HeldOutStepBar::table() const {
  Table table{
      "One step from the others",
      "Each recorded step is predicted from the other steps of the recording, with profiler, on "
      "every rank. A step lasts from the end of the device work of the previous step to the end of "
      "its own device work. `scatter` is the error of the mean of the other steps, without any "
      "model: it shows how much the steps themselves differ. `lower bound` is how far the step "
      "lies outside the range of the other steps: no prediction within that range can have a "
      "smaller error. Bars, over all recordings: median 3 %, worst 8 %. The worst error counts as "
      "MISSED instead of failed if the lower bound of the same recording exceeds the bar. The "
      "median error counts as MISSED if the median of the scatter exceeds the bar.",
      {"recording", "median", "worst", "scatter: median", "scatter: worst", "lower bound: median",
       "lower bound: worst"},
      {}};
  std::vector<double> errors, scatter, bounds;
  Verdict worst = Verdict::kPass;
  for (const Figures& f : sets_) {
    errors.insert(errors.end(), f.errors.begin(), f.errors.end());
    scatter.insert(scatter.end(), f.scatter.begin(), f.scatter.end());
    bounds.insert(bounds.end(), f.bounds.begin(), f.bounds.end());
    Verdict verdict = Verdict::kNone;
    if (largest(f.errors) > kHeldOutWorst) {
      verdict = largest(f.bounds) > kHeldOutWorst ? Verdict::kMissed : Verdict::kFail;
      worst = std::max(worst, verdict);
    }
    table.add({f.name, per_cent(median(f.errors)), per_cent(largest(f.errors)),
               per_cent(median(f.scatter)), per_cent(largest(f.scatter)),
               per_cent(median(f.bounds)), per_cent(largest(f.bounds))},
              verdict);
  }
  if (sets_.empty()) return table;
  const bool missed = median(errors) > kHeldOutMedian && median(scatter) > kHeldOutMedian;
  table.add({"all: median", per_cent(median(errors)), "", per_cent(median(scatter)), "",
             per_cent(median(bounds)), ""},
            missed ? Verdict::kMissed : at_most(median(errors), kHeldOutMedian));
  table.add({"all: worst", "", per_cent(largest(errors)), "", per_cent(largest(scatter)), "",
             per_cent(largest(bounds))},
            worst);
  return table;
}

Status UnprofiledStepBar::add(const JobSet& set, const predict::Job& job) {
  const auto base = find(set.truth_ms, "base");
  if (!base) return {};
  const double again = find(set.truth_ms, "base_again").value_or(*base);
  WEFT_ASSIGN(const predict::Prediction prediction, predict::predict(job, {}));
  const double predicted = ms(prediction.baseline.step);
  const auto [low, high] = std::minmax(*base, again);
  const double error = predicted < low    ? 1 - predicted / low
                       : predicted > high ? predicted / high - 1
                                          : 0;
  table_.add({set.name, fixed(*base, 1), fixed(again, 1), fixed(predicted, 1), per_cent(error)},
             at_most(error, kUnprofiled));
  return {};
}

Status WhatIfBar::add(const JobSet& set, const predict::Job& job) {
  const auto recorded = find(set.truth_ms, "bucket25");
  if (!recorded) return {};
  std::vector<std::pair<double, std::string>> asked;  // sorted by bucket size, comm=off last
  for (const auto& [variant, time] : set.truth_ms) {
    const std::string what_if = what_if_of(variant);
    if (what_if.empty()) continue;
    const double order = variant == "no_sync" ? INFINITY : std::stod(variant.substr(6));
    asked.emplace_back(order, variant);
  }
  std::sort(asked.begin(), asked.end());
  for (const auto& [order, variant] : asked) {
    predict::PredictOptions options;
    options.links = set.links;
    WEFT_ASSIGN(predict::WhatIf what_if, predict::parse_what_if(what_if_of(variant)));
    options.what_ifs = {what_if};
    WEFT_ASSIGN(const predict::Prediction prediction, predict::predict(job, options));
    const double truth = *find(set.truth_ms, variant);
    const double predicted = ms(prediction.predicted.step);
    const double error = predicted / truth - 1;
    const double change = truth / *recorded - 1;
    const double predicted_change = predicted / ms(prediction.baseline.step) - 1;
    // A change is the difference from the recorded configuration. Measured times are compared with
    // measured times, and predictions with predictions. So a constant error of all predictions
    // cannot hide a wrong direction.
    const bool clear = std::abs(change) > kClearChange;
    const bool right = !clear || (change > 0) == (predicted_change > 0);
    errors_.push_back(std::abs(error));
    changes_ += clear ? 1 : 0;
    wrong_changes_ += right ? 0 : 1;
    rows_.push_back(
        {{set.name, what_if.text, fixed(truth, 1), fixed(predicted, 1), signed_per_cent(error),
          signed_per_cent(change), signed_per_cent(predicted_change)},
         std::abs(error) <= kWhatIfWorst && right ? Verdict::kPass : Verdict::kFail});
  }
  return {};
}

Table WhatIfBar::table() const {
  Table table{
      "What-ifs",
      "Other configurations are predicted from the recording with buckets of 25 MiB and the link "
      "table beside it, and compared with the job timed in these configurations. Bars: mean error "
      "2.5 %, worst 6 %, and the right direction for every change of more than 6 %.",
      {"recording", "what-if", "timed ms", "predicted ms", "error", "change", "predicted change"},
      rows_};
  if (errors_.empty()) return table;
  double mean = 0;
  for (const double error : errors_) mean += error / static_cast<double>(errors_.size());
  table.add({"all: mean", "", "", "", per_cent(mean)}, at_most(mean, kWhatIfMean));
  table.add({"all: worst", "", "", "", per_cent(largest(errors_))},
            at_most(largest(errors_), kWhatIfWorst));
  table.add({"all: directions right", "", "", "",
             std::to_string(changes_ - wrong_changes_) + " of " + std::to_string(changes_)},
            wrong_changes_ == 0 ? Verdict::kPass : Verdict::kFail);
  return table;
}

Status StragglerBar::add(const std::string& name, const predict::Job& job) {
  struct Published {
    const char* job;
    double slowdown;
    sim::CulpritKind culprit;
    std::int32_t replica, stage;
  };
  constexpr Published kPublished[] = {{"ST", 1.1787, sim::CulpritKind::kStage, -1, 3},
                                      {"AR", 1.9730, sim::CulpritKind::kWorker, 0, 0}};
  const auto name_of = [](sim::CulpritKind kind, std::int32_t replica, std::int32_t stage) {
    if (kind == sim::CulpritKind::kNone) return std::string("nobody");
    const std::string where = "stage " + std::to_string(stage);
    return kind == sim::CulpritKind::kStage
               ? where
               : "worker at replica " + std::to_string(replica) + ", " + where;
  };
  sim::StragglerOptions options;
  options.workers = job.workers;
  WEFT_ASSIGN(const sim::StragglerReport report, sim::analyse_stragglers(job.graph, options));
  const std::string found = name_of(report.culprit, report.culprit_replica, report.culprit_stage);
  for (const Published& p : kPublished) {
    if (name != p.job) continue;
    const double error = report.slowdown / p.slowdown - 1;
    const std::string wanted = name_of(p.culprit, p.replica, p.stage);
    const bool good = std::abs(error) <= kSlowdown && wanted == found;
    table_.add({name, fixed(p.slowdown, 4), fixed(report.slowdown, 4), signed_per_cent(error, 2),
                wanted, found},
               good ? Verdict::kPass : Verdict::kFail);
  }
  return {};
}

void ClockBar::add(const std::string& name, const trace::Run& run) {
  if (run.ranks.size() < 2) return;
  Diagnostics diagnostics;
  // The clocks of the recording also have errors, which are unknown. So the alignment of the
  // recording with falsified clocks is compared with the alignment of the unchanged recording. The
  // fixed seed makes the figures reproducible.
  const trace::Alignment untouched =
      trace::align(run, trace::match_calls(run, diagnostics), {}, diagnostics);
  std::mt19937 random(11);
  std::uniform_int_distribution<Nanos> pick(-50 * kMillisecond, 50 * kMillisecond);
  Nanos worst = 0;
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<trace::WrongClock> wrong(run.ranks.size());
    for (trace::WrongClock& clock : wrong) clock.offset = pick(random);
    trace::Run copy = run;
    for (std::size_t r = 0; r < copy.ranks.size(); ++r) {
      trace::put_wrong(copy.ranks[r], run.ranks[0].epoch, wrong[r]);
    }
    const trace::Alignment found =
        trace::align(copy, trace::match_calls(copy, diagnostics), {}, diagnostics);
    worst = std::max(worst, trace::recovery_error(run, untouched, wrong, found));
  }
  table_.add({name, std::to_string(run.ranks.size()), fixed(static_cast<double>(worst) / 1e3, 2)},
             worst <= kClockError ? Verdict::kPass : Verdict::kFail);
}

}  // namespace weft::accuracy
