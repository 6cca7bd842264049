// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/schedule.h"

#include <algorithm>

#include "weft/pipeline/recorded/predict.h"
#include "weft/pipeline/recorded/timeline.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline::recorded {
namespace {

/// Used for op timelines. The stages get the mean times of their workers, and the schedule is 1F1B.
Result<RecordedSchedule> of_timeline(const predict::Job& job) {
  WEFT_ASSIGN(const TimedJob timed, timed_job(job));
  RecordedSchedule slowest;
  Nanos longest = -1;
  for (std::size_t replica = 0; replica < timed.workers.size(); ++replica) {
    const Pipeline pipeline = replica_pipeline(timed, replica);
    WEFT_ASSIGN(const Schedule schedule, family("1f1b", pipeline));
    WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, schedule));
    if (timeline.makespan <= longest) continue;
    longest = timeline.makespan;
    slowest = {pipeline, schedule, "1f1b", {}};
    for (const WorkerTimes& worker : timed.workers[replica]) slowest.ranks.push_back(worker.rank);
  }
  return slowest;
}

/// Used for profiler recordings. A pass takes its median device time or its median launch time,
/// whichever is longer.
Result<RecordedSchedule> of_profiles(const predict::Job& job) {
  WEFT_TRY(MessageModel::measure(job, {}));  // fails early if there are no messages
  WEFT_ASSIGN(const ScheduleAnswer answer, predict_schedule(job, {}));
  if (answer.recorded_schedule.empty()) {
    return fail(ErrorCode::kUsage, "the recorded order of micro-batches is neither 1F1B nor GPipe");
  }
  RecordedSchedule recorded;
  recorded.name = answer.recorded_schedule;
  recorded.pipeline.micro_batches = answer.recorded_micro_batches;
  recorded.pipeline.split_backward = false;
  for (const StageAnswer& each : answer.stages) {
    Stage stage;
    stage.device = static_cast<DeviceId>(recorded.ranks.size());
    stage.forward = std::max(each.forward_device, each.forward_host);
    stage.input = std::max(each.backward_device, each.backward_host);
    recorded.pipeline.stages.push_back(stage);
    recorded.ranks.push_back(each.rank);
  }
  Boundary boundary;
  boundary.forward.latency = boundary.backward.latency = answer.message.arrival;
  recorded.pipeline.boundaries.assign(recorded.ranks.size() - 1, boundary);
  WEFT_ASSIGN(recorded.schedule, family(recorded.name, recorded.pipeline));
  return recorded;
}

}  // namespace

Result<RecordedSchedule> recorded_schedule(const predict::Job& job) {
  WEFT_ASSIGN(RecordedSchedule recorded, job.from_phases ? of_timeline(job) : of_profiles(job));
  // Count memory in micro-batches. The limit of each device is the number of micro-batches that it
  // held.
  for (Stage& stage : recorded.pipeline.stages) {
    stage.forward_memory = 1;
    stage.input_memory = -1;
  }
  WEFT_ASSIGN(const Timeline timeline, simulate(recorded.pipeline, recorded.schedule));
  recorded.pipeline.memory_limits = timeline.peaks;
  return recorded;
}

}  // namespace weft::pipeline::recorded
