// SPDX-License-Identifier: Apache-2.0
// Scheduled is the input of every export. It has a pipeline, its schedule, the times of all ops,
// the devices of the cluster that run the pipeline, and the layers of the model in each stage.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/plan/plan_file.h"
#include "weft/pipeline/schedule/gantt.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline::exports {

struct Scheduled {
  std::string name;           ///< name of the model or instance
  std::string schedule_name;  ///< "1f1b"
  bool has_times = false;     ///< times are nanoseconds; if not, they have no unit
  Pipeline pipeline;
  Schedule schedule;
  Timeline timeline;
  /// devices[d]: the devices of the cluster that form device d of the pipeline. Several devices of
  /// the cluster are replicas of the same stages.
  std::vector<std::vector<std::int32_t>> devices;
  std::vector<PlannedStage> stages;  ///< empty if the layers are unknown
  std::vector<Layer> layers;         ///< in the order of the stages
};

/// A text for another program, and notes for the person who runs that program.
struct Exported {
  std::string text;
  std::vector<std::string> notes;
};

/// Fails if the orders of the plan do not fit its stages. The Error names the plan file.
Result<Scheduled> scheduled_plan(const ReadPlan& plan);
/// Makes the input of an export from any schedule of any pipeline. Device i of the pipeline is
/// device i of the cluster.
Result<Scheduled> scheduled_pipeline(const Pipeline& pipeline, const Schedule& schedule,
                                     std::string schedule_name);

/// For gantt_text() and gantt_svg(). Keeps pointers into `scheduled`.
Drawn drawn(const Scheduled& scheduled);

/// The ranks of a framework that needs equally many devices for every stage. Each rank is one
/// device of the pipeline. Ranks are sorted by their devices of the cluster, so that rank i is
/// device i if all devices are used once.
struct EqualRanks {
  std::vector<DeviceId> of_rank;   ///< per rank: its device of the pipeline
  std::vector<std::int32_t> rank;  ///< per device of the pipeline: its rank
  std::int32_t replicas = 1;       ///< how many times the whole pipeline runs
};
/// Fails with kInfeasible if stages have different numbers of replicas; the message says that
/// `framework` cannot express this.
Result<EqualRanks> equal_ranks(const Scheduled& scheduled, const std::string& framework);
/// Adds a note that says on which devices the ranks run. Adds nothing if there are no replicas and
/// rank i is device i.
void note_ranks(const Scheduled& scheduled, const EqualRanks& ranks,
                std::vector<std::string>& notes);

/// Adds a note on stages that recompute: no format expresses that, so the model must do it.
void note_recomputation(const Scheduled& scheduled, std::vector<std::string>& notes);

}  // namespace weft::pipeline::exports
