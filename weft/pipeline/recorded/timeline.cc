// SPDX-License-Identifier: Apache-2.0
// Reader collects the mean times of all workers. Model splits the time of a stage into a fixed part
// and equal layers, and gives each worker a slowness factor. So it can simulate any division of the
// work. replan() then improves the recorded division: micro-batches greedily, layers by local
// search, or both at once.
#include "weft/pipeline/recorded/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "weft/base/median.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/simulate.h"
#include "weft/predict/steps.h"

namespace weft::pipeline::recorded {
namespace {

using graph::OpId;
using graph::OpKind;

/// Timelines do not show layers. Eight layers per stage is a cautious guess for large models.
constexpr std::int32_t kLayersOfAStage = 8;
constexpr DiagnosticKind kLayersAssumed{
    "replan-layers-assumed", Severity::kWarning,
    "the timeline does not show layers; every stage is assumed to have eight layers",
    "give the number of layers of the model with --layers N"};
/// A worker or stage is reported as slow only from this factor on.
constexpr double kNoticeable = 1.03;
constexpr std::string_view kForward = "forward-compute", kBackward = "backward-compute";
constexpr std::string_view kForwardSend = "forward-send", kBackwardSend = "backward-send";

struct Mean {
  Nanos sum = 0;
  std::int64_t count = 0;
  void add(Nanos value) {
    sum += value;
    ++count;
  }
  Nanos value() const { return count > 0 ? sum / count : 0; }
};

/// The pause before an op that no dependency explains: the longest delay of its edges.
Nanos pause_before(const graph::Graph& graph, OpId op) {
  Nanos pause = 0;
  for (const graph::Edge& edge : graph.in_edges(op)) pause = std::max(pause, edge.delay);
  return pause;
}

class Reader {
 public:
  explicit Reader(const predict::Job& job) : graph_(job.graph) {
    for (const graph::Worker& worker : job.workers) {
      place_[worker.rank] = {worker.replica, worker.stage};
      replicas_ = std::max(replicas_, worker.replica + 1);
      stages_ = std::max(stages_, worker.stage + 1);
    }
  }

  Result<TimedJob> run() {
    if (stages_ < 2 || static_cast<std::size_t>(replicas_ * stages_) != place_.size()) {
      return fail(
          ErrorCode::kUsage,
          "the timeline is not one of a pipeline: its workers are not replicas of at least two "
          "stages");
    }
    collect();
    TimedJob job;
    WEFT_ASSIGN(job.micro_batches, count_micro_batches());
    for (std::int32_t replica = 0; replica < replicas_; ++replica) {
      auto& workers = job.workers.emplace_back();
      auto& boundaries = job.boundaries.emplace_back();
      for (std::int32_t stage = 0; stage < stages_; ++stage) {
        workers.push_back({rank_of(replica, stage), forward_[{replica, stage}].value(),
                           backward_[{replica, stage}].value()});
        if (stage + 1 == stages_) continue;
        Boundary& boundary = boundaries.emplace_back();
        boundary.forward.time = median_transfer(forward_send_[{replica, stage}]);
        boundary.backward.time = median_transfer(backward_send_[{replica, stage + 1}]);
        boundary.forward.links = {2 * stage};
        boundary.backward.links = {2 * stage + 1};
      }
    }
    job.measured_step = predict::recorded_steps(graph_).slowest_mean();
    Mean span;
    for (const auto& [step, ends] : spans_) span.add(ends.second - ends.first);
    job.rest = std::max<Nanos>(0, job.measured_step - span.value());
    return job;
  }

 private:
  using Place = std::pair<std::int32_t, std::int32_t>;  // replica, stage

  std::int32_t rank_of(std::int32_t replica, std::int32_t stage) const {
    const auto found = std::find_if(place_.begin(), place_.end(), [&](const auto& item) {
      return item.second == Place{replica, stage};
    });
    return found == place_.end() ? -1 : found->first;
  }

  /// A median, because a few recorded transfers take ten times as long as usual.
  static Nanos median_transfer(const std::vector<Nanos>& transfers) {
    return transfers.empty() ? 0 : median(transfers);
  }

