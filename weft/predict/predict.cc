// SPDX-License-Identifier: Apache-2.0
// Predictor::Core holds the state that all questions share: the cleaned graph, the link model and
// the measured slow-down. To answer a question, it copies the cleaned graph, applies the what-ifs
// (apply_what_ifs) and computes the step of the result (settle). Times from link tables replace
// recorded times before the what-ifs are applied, so that a what-if scales the times of the tables.
#include "weft/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "weft/cost/interference.h"
#include "weft/cost/profiler_overhead.h"
#include "weft/predict/buckets.h"
#include "weft/predict/changes.h"
#include "weft/predict/communication.h"
#include "weft/predict/error_bar.h"
#include "weft/predict/packs.h"
#include "weft/predict/steady.h"
#include "weft/sim/replay.h"
#include "weft/sim/stragglers.h"
#include "weft/trace/formats/host_as_device.h"
#include "weft/trace/runs/services.h"

namespace weft::predict {
namespace {

using graph::OpId;
using graph::OpKind;

/// The recorded steps are repeated this many times before they count as steady.
constexpr int kRepetitions = 4;
std::set<std::int32_t> ranks_of(const graph::Graph& graph) {
  std::set<std::int32_t> ranks;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.rank >= 0) ranks.insert(lane.rank);
  }
  return ranks;
}

}  // namespace

class Predictor::Core {
 public:
  Core(const Job& job, const PredictOptions& options)
      : job_(job),
        options_{{}, options.links, options.steps, options.keep_profiler},
        links_(options.links, job.graph) {
    clean();
    with_tables(clean_);
    evidence_ = error_evidence(job_);
    auto state = steady(clean_);
    if (!state) {
      baseline_ = tl::unexpected(state.error());
      return;
    }
    steady_ = std::move(*state);
    Settled settled = settle(*steady_, clean_, {});
    const auto step = static_cast<double>(settled.step.step);
    const auto recorded = static_cast<double>(recorded_steps(job_.graph).slowest_mean());
    if (!options_.keep_profiler && step > 0) {
      evidence_.profiler = std::max(0.0, (recorded - step) / step);
    }
    evidence_.baseline = settled.step.step;
    set_error_bar(settled.step, settled.range, evidence_);
    baseline_ = std::move(settled.step);
  }

  double interference() const { return interference_.slowdown; }

  bool uses_tables() const {
    return std::any_of(job_.graph.collectives.begin(), job_.graph.collectives.end(),
                       [&](const graph::Collective& c) {
                         return c.bytes >= 0 && links_.has_table(c.kind, c.ranks);
                       });
  }
  Nanos mean_overhead() const { return mean_overhead_; }

  const Result<StepPrediction>& baseline() const { return baseline_; }

  Result<StepPrediction> ask(const std::vector<WhatIf>& what_ifs) const {
    for (const WhatIf& what_if : what_ifs) {
      if (const Status status = can_answer(what_if); !status) return refuse(status.error());
    }
    Result<graph::Graph> changed = apply_what_ifs(clean_, what_ifs);
    if (!changed) return refuse(changed.error());
    const WorkerEvidence workers = evidence_for(what_ifs);
    ErrorEvidence evidence = evidence_;
    evidence.worker_doublings = workers.doublings;
    const bool new_structure = std::any_of(what_ifs.begin(), what_ifs.end(), changes_structure);
    Settled settled;
    if (new_structure) {
      WEFT_ASSIGN(const auto state, steady(*changed));
      settled = settle(*state, *changed, {});
    } else {
      settled = settle(*steady_, *changed, graph::changed_times(clean_, *changed));
    }
    set_error_bar(settled.step, settled.range, evidence);
    if (const auto why = unknown_latency(*changed, links_, settled.step.step, settled.range)) {
      return refuse(
          usage_error(what_ifs.front().text + " cannot be answered from this recording: " + *why)
              .value());
    }
    if (workers.doublings > 0) settled.step.extrapolated_from = workers.ranks;
    return std::move(settled.step);
  }

