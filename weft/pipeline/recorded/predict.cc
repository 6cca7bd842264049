// SPDX-License-Identifier: Apache-2.0
// Predicts in these steps:
// 1. Take the recording apart into pieces (recording.h).
// 2. Divide the layers into the stages of the schedule.
// 3. Make the order of ops (families.h).
// 4. Make the program that torch would run for this order (program.h).
// 5. Build the graph of this program (assemble.h).
// 6. Let the predictor replay the graph.
#include "weft/pipeline/recorded/predict.h"

#include <algorithm>

#include "weft/base/median.h"
#include "weft/pipeline/recorded/ranks.h"
#include "weft/pipeline/schedule/families.h"

namespace weft::pipeline::recorded {
namespace {

/// A pipeline without times: schedules and programs only need the placement of the stages.
Pipeline outline(const std::vector<StageLayers>& stages, Micro micro_batches) {
  Pipeline pipeline;
  pipeline.micro_batches = micro_batches;
  for (const StageLayers& layers : stages) {
    Stage stage;
    stage.device = layers.device;
    pipeline.stages.push_back(stage);
  }
  pipeline.boundaries.resize(stages.size() - 1);
  return pipeline;
}

/// The name of the known schedule that has the recorded orders; "" if there is none.
std::string recorded_family(const Recording& recording, const std::vector<StageLayers>& stages) {
  const Pipeline pipeline = outline(stages, recording.micro_batches);
  for (const char* name : {"1f1b", "gpipe"}) {
    const Result<Schedule> schedule = family(name, pipeline);
    if (!schedule) continue;
    bool equal = true;
    for (std::size_t d = 0; d < recording.stages.size(); ++d) {
      std::vector<Op> order = schedule->orders[d];
      // Recorded orders count the stages of each rank from 0.
      for (Op& op : order) op.stage = 0;
      equal = equal && order == recording.stages[d].order;
    }
    if (equal) return name;
  }
  return "";
}

/// Computes the median device time and the median host time of a piece over all recorded steps and
/// micro-batches.
template <class PieceOf>
void median_times(const Recording& recording, PieceOf piece_of, Nanos& device, Nanos& host) {
  std::vector<Nanos> devices, hosts;
  for (std::size_t step = 0; step < recording.steps.size(); ++step) {
    for (Micro micro = 0; micro < recording.micro_batches; ++micro) {
      const Piece piece = piece_of(step, micro);
      devices.push_back(piece.device_device);
      hosts.push_back(piece.host_host);
    }
  }
  device = median(devices);
  host = median(hosts);
}

std::vector<StageAnswer> describe(const Recording& recording,
                                  const std::vector<StageLayers>& stages) {
  std::vector<StageAnswer> answers;
  for (const StageLayers& stage : stages) {
    StageAnswer answer;
    answer.rank = recording.stages[stage.device].rank;
    answer.layers = stage.last - stage.first;
    median_times(
        recording,
        [&](std::size_t step, Micro m) { return forward_piece(recording, stage, step, m); },
        answer.forward_device, answer.forward_host);
    median_times(
        recording,
        [&](std::size_t step, Micro m) { return backward_piece(recording, stage, step, m); },
        answer.backward_device, answer.backward_host);
    answers.push_back(answer);
  }
  return answers;
}

}  // namespace

Result<ScheduleAnswer> predict_schedule(const predict::Job& job, const ScheduleQuestion& question) {
  if (question.micro_batches < 0) {
    return fail(ErrorCode::kUsage, "the number of micro-batches must be at least 1");
  }
  // A missing rank would make the pipeline look shorter than it is.
  WEFT_TRY(check_all_ranks(job.run));
  predict::PredictOptions options;
  options.links = question.links;
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, options));
  WEFT_ASSIGN(const Recording recording, take_apart(job, predictor, question.links));
  const auto ranks = static_cast<std::int32_t>(recording.stages.size());
  const bool interleaved = question.schedule == "interleaved";
  WEFT_ASSIGN(const std::vector<StageLayers> stages,
              divide_layers(recording, interleaved ? 2 * ranks : ranks));  // two stages per rank
  ScheduleAnswer answer;
  answer.schedule = question.schedule;
  answer.recorded_micro_batches = recording.micro_batches;
  answer.micro_batches =
      question.micro_batches > 0 ? question.micro_batches : recording.micro_batches;
  const Pipeline pipeline = outline(stages, answer.micro_batches);
  WEFT_ASSIGN(const Schedule schedule, family(question.schedule, pipeline));
  WEFT_ASSIGN(const Program program, torch_program(question.schedule, pipeline, schedule));
  answer.torch_takes_it = torch_takes(question.schedule, pipeline);
  WEFT_ASSIGN(const graph::Graph graph, assemble(recording, stages, program));
  WEFT_ASSIGN(answer.step, predictor.settle(graph));
  answer.stages = describe(recording, stages);
  WEFT_ASSIGN(const std::vector<StageLayers> as_recorded, divide_layers(recording, ranks));
  answer.recorded_schedule = recorded_family(recording, as_recorded);
  answer.recorded_step = predict::recorded_steps(job.graph).slowest_mean();
  answer.message_bytes = recording.messages.bytes();
  answer.message =
      recording.messages.cost(recording.stages[0].rank, recording.stages[1].rank, false);
  answer.from_table = recording.messages.from_table();
  answer.table_fits = recording.messages.table_fits();
  return answer;
}

}  // namespace weft::pipeline::recorded