  void collect() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.ops.step[op] < 0 || graph_.rank(op) < 0) continue;
      const Place place = place_.at(graph_.rank(op));
      const std::string_view name = graph_.name(op);
      const Nanos start = graph_.ops.recorded_start[op];
      const Nanos pause = pause_before(graph_, op);
      if (name == kForward || name == kBackward) {
        const Nanos time = graph_.ops.duration[op];
        (name == kForward ? forward_ : backward_)[place].add(time + pause);
        ++passes_[{graph_.ops.step[op], place}].at(name == kForward ? 0 : 1);
        auto& span = spans_.try_emplace(graph_.ops.step[op], start, start).first->second;
        span.first = std::min(span.first, start);
        span.second = std::max(span.second, start + time);
      } else if (name == kForwardSend || name == kBackwardSend) {
        const std::uint32_t message = graph_.ops.collective[op];
        if (message == graph::kNoId || graph_.collectives[message].transfer == graph::kNoId)
          continue;
        const Nanos time = graph_.ops.duration[graph_.collectives[message].transfer];
        (name == kForwardSend ? forward_send_ : backward_send_)[place].push_back(time);
      }
    }
  }

  Result<Micro> count_micro_batches() const {
    std::optional<std::int64_t> micro_batches;
    for (const auto& [key, counts] : passes_) {
      if (!micro_batches) micro_batches = counts[0];
      if (counts[0] == *micro_batches && counts[1] == *micro_batches) continue;
      return fail(
          ErrorCode::kUsage,
          "the workers of the timeline run different numbers of forwards and backwards in a "
          "step, so the number of micro-batches is unknown");
    }
    if (!micro_batches) {
      return fail(ErrorCode::kUsage,
                  "the timeline has no ops called forward-compute and backward-compute");
    }
    return static_cast<Micro>(*micro_batches);
  }

  const graph::Graph& graph_;
  std::int32_t replicas_ = 0, stages_ = 0;
  std::map<std::int32_t, Place> place_;
  std::map<Place, Mean> forward_, backward_;
  std::map<Place, std::vector<Nanos>> forward_send_, backward_send_;
  std::map<std::pair<std::int32_t, Place>, std::array<std::int64_t, 2>> passes_;
  std::map<std::int32_t, std::pair<Nanos, Nanos>> spans_;  ///< per step: start and end of compute
};

Pipeline pipeline_of(const std::vector<WorkerTimes>& workers, std::vector<Boundary> boundaries,
                     Micro micro_batches) {
  Pipeline pipeline;
  pipeline.micro_batches = micro_batches;
  pipeline.split_backward = false;
  for (std::size_t s = 0; s < workers.size(); ++s) {
    Stage stage;
    stage.device = static_cast<DeviceId>(s);
    stage.forward = workers[s].forward;
    stage.input = workers[s].backward;
    pipeline.stages.push_back(stage);
  }
  pipeline.boundaries = std::move(boundaries);
  return pipeline;
}

/// The simulated time of one replica with this number of micro-batches.
Result<Nanos> replica_time(const TimedJob& job, const std::string& schedule, std::size_t replica,
                           const std::vector<WorkerTimes>& workers, Micro micro_batches) {
  const Pipeline pipeline = pipeline_of(workers, job.boundaries[replica], micro_batches);
  WEFT_ASSIGN(const Schedule orders, family(schedule, pipeline));
  WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, orders));
  return timeline.makespan;
}

/// The cost model: time of a worker = slowness x (fixed time of the stage + layers x time per
/// layer).
class Model {
 public:
  Model(const TimedJob& job, std::int32_t layers) : job_(job) {
    const std::size_t stages = job.workers.front().size();
    for (std::size_t s = 0; s < stages; ++s) {
      // Timelines do not say which stage has how many layers, so they are divided evenly.
      recorded_.push_back(share(layers, s + 1, stages) - share(layers, s, stages));
    }
    split(forward_, &WorkerTimes::forward);
    split(backward_, &WorkerTimes::backward);
  }

  Division recorded() const {
    return {recorded_, std::vector<Micro>(job_.workers.size(), job_.micro_batches)};
  }
  /// Forward and backward of a micro-batch on the fastest replica, as recorded.
  double work(std::size_t stage) const { return forward_.base[stage] + backward_.base[stage]; }
  double slowness(std::size_t replica, std::size_t stage) const {
    const WorkerTimes& worker = job_.workers[replica][stage];
    const double usual = work(stage);
    return usual > 0 ? static_cast<double>(worker.forward + worker.backward) / usual : 1;
  }
  void remove_slowness(std::size_t replica, std::size_t stage) {
    forward_.slowness[replica][stage] = backward_.slowness[replica][stage] = 1;
  }