  const graph::Graph& clean_graph() const { return clean_; }
  const std::vector<std::int64_t>& steps() const { return options_.steps; }
  Result<StepPrediction> settle(const graph::Graph& graph) const {
    WEFT_ASSIGN(const auto state, steady(graph));
    Settled settled = settle(*state, graph, {});
    set_error_bar(settled.step, settled.range, evidence_);
    return std::move(settled.step);
  }
  Result<Nanos> step_with(const graph::Edit& edit) const {
    WEFT_TRY(graph::check(clean_, edit));
    if (edit.changes_only_times()) return steady_->step_with(edit);
    WEFT_ASSIGN(const graph::Graph changed, graph::apply(clean_, edit));
    WEFT_ASSIGN(const auto state, steady(changed));
    return state->step_with({});
  }

  std::vector<std::string> answerable() const {
    std::vector<std::string> keys;
    for (const WhatIfKey& key : what_if_keys()) {
      WhatIf probe = parse_what_if(key.example).value();
      // The example may name a rank that this job does not have.
      if (probe.rank >= 0) probe.rank = *ranks_of(job_.graph).begin();
      // The number of workers in the example may be too far from the recorded one.
      if (probe.kind == WhatIf::Kind::kWorkers) {
        probe.value = static_cast<double>(std::max<std::size_t>(2, ranks_of(job_.graph).size()));
      }
      if (!can_answer(probe)) continue;
      // Only the functions that change the graph can tell whether these what-ifs are possible. So
      // try them.
      const bool try_it = probe.kind == WhatIf::Kind::kBucket ||
                          probe.kind == WhatIf::Kind::kPack || probe.kind == WhatIf::Kind::kWorkers;
      if (try_it && !apply_what_ifs(clean_, {probe})) continue;
      keys.emplace_back(key.key);
    }
    return keys;
  }

 private:
  tl::unexpected<Error> refuse(Error error) const {
    std::string list;
    for (const std::string& key : answerable()) list += (list.empty() ? "" : ", ") + key;
    error.message += "; this recording can answer: " + list;
    return tl::unexpected<Error>(std::move(error));
  }

  void clean() {
    clean_ = job_.graph;
    // An op timeline has no kernels, and no profiler made it. Its pauses are mostly waits for other
    // ranks, so they must shrink when those ranks become faster. So only work and transfers count,
    // and delays are dropped. The straggler study does the same.
    if (job_.from_phases) {
      if (options_.keep_profiler) return;
      for (graph::Edge& edge : clean_.edges) edge.delay = 0;
      return;
    }
    interference_ = cost::measure_interference(job_.run, clean_);
    cost::remove_interference(clean_, interference_);
    if (options_.keep_profiler) return;
    const std::vector<Nanos> per_event = cost::overhead_by_rank(job_.run);
    for (const Nanos overhead : per_event) {
      mean_overhead_ += overhead / static_cast<Nanos>(job_.run.ranks.size());
    }
    cost::remove_profiler_overhead(clean_, per_event);
  }

  /// Returns the ranks that compute on the processors of their host. They have no stream, or their
  /// only device is the host itself.
  std::set<std::int32_t> computes_on_host() const {
    std::set<std::int32_t> with_device;
    for (const graph::Lane& lane : job_.graph.lanes) {
      if (lane.kind == graph::LaneKind::kStream) with_device.insert(lane.rank);
    }
    std::set<std::int32_t> ranks;
    for (const trace::RankTrace& rank : job_.run.ranks) {
      const bool device_is_host =
          !rank.devices.empty() && rank.devices.front() == trace::kHostAsDevice;
      if (device_is_host || !with_device.contains(rank.rank)) ranks.insert(rank.rank);
    }
    return ranks;
  }

