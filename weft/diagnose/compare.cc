// SPDX-License-Identifier: Apache-2.0
// Compares two runs, or a prediction with a run. For two recorded runs, work_of() adds up for each
// run the time of every kind of work in complete steps. compare_ops() divides these sums by the
// number of (rank, step) pairs, so that runs with different numbers of ranks or steps can be
// compared. The other overloads of compare() turn their inputs into two predictions.
#include "weft/diagnose/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/graph/text.h"

namespace weft::diagnose {
namespace {

using graph::kNoId;
using graph::OpId;
using graph::OpKind;

/// The total time and the count of one kind of work, over all ranks and complete steps.
struct Work {
  Nanos time = 0;
  std::int64_t count = 0;
};
using WorkKey = std::pair<std::string, std::string>;  ///< kind, name

std::map<WorkKey, Work> work_of(const predict::Job& job, const Diagnosis& diagnosis) {
  const graph::Graph& graph = job.graph;
  const std::set<std::int64_t> steps(diagnosis.steps.begin(), diagnosis.steps.end());
  std::map<WorkKey, Work> works;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (!steps.contains(graph.ops.step[op])) continue;
    const OpKind kind = graph.ops.kind[op];
    // Arrivals and kSync ops are not work: an arrival only marks a moment, and in a kSync op the
    // host waits.
    if (kind == OpKind::kArrive || kind == OpKind::kSync) continue;
    std::int64_t ranks = 1;
    WorkKey key{graph::kind_name(kind), graph.name(op)};
    const std::uint32_t c = graph.ops.collective[op];
    if (kind == OpKind::kTransfer && c != kNoId) {
      // The transfer of a collective counts once for each of its members. It counts under the name
      // of the collective, not under that of the op.
      key.second = graph::kind_name(graph.collectives[c].kind);
      ranks = static_cast<std::int64_t>(graph.collectives[c].arrivals.size());
    }
    Work& work = works[std::move(key)];
    work.time += graph.ops.duration[op] * ranks;
    work.count += ranks;
  }
  return works;
}

/// Returns the standard error of the mean step of the slowest rank, or 0 if it has only one step.
double standard_error(const Diagnosis& diagnosis) {
  for (const RankDiagnosis& rank : diagnosis.ranks) {
    if (rank.rank != diagnosis.slowest_rank || rank.steps.size() < 2) continue;
    const auto n = static_cast<double>(rank.steps.size());
    double sum = 0, squares = 0;
    for (const Nanos step : rank.steps) sum += static_cast<double>(step);
    for (const Nanos step : rank.steps) {
      squares += (static_cast<double>(step) - sum / n) * (static_cast<double>(step) - sum / n);
    }
    return std::sqrt(squares / (n - 1) / n);
  }
  return 0;
}

Nanos mean_over_ranks(const Diagnosis& diagnosis, Cause cause) {
  Nanos sum = 0;
  for (const RankDiagnosis& rank : diagnosis.ranks) sum += rank.causes.mean[cause];
  return diagnosis.ranks.empty() ? 0 : sum / static_cast<Nanos>(diagnosis.ranks.size());
}

void compare_ops(Comparison& out, const predict::Job& before, const Diagnosis& before_diagnosis,
                 const predict::Job& after, const Diagnosis& after_diagnosis) {
  const auto instances = [](const Diagnosis& d) {
    return static_cast<std::int64_t>(d.ranks.size() * d.steps.size());
  };
  const std::int64_t n_before = instances(before_diagnosis), n_after = instances(after_diagnosis);
  std::map<WorkKey, OpChange> changes;
  for (const auto& [key, work] : work_of(before, before_diagnosis)) {
    OpChange& change = changes[key];
    change.before = work.time / n_before;
    change.count_before = static_cast<double>(work.count) / static_cast<double>(n_before);
  }
  for (const auto& [key, work] : work_of(after, after_diagnosis)) {
    OpChange& change = changes[key];
    change.after = work.time / n_after;
    change.count_after = static_cast<double>(work.count) / static_cast<double>(n_after);
  }
  for (auto& [key, change] : changes) {
    change.kind = key.first;
    change.name = key.second;
    auto& list = change.count_after == 0    ? out.missing
                 : change.count_before == 0 ? out.added
                                            : out.ops;
    list.push_back(std::move(change));
  }
  for (auto* list : {&out.ops, &out.missing, &out.added}) {
    std::stable_sort(list->begin(), list->end(), [](const OpChange& a, const OpChange& b) {
      return std::abs(a.change()) > std::abs(b.change());
    });
  }
}

/// Predicts the step of the job without profiler and with these what-ifs.
Result<predict::StepPrediction> predicted(const predict::Job& job, const CompareOptions& options,
                                          const std::vector<std::string>& questions) {
  predict::PredictOptions asked;
  asked.links = options.links;
  WEFT_ASSIGN(asked.what_ifs, predict::parse_what_ifs(job, questions, asked.links));
  WEFT_ASSIGN(predict::Prediction prediction, predict::predict(job, asked));
  return std::move(prediction.predicted);
}

}  // namespace