  Result<Nanos> replica_step(const std::vector<std::int32_t>& layers, std::size_t replica,
                             Micro micro_batches) const {
    std::vector<WorkerTimes> workers;
    for (std::size_t s = 0; s < layers.size(); ++s) {
      workers.push_back(
          {-1, forward_.time(replica, s, layers[s]), backward_.time(replica, s, layers[s])});
    }
    return replica_time(job_, "1f1b", replica, workers, micro_batches);
  }

  Result<Nanos> step(const Division& division) const {
    Nanos longest = 0;
    for (std::size_t r = 0; r < division.micro_batches.size(); ++r) {
      if (division.micro_batches[r] == 0) continue;  // the replica has nothing to do
      WEFT_ASSIGN(const Nanos time, replica_step(division.layers, r, division.micro_batches[r]));
      longest = std::max(longest, time);
    }
    return longest + job_.rest;
  }

 private:
  struct Part {
    double layer = 0;
    std::vector<double> base, fixed;  ///< by stage, on the fastest replica; base: the recorded time
    std::vector<std::vector<double>> slowness;  ///< by replica and stage
    Nanos time(std::size_t replica, std::size_t stage, std::int32_t layers) const {
      return std::llround(slowness[replica][stage] * (fixed[stage] + layer * layers));
    }
  };

  static std::int32_t share(std::int32_t layers, std::size_t stage, std::size_t stages) {
    return static_cast<std::int32_t>(static_cast<std::size_t>(layers) * stage / stages);
  }

  /// Derives the three parts of the model from the recorded times. The stage with the least time
  /// per layer sets the time of a layer; whatever other stages take beyond that is their fixed
  /// time.
  void split(Part& part, Nanos WorkerTimes::*time) const {
    const std::size_t stages = recorded_.size();
    part.layer = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < stages; ++s) {
      Nanos least = job_.workers.front()[s].*time;
      for (const auto& replica : job_.workers) least = std::min(least, replica[s].*time);
      part.base.push_back(static_cast<double>(least));
      part.layer = std::min(part.layer, part.base[s] / recorded_[s]);
    }
    for (std::size_t s = 0; s < stages; ++s) {
      part.fixed.push_back(part.base[s] - part.layer * recorded_[s]);
    }
    for (const auto& replica : job_.workers) {
      auto& row = part.slowness.emplace_back();
      for (std::size_t s = 0; s < stages; ++s) {
        row.push_back(part.base[s] > 0 ? static_cast<double>(replica[s].*time) / part.base[s] : 1);
      }
    }
  }

  const TimedJob& job_;
  std::vector<std::int32_t> recorded_;
  Part forward_, backward_;
};

/// Gives one micro-batch after the other to the replica that would finish first with it. The result
/// is optimal, because the time of a replica grows with each micro-batch.
Result<Division> move_micro_batches(const Model& model, Division division) {
  std::vector<Micro>& share = division.micro_batches;
  const Micro total = std::accumulate(share.begin(), share.end(), Micro{0});
  share.assign(share.size(), 0);
  std::vector<Nanos> with_one_more;
  for (std::size_t r = 0; r < share.size(); ++r) {
    WEFT_ASSIGN(const Nanos time, model.replica_step(division.layers, r, 1));
    with_one_more.push_back(time);
  }
  for (Micro given = 0; given < total; ++given) {
    const auto next = std::min_element(with_one_more.begin(), with_one_more.end());
    const auto r = static_cast<std::size_t>(next - with_one_more.begin());
    ++share[r];
    WEFT_ASSIGN(*next, model.replica_step(division.layers, r, share[r] + 1));
  }
  return division;
}

/// Local search: each round moves one layer from one stage to another. It chooses the pair of
/// stages for which the move shortens the step most. The two stages need not be neighbours, because
/// only the number of layers of each stage matters. `complete` adjusts every trial division, for
/// example by dividing the micro-batches again.
template <class Complete>
Result<Division> move_layers(const Model& model, Division division, Complete complete) {
  WEFT_ASSIGN(division, complete(std::move(division)));
  WEFT_ASSIGN(Nanos best, model.step(division));
  for (bool better = true; better;) {
    better = false;
    Division next = division;
    for (std::size_t from = 0; from < division.layers.size(); ++from) {
      if (division.layers[from] < 2) continue;
      for (std::size_t to = 0; to < division.layers.size(); ++to) {
        if (to == from) continue;
        Division tried = division;
        --tried.layers[from];
        ++tried.layers[to];
        WEFT_ASSIGN(tried, complete(std::move(tried)));
        WEFT_ASSIGN(const Nanos step, model.step(tried));
        if (step >= best) continue;
        best = step;
        next = tried;
        better = true;
      }
    }
    division = std::move(next);
  }
  return division;
}