  /// Returns an Error if the recording cannot answer the what-if. Makes only those checks that do
  /// not need a changed graph.
  Status can_answer(const WhatIf& what_if) const {
    if (what_if.rank >= 0 && !ranks_of(job_.graph).contains(what_if.rank)) {
      std::string list;
      for (const std::int32_t rank : ranks_of(job_.graph)) {
        list += (list.empty() ? "" : ", ") + std::to_string(rank);
      }
      return fail(ErrorCode::kUsage,
                  what_if.text + ": this recording has no such rank; it has ranks " + list);
    }
    if (what_if.kind == WhatIf::Kind::kStragglersOff && ranks_of(job_.graph).size() < 2) {
      return fail(ErrorCode::kUsage,
                  what_if.text + " cannot be answered from this recording: it has only one rank");
    }
    if (what_if.kind == WhatIf::Kind::kLatency && !knows_latency()) {
      return fail(ErrorCode::kUsage,
                  what_if.text +
                      " cannot be answered from this recording: it has no transfers of clearly "
                      "different sizes, so latency and bandwidth cannot be separated; give a link "
                      "table with --links");
    }
    // If only one member of a collective was recorded, its waiting and its transfer cannot be told
    // apart. So a change of the network cannot be predicted. The what-if comm=off removes waiting
    // and transfer, so one recorded member is enough for it.
    const bool network =
        what_if.kind == WhatIf::Kind::kBandwidth || what_if.kind == WhatIf::Kind::kLatency;
    if (network || what_if.kind == WhatIf::Kind::kCommOff) {
      for (const graph::Collective& c : job_.graph.collectives) {
        if (c.transfer != graph::kNoId && c.arrivals.size() >= (network ? 2u : 1u)) return {};
      }
      return fail(ErrorCode::kUsage, what_if.text +
                                         " cannot be answered from this recording: it contains no "
                                         "communication between its ranks");
    }
    return {};
  }

  bool knows_latency() const {
    return std::any_of(job_.graph.collectives.begin(), job_.graph.collectives.end(),
                       [&](const graph::Collective& c) {
                         if (c.transfer == graph::kNoId || c.bytes < 0) return false;
                         const auto estimate = links_.transfer(c.kind, c.ranks, c.bytes);
                         return estimate && estimate->latency > 0;
                       });
  }

  /// Replaces recorded transfer times by the times of the link tables.
  void with_tables(graph::Graph& graph) const {
    for (const graph::Collective& c : graph.collectives) {
      if (c.transfer == graph::kNoId || c.bytes < 0 || !links_.has_table(c.kind, c.ranks)) continue;
      graph.ops.duration[c.transfer] = links_.transfer(c.kind, c.ranks, c.bytes)->time;
    }
  }

  Result<graph::Graph> apply_what_ifs(graph::Graph graph, std::vector<WhatIf> what_ifs) const {
    // Buckets and packs come first. They are built from the recorded all-reduces, and comm=off
    // would remove these.
    std::stable_partition(what_ifs.begin(), what_ifs.end(), [](const WhatIf& what_if) {
      return what_if.kind == WhatIf::Kind::kBucket || what_if.kind == WhatIf::Kind::kPack;
    });
    double bandwidth = 1, latency = 1;
    for (const WhatIf& what_if : what_ifs) {
      switch (what_if.kind) {
        case WhatIf::Kind::kBucket: {
          WEFT_ASSIGN(const graph::Edit edit, change_buckets(graph, what_if));
          WEFT_ASSIGN(graph, graph::apply(graph, edit));
          break;
        }
        case WhatIf::Kind::kPack: {
          const auto cap = static_cast<Bytes>(what_if.value * 1024 * 1024);
          WEFT_ASSIGN(const graph::Edit edit, join_packs(graph, cap, links_));
          WEFT_ASSIGN(graph, graph::apply(graph, edit));
          break;
        }
        case WhatIf::Kind::kCommOff: {
          cost::remove_host_disturbances(graph);
          WEFT_ASSIGN(graph, graph::apply(graph, without_communication(graph)));
          break;
        }
        case WhatIf::Kind::kStragglersOff:
          graph = sim::without_stragglers(graph, straggler_options(job_));
          break;
        case WhatIf::Kind::kCompute:
          change_compute(graph, what_if.rank, what_if.value, computes_on_host());
          break;
        case WhatIf::Kind::kWorkers:
          WEFT_TRY(change_workers(graph, links_, static_cast<std::int32_t>(what_if.value),
                                  trace::ranks_far_from_servers(job_.run)));
          break;
        case WhatIf::Kind::kBandwidth:
          bandwidth *= what_if.value;
          break;
        case WhatIf::Kind::kLatency:
          latency *= what_if.value;
          break;
      }
    }
    if (bandwidth != 1 || latency != 1) change_network(graph, links_, bandwidth, latency);
    return graph;
  }