double Comparison::change() const {
  if (before_step <= 0) return 0;
  return static_cast<double>(after_step) / static_cast<double>(before_step) - 1;
}

bool Comparison::beyond_noise() const { return std::abs(after_step - before_step) > noise; }

bool Comparison::exceeds(double limit) const { return change() > limit && beyond_noise(); }

Comparison compare(const predict::Job& before, const Diagnosis& before_diagnosis,
                   const predict::Job& after, const Diagnosis& after_diagnosis) {
  Comparison out;
  out.before_label = before_diagnosis.label;
  out.after_label = after_diagnosis.label;
  out.before_ranks = before_diagnosis.ranks.size();
  out.after_ranks = after_diagnosis.ranks.size();
  out.before_step = before_diagnosis.step;
  out.after_step = after_diagnosis.step;
  out.noise =
      std::llround(std::hypot(standard_error(before_diagnosis), standard_error(after_diagnosis)));
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    const CauseChange change{cause_name(cause), mean_over_ranks(before_diagnosis, cause),
                             mean_over_ranks(after_diagnosis, cause)};
    if (change.before > 0 || change.after > 0) out.causes.push_back(change);
  }
  compare_ops(out, before, before_diagnosis, after, after_diagnosis);
  return out;
}

Comparison compare(const predict::StepPrediction& before, const std::string& before_label,
                   const predict::StepPrediction& after, const std::string& after_label) {
  Comparison out;
  out.predicted = true;
  out.before_label = before_label;
  out.after_label = after_label;
  out.before_ranks = before.ranks.size();
  out.after_ranks = after.ranks.size();
  out.before_step = before.step;
  out.after_step = after.step;
  const auto half = [](const predict::StepPrediction& p) {
    return static_cast<double>(p.high - p.low) / 2;
  };
  out.noise = std::llround(std::hypot(half(before), half(after)));
  // A plan predicts only the step, without a breakdown.
  if (before.breakdown.total() == 0 || after.breakdown.total() == 0) return out;
  out.causes = {{"compute", before.breakdown.compute, after.breakdown.compute},
                {"communication", before.breakdown.communication, after.breakdown.communication},
                {"waiting", before.breakdown.waiting, after.breakdown.waiting},
                {"host", before.breakdown.host, after.breakdown.host}};
  return out;
}

Result<Comparison> compare(const predict::Job& before, const predict::Job& after,
                           const CompareOptions& options) {
  if (options.what_ifs.empty()) {
    WEFT_ASSIGN(const Diagnosis diagnosis_before, diagnose(before));
    WEFT_ASSIGN(const Diagnosis diagnosis_after, diagnose(after));
    return compare(before, diagnosis_before, after, diagnosis_after);
  }
  WEFT_ASSIGN(const predict::StepPrediction expected, predicted(before, options, options.what_ifs));
  WEFT_ASSIGN(const predict::StepPrediction actual, predicted(after, options, {}));
  std::string label = before.run.label + " with";
  for (const std::string& question : options.what_ifs) label += " " + question;
  return compare(expected, label, actual, after.run.label);
}

Result<Comparison> compare(const plan::Plan& before, const std::string& before_label,
                           const predict::Job& after, const CompareOptions& options) {
  if (!options.what_ifs.empty()) {
    return fail(ErrorCode::kUsage,
                "a what-if can only be asked of a recording, but the first input is a plan, which "
                "already contains changes; leave out --what-if");
  }
  WEFT_ASSIGN(const predict::StepPrediction actual, predicted(after, options, {}));
  predict::StepPrediction expected;
  expected.step = expected.low = expected.high = before.predicted_step;
  return compare(expected, before_label, actual, after.run.label);
}

}  // namespace weft::diagnose