/// Finds the slowest worker compared to its peers, and the heaviest stage compared to the other
/// stages.
void find_slow(const TimedJob& job, const Model& model, Replan& result) {
  const std::size_t stages = job.workers.front().size();
  std::vector<Nanos> work;
  for (std::size_t s = 0; s < stages; ++s) {
    work.push_back(static_cast<Nanos>(model.work(s)));
    for (std::size_t r = 0; r < job.workers.size(); ++r) {
      const double slowness = model.slowness(r, s);
      if (slowness < kNoticeable || slowness <= result.slowness) continue;
      result.slowness = slowness;
      result.slow_rank = job.workers[r][s].rank;
      result.slow_replica = static_cast<std::int32_t>(r);
      result.slow_stage = static_cast<std::int32_t>(s);
    }
  }
  // Compare with the median, because a heavy stage would also raise the mean.
  const auto heaviest = std::max_element(work.begin(), work.end());
  const Nanos usual = median(work);
  if (usual <= 0) return;
  const double heaviness = static_cast<double>(*heaviest) / static_cast<double>(usual);
  if (heaviness < kNoticeable) return;
  result.heavy_stage = static_cast<std::int32_t>(heaviest - work.begin());
  result.heaviness = heaviness;
}

}  // namespace

Result<TimedJob> timed_job(const predict::Job& job) {
  if (!job.from_phases) {
    return fail(ErrorCode::kUsage, "the recording is not an op timeline of a pipeline");
  }
  return Reader(job).run();
}

Pipeline replica_pipeline(const TimedJob& job, std::size_t replica) {
  return pipeline_of(job.workers[replica], job.boundaries[replica], job.micro_batches);
}

Result<Nanos> step_of(const TimedJob& job, const std::string& schedule, Micro micro_batches) {
  if (schedule != "1f1b" && schedule != "gpipe") {
    return fail(ErrorCode::kUsage,
                "an op timeline does not show layers, so its stages cannot be divided for '" +
                    schedule + "'; give 1f1b or gpipe");
  }
  Nanos longest = 0;
  for (std::size_t r = 0; r < job.workers.size(); ++r) {
    WEFT_ASSIGN(const Nanos time, replica_time(job, schedule, r, job.workers[r], micro_batches));
    longest = std::max(longest, time);
  }
  return longest + job.rest;
}

Result<Replan> replan(const TimedJob& job, std::int32_t layers, Diagnostics& diagnostics) {
  const auto stages = static_cast<std::int32_t>(job.workers.front().size());
  if (layers == 0) {
    layers = kLayersOfAStage * stages;
    diagnostics.add(kLayersAssumed);
  }
  if (layers < stages) {
    return fail(ErrorCode::kUsage, std::to_string(layers) + " layers are fewer than the " +
                                       std::to_string(stages) + " recorded stages");
  }
  Model model(job, layers);
  Replan result;
  result.measured_step = job.measured_step;
  result.recorded = model.recorded();
  WEFT_ASSIGN(result.predicted_step, model.step(result.recorded));
  find_slow(job, model, result);
  const auto add = [&](const char* name, const Division& division) -> Status {
    WEFT_ASSIGN(const Nanos step, model.step(division));
    if (step < result.predicted_step) result.ways.push_back({name, division, step});
    return {};
  };
  const auto keep = [](Division division) -> Result<Division> { return division; };
  WEFT_ASSIGN(const Division by_layers, move_layers(model, result.recorded, keep));
  WEFT_TRY(add("layers", by_layers));
  if (job.workers.size() > 1) {
    WEFT_ASSIGN(const Division by_micro_batches, move_micro_batches(model, result.recorded));
    WEFT_TRY(add("micro-batches", by_micro_batches));
    WEFT_ASSIGN(const Division both, move_layers(model, result.recorded, [&](Division division) {
                  return move_micro_batches(model, std::move(division));
                }));
    // Do not show the same division twice.
    if (both != by_layers && both != by_micro_batches) WEFT_TRY(add("both", both));
  }
  std::stable_sort(result.ways.begin(), result.ways.end(),
                   [](const Way& a, const Way& b) { return a.step < b.step; });
  result.step_without_slow_worker = result.predicted_step;
  if (result.slow_rank >= 0) {
    model.remove_slowness(static_cast<std::size_t>(result.slow_replica),
                          static_cast<std::size_t>(result.slow_stage));
    WEFT_ASSIGN(result.step_without_slow_worker, model.step(result.recorded));
  }
  return result;
}

}  // namespace weft::pipeline::recorded
