// SPDX-License-Identifier: Apache-2.0
// What every export starts from: a pipeline, the order of its ops, when each runs, and which
// devices of the cluster and layers of the model it is about.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/plan_file.h"
#include "weft/pipeline/schedule/gantt.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline::exports {

struct Scheduled {
  std::string name;           ///< of the model or instance
  std::string schedule_name;  ///< "1f1b"
  bool has_times = false;     ///< nanoseconds; else times are of any unit
  Pipeline pipeline;
  Schedule schedule;
  Timeline timeline;
  /// Devices of the cluster, by device of the pipeline: several are replicas of its stages.
  std::vector<std::vector<std::int32_t>> devices;
  std::vector<PlannedStage> stages;  ///< empty where nothing is known of layers
  std::vector<Layer> layers;         ///< in the order of the stages
};

/// Something for another program, and what whoever runs it should know.
struct Exported {
  std::string text;
  std::vector<std::string> notes;
};

/// Fails where the orders of the plan are none of its stages.
Result<Scheduled> scheduled_plan(const ReadPlan& plan);
/// Any schedule of any pipeline; its devices are those of a cluster in their order.
Result<Scheduled> scheduled_pipeline(const Pipeline& pipeline, const Schedule& schedule,
                                     std::string schedule_name);

/// For pictures; keeps pointers.
Drawn drawn(const Scheduled& scheduled);

/// Ranks of frameworks that give every stage equally many devices: one device of the pipeline each,
/// in the order of their devices, so that rank i is device i where all are used.
struct EqualRanks {
  std::vector<DeviceId> of_rank;   ///< device of the pipeline
  std::vector<std::int32_t> rank;  ///< by device of the pipeline
  std::int32_t replicas = 1;       ///< of the whole pipeline
};
/// Infeasible where stages differ in their replicas; `framework` is who cannot express that.
Result<EqualRanks> equal_ranks(const Scheduled& scheduled, const std::string& framework);
/// Which devices the ranks are, where that is not plain, and how replicas are set up.
void note_ranks(const Scheduled& scheduled, const EqualRanks& ranks,
                std::vector<std::string>& notes);

/// Stages that keep their inputs only: no format says so, the model has to do it.
void note_recomputation(const Scheduled& scheduled, std::vector<std::string>& notes);

}  // namespace weft::pipeline::exports
