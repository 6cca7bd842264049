// SPDX-License-Identifier: Apache-2.0
// Turns op timelines of production jobs (which worker computed which micro-batch when) into
// pipelines that can be simulated, and finds better divisions of the work, for example with less
// work for a slow worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/pipeline/model/pipeline.h"
#include "weft/predict/job.h"

namespace weft::pipeline::recorded {

/// Mean times of a worker per micro-batch over all steps, each including the pause before the op.
struct WorkerTimes {
  std::int32_t rank = -1;
  Nanos forward = 0, backward = 0;
};

/// Replicas of one pipeline that synchronize at the end of every step.
struct TimedJob {
  std::vector<std::vector<WorkerTimes>> workers;  ///< workers[replica][stage]
  /// `boundaries[replica][s]` lies between stages s and s + 1. Replicas share no links.
  std::vector<std::vector<Boundary>> boundaries;
  Micro micro_batches = 0;  ///< per replica and step
  Nanos rest = 0;           ///< time of a step before its first forward and after its last backward
  Nanos measured_step = 0;  ///< mean over the steps
};

/// Fails with kUsage if the job is not an op timeline of a pipeline with one stage per worker.
Result<TimedJob> timed_job(const predict::Job& job);

/// One replica as recorded, for simulate().
Pipeline replica_pipeline(const TimedJob& job, std::size_t replica);

/// The simulated step under gpipe or 1f1b, with this number of micro-batches per replica.
Result<Nanos> step_of(const TimedJob& job, const std::string& schedule, Micro micro_batches);

/// A division of the work: layers per stage, the same in all replicas, and micro-batches per
/// replica.
struct Division {
  std::vector<std::int32_t> layers;
  std::vector<Micro> micro_batches;
  bool operator==(const Division&) const = default;
};

/// A better division of the work, and the step that it gives.
struct Way {
  std::string name;  ///< "layers", "micro-batches", "both"
  Division division;
  Nanos step = 0;
};

struct Replan {
  Nanos measured_step = 0, predicted_step = 0;
  Division recorded;
  /// The worker that is slowest compared to the workers of the same stage in other replicas; -1:
  /// none is noticeably slower.
  std::int32_t slow_rank = -1, slow_replica = -1, slow_stage = -1;
  double slowness = 1;
  Nanos step_without_slow_worker = 0;  ///< the step if that worker were as fast as its peers
  std::int32_t heavy_stage = -1;  ///< takes longest in all replicas; -1: none is noticeably longer
  double heaviness = 1;           ///< time of the heavy stage divided by the median over stages
  std::vector<Way> ways;  ///< shortest step first; each step is shorter than the recorded one
};

/// Looks for better divisions of layers and micro-batches under 1F1B, for workers with the recorded
/// speeds. `layers`: layers of the whole model; 0: eight per stage, with a note, since timelines do
/// not show layers. All layers count as equal. If a stage takes longer than the lightest stage in
/// all replicas, the additional time is fixed: it stays with the stage when layers move (for
/// example, it is the time of embeddings or of a head). If a worker is slower than its peers in
/// other replicas, all of its work takes longer by the same factor. Fails with kUsage if there are
/// fewer layers than stages.
Result<Replan> replan(const TimedJob& job, std::int32_t layers, Diagnostics& diagnostics);

}  // namespace weft::pipeline::recorded