  /// Returns the evidence for the number of workers that the what-ifs ask for. If they ask for
  /// none, nothing is extrapolated.
  WorkerEvidence evidence_for(const std::vector<WhatIf>& what_ifs) const {
    for (const WhatIf& what_if : what_ifs) {
      if (what_if.kind != WhatIf::Kind::kWorkers) continue;
      return worker_evidence(clean_, links_, static_cast<std::int32_t>(what_if.value));
    }
    return {};
  }

  /// Returns false if the recording marks no steps. Then the whole recording counts as one step. It
  /// is not repeated, because the job may not repeat it.
  bool has_steps() const {
    return job_.from_phases ||
           std::any_of(job_.run.ranks.begin(), job_.run.ranks.end(),
                       [](const trace::RankTrace& rank) { return !rank.steps.empty(); });
  }

  struct Settled {
    StepPrediction step;
    NetworkRange range;
  };
  Result<std::unique_ptr<const SteadyState>> steady(const graph::Graph& graph) const {
    SteadyOptions options;
    options.steps = options_.steps.empty() ? job_.graph.steps : options_.steps;
    options.repetitions = has_steps() ? kRepetitions : 1;
    options.slowdown = interference_.slowdown;
    return SteadyState::make(graph, options);
  }

  /// Measures the steady state after changes of times that turn its graph into `graph`. Measures it
  /// again with slower and faster transfers, to find the ends of the error bar.
  Settled settle(const SteadyState& state, const graph::Graph& graph,
                 const graph::Edit& times) const {
    Settled result{state.measure(times), {}};
    const TransferRanges ranges = transfer_ranges(graph, links_);
    const auto step_with = [&](const std::vector<Nanos>& transfers) {
      graph::Edit edit = times;
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const OpId op = ranges.transfers[i];
        if (transfers[i] != graph.ops.duration[op]) edit.durations.emplace_back(op, transfers[i]);
      }
      const bool same = edit.durations.size() == times.durations.size();
      return same ? result.step.step : state.step_with(edit);
    };
    result.range = {step_with(ranges.slow), step_with(ranges.fast), step_with(ranges.latency)};
    return result;
  }

  Result<graph::Edit> change_buckets(const graph::Graph& graph, const WhatIf& what_if) const {
    const auto buckets = GradientBuckets::find(graph);
    if (!buckets) {
      return fail(buckets.error().code, what_if.text + ": " + buckets.error().message);
    }
    std::vector<Bytes> caps;
    for (const double cap : what_if.caps) caps.push_back(static_cast<Bytes>(cap * 1024 * 1024));
    return buckets->replace(caps.empty() ? buckets->recorded() : buckets->with_caps(caps), links_);
  }

  static bool changes_structure(const WhatIf& what_if) {
    return what_if.kind == WhatIf::Kind::kBucket || what_if.kind == WhatIf::Kind::kPack ||
           what_if.kind == WhatIf::Kind::kCommOff;
  }

  const Job& job_;
  const PredictOptions options_;
  graph::Graph clean_;
  std::unique_ptr<const SteadyState> steady_;  ///< of clean_
  cost::Interference interference_;
  cost::LinkModel links_;
  Nanos mean_overhead_ = 0;
  ErrorEvidence evidence_;
  Result<StepPrediction> baseline_;
};

