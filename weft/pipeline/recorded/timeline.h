// SPDX-License-Identifier: Apache-2.0
// Op timelines of production jobs (who computed which micro-batch when), as pipelines that can be
// simulated and planned anew: around a worker that is slower than the others, say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/pipeline/model/pipeline.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

/// What one worker needs for a micro-batch: means over all steps, with the usual pause before it.
struct WorkerTimes {
  std::int32_t rank = -1;
  Nanos forward = 0, backward = 0;
};

/// Replicas of one pipeline that meet at the end of every step.
struct TimedJob {
  std::vector<std::vector<WorkerTimes>> workers;  ///< by replica and stage
  std::vector<std::vector<Boundary>> boundaries;  ///< by replica; links of their own
  Micro micro_batches = 0;                        ///< of a replica in a step
  Nanos rest = 0;           ///< of a step: before its first forward and behind its last backward
  Nanos measured_step = 0;  ///< mean
};

/// An Error (kUsage) where the job is no op timeline of a pipeline with one chunk a worker.
Result<TimedJob> timed_job(const predict::Job& job);

/// One replica as it was, for simulate().
Pipeline replica_pipeline(const TimedJob& job, std::size_t replica);

/// The step with so many micro-batches a replica, under gpipe or 1f1b.
Result<Nanos> step_of(const TimedJob& job, const std::string& schedule, Micro micro_batches);

/// Who does how much: layers of each stage, equal for all replicas, and micro-batches of each
/// replica.
struct Division {
  std::vector<std::int32_t> layers;
  std::vector<Micro> micro_batches;
  bool operator==(const Division&) const = default;
};

/// A way around slow workers and heavy stages.
struct Way {
  std::string name;  ///< "layers", "micro-batches", "both"
  Division division;
  Nanos step = 0;
};

struct Replan {
  Nanos measured_step = 0, predicted_step = 0;
  Division recorded;
  /// The worker that takes longest beside those of its stage in other replicas; -1: none does.
  std::int32_t slow_rank = -1, slow_replica = -1, slow_stage = -1;
  double slowness = 1;
  Nanos as_the_others = 0;        ///< the step if it took what they do
  std::int32_t heavy_stage = -1;  ///< that takes longest in all replicas; -1: none does
  double heaviness = 1;           ///< its work over that of the usual stage
  std::vector<Way> ways;          ///< fastest first, each faster than what was recorded
};

/// Divides layers and micro-batches anew for workers as fast as they were, under 1F1B. `layers`: of
/// the whole model; 0: eight a stage, as timelines do not tell, which is told. All layers are taken
/// to be equal: what a stage has more than the lightest stays where it is (embeddings, a head), and
/// what a worker takes more than those of its stage elsewhere grows with all it does.
Result<Replan> replan(const TimedJob& job, std::int32_t layers, Diagnostics& diagnostics);

}  // namespace weft::pipeline::recorded