Result<Predictor> Predictor::make(const Job& job, const PredictOptions& options) {
  const std::vector<std::int64_t>& steps = job.graph.steps;
  if (steps.empty()) {
    return fail(ErrorCode::kUsage,
                "the recording has no steps to predict from; call prof.step() after each training "
                "step");
  }
  for (const std::int64_t step : options.steps) {
    if (std::find(steps.begin(), steps.end(), step) != steps.end()) continue;
    return fail(ErrorCode::kUsage,
                "step " + std::to_string(step) + " is not in this recording, which has steps " +
                    std::to_string(steps.front()) + " to " + std::to_string(steps.back()));
  }
  PredictOptions used = options;
  if (used.steps.empty()) {
    // A step cannot be used if some rank lacks it, because the other ranks would not wait for that
    // rank.
    const StepTimes recorded = recorded_steps(job.graph);
    for (std::size_t s = 0; s < recorded.steps.size(); ++s) {
      const bool everywhere =
          std::all_of(recorded.period.begin(), recorded.period.end(),
                      [&](const std::vector<Nanos>& periods) { return periods[s] >= 0; });
      if (everywhere) used.steps.push_back(recorded.steps[s]);
    }
    if (used.steps.empty()) {
      return fail(ErrorCode::kUsage,
                  "no step was recorded on all ranks; record all ranks over the same steps");
    }
  }
  return Predictor(std::make_shared<const Core>(job, used));
}

bool Predictor::uses_tables() const { return core_->uses_tables(); }

Result<StepPrediction> Predictor::baseline() const { return core_->baseline(); }
Result<StepPrediction> Predictor::ask(const std::vector<WhatIf>& what_ifs) const {
  return core_->ask(what_ifs);
}
std::vector<std::string> Predictor::answerable() const { return core_->answerable(); }
const graph::Graph& Predictor::clean() const { return core_->clean_graph(); }
const std::vector<std::int64_t>& Predictor::steps() const { return core_->steps(); }
Result<Nanos> Predictor::step_with(const graph::Edit& edit) const { return core_->step_with(edit); }
Result<StepPrediction> Predictor::settle(const graph::Graph& graph) const {
  return core_->settle(graph);
}
double Predictor::interference() const { return core_->interference(); }
Nanos Predictor::overhead_per_event() const { return core_->mean_overhead(); }

Result<Prediction> predict(const Job& job, const PredictOptions& options) {
  WEFT_ASSIGN(const Predictor predictor, Predictor::make(job, options));
  Prediction prediction;
  prediction.interference = predictor.interference();
  prediction.overhead_per_event = predictor.overhead_per_event();
  WEFT_ASSIGN(prediction.baseline, predictor.baseline());
  prediction.predicted = prediction.baseline;
  if (!options.what_ifs.empty()) {
    WEFT_ASSIGN(prediction.predicted, predictor.ask(options.what_ifs));
  }
  return prediction;
}

std::vector<std::string> answerable(const Job& job, const std::vector<cost::LinkTable>& links) {
  PredictOptions options;
  options.links = links;
  const auto predictor = Predictor::make(job, options);
  return predictor ? predictor->answerable() : std::vector<std::string>{};
}

sim::StragglerOptions straggler_options(const Job& job) {
  sim::StragglerOptions options;
  options.workers = job.workers;
  options.peers = job.from_phases ? sim::PeerRule::kSameName : sim::PeerRule::kSamePosition;
  options.keep_delays = !job.from_phases;
  return options;
}

SelfReplay self_replay(const Job& job) {
  sim::Replay replay(job.graph);
  replay.run();
  SelfReplay result;
  result.recorded = recorded_steps(job.graph);
  result.replayed = replayed_steps(replay);
  for (std::size_t r = 0; r < result.recorded.ranks.size(); ++r) {
    for (std::size_t s = 0; s < result.recorded.steps.size(); ++s) {
      const Nanos was = result.recorded.period[r][s];
      if (was <= 0) continue;
      const double error = std::abs(
          static_cast<double>(result.replayed.period[r][s]) / static_cast<double>(was) - 1);
      result.worst_error = std::max(result.worst_error, error);
    }
  }
  return result;
}

}  // namespace weft::predict
