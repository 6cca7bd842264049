// SPDX-License-Identifier: Apache-2.0
// Writes each pattern device by device: for every device, its warm-up, its steady state and its
// drain, as in the papers (GPipe, PipeDream-Flush for 1F1B, Megatron-LM for interleaved 1F1B, Zero
// Bubble for ZB-H1 and ZB-V, DeepSeek's DualPipe for DualPipeV) and in
// torch.distributed.pipelining.
#include "weft/pipeline/schedule/families.h"

#include <algorithm>

namespace weft::pipeline {
namespace {

tl::unexpected<Error> unfit(std::string what) { return fail(ErrorCode::kUsage, std::move(what)); }

StageId stages_of(const Pipeline& pipeline) { return static_cast<StageId>(pipeline.stages.size()); }

Status one_stage_a_device(const Pipeline& pipeline, const char* family) {
  std::vector<bool> taken(pipeline.devices());
  for (const Stage& stage : pipeline.stages) {
    if (taken[stage.device]) return unfit(std::string(family) + " needs one stage on each device");
    taken[stage.device] = true;
  }
  return {};
}

Status v_placement(const Pipeline& pipeline, const char* family) {
  const StageId stages = stages_of(pipeline);
  for (StageId s = 0; s < stages; ++s) {
    const DeviceId device = std::min(s, stages - 1 - s);
    if (stages % 2 == 1 || pipeline.stages[s].device != device) {
      return unfit(std::string(family) +
                   " needs two stages on each device, in the shape of a V: 0 1 .. 1 0");
    }
  }
  return {};
}

/// Appends ops of one stage to the order of its device, and counts the micro-batches of each kind.
struct Turn {
  std::vector<Op>* order;
  StageId stage;
  Micro micros;
  Micro next[4] = {0, 0, 0, 0};

  Micro done(Kind kind) const { return next[static_cast<int>(kind)]; }
  /// Does nothing once all ops of the kind have run. The patterns rely on this in a warm-up that is
  /// longer than the step, and in the drain.
  void run(Kind kind, Micro times = 1) {
    for (; times > 0 && done(kind) < micros; --times) {
      order->push_back({stage, kind, next[static_cast<int>(kind)]++});
    }
  }
  void forward(Micro times = 1) { run(Kind::kForward, times); }
  void backward() { run(Kind::kBackward); }
  void input() { run(Kind::kInput); }
  /// Runs the next gradient of weights if the gradient of the input of this micro-batch has run.
  void weight() {
    if (done(Kind::kWeight) < done(Kind::kInput)) run(Kind::kWeight);
  }
  /// The two halves of a backward, one after the other. They are not one whole backward: if a stage
  /// has delayed its gradients of weights, it runs the gradient of an earlier micro-batch here.
  void halves() {
    input();
    weight();
  }
};

}  // namespace

Schedule gpipe(const Pipeline& pipeline) {
  Schedule schedule;
  schedule.orders.resize(pipeline.devices());
  const StageId stages = stages_of(pipeline);
  for (StageId s = 0; s < stages; ++s) {
    for (Micro m = 0; m < pipeline.micro_batches; ++m) {
      schedule.orders[pipeline.stages[s].device].push_back({s, Kind::kForward, m});
    }
  }
  for (StageId s = stages - 1; s >= 0; --s) {
    for (Micro m = 0; m < pipeline.micro_batches; ++m) {
      schedule.orders[pipeline.stages[s].device].push_back({s, Kind::kBackward, m});
    }
  }
  return schedule;
}

Result<Schedule> one_f_one_b(const Pipeline& pipeline) {
  WEFT_TRY(one_stage_a_device(pipeline, "1F1B"));
  Schedule schedule;
  schedule.orders.resize(pipeline.devices());
  const StageId stages = stages_of(pipeline);
  for (StageId s = 0; s < stages; ++s) {
    Turn turn{&schedule.orders[pipeline.stages[s].device], s, pipeline.micro_batches};
    turn.forward(stages - s);
    for (Micro m = 0; m < pipeline.micro_batches; ++m) {
      turn.backward();
      turn.forward();
    }
  }
  return schedule;
}

Result<Schedule> interleaved_1f1b(const Pipeline& pipeline) {
  const StageId stages = stages_of(pipeline);
  const DeviceId devices = pipeline.devices();
  for (StageId s = 0; s < stages; ++s) {
    if (stages % devices != 0 || pipeline.stages[s].device != s % devices) {
      return unfit("interleaved 1F1B needs stage s on device s modulo the number of devices");
    }
  }
  const StageId chunks = stages / devices;
  const Micro micros = pipeline.micro_batches;
  // The same number of rounds as in torch. A round has about one micro-batch per device.
  const Micro rounds = std::max(1, micros / devices);
  const Micro group = (micros + rounds - 1) / rounds;
  Schedule schedule;
  schedule.orders.resize(devices);
  for (DeviceId d = 0; d < devices; ++d) {
    std::vector<Op> forwards, backwards;
    for (Micro first = 0; first < micros; first += group) {
      const Micro last = std::min(micros, first + group);
      for (StageId chunk = 0; chunk < chunks; ++chunk) {
        for (Micro m = first; m < last; ++m) {
          forwards.push_back({chunk * devices + d, Kind::kForward, m});
          backwards.push_back({(chunks - 1 - chunk) * devices + d, Kind::kBackward, m});
        }
      }
    }
    // The warm-up lasts until the first gradient can be back: Megatron-LM's formula, plus one
    // forward that Megatron-LM counts as part of the steady state. With one chunk the pattern is
    // plain 1F1B.
    const std::size_t most = forwards.size();
    const auto ahead = static_cast<std::size_t>((chunks - 1) * group + 2 * (devices - 1 - d) + 1);
    const std::size_t warm_up = chunks == 1 ? static_cast<std::size_t>(devices - d) : ahead;
    for (std::size_t i = 0; i < most + warm_up; ++i) {
      if (i >= warm_up) schedule.orders[d].push_back(backwards[i - warm_up]);
      if (i < most) schedule.orders[d].push_back(forwards[i]);
    }
  }
  return schedule;
}

Result<Schedule> zb_h1(const Pipeline& pipeline) {
  WEFT_TRY(one_stage_a_device(pipeline, "ZB-H1"));
  Schedule schedule;
  schedule.orders.resize(pipeline.devices());
  const StageId stages = stages_of(pipeline);
  for (StageId s = 0; s < stages; ++s) {
    Turn turn{&schedule.orders[pipeline.stages[s].device], s, pipeline.micro_batches};
    turn.forward(stages - s);
    for (Micro m = 0; m < pipeline.micro_batches; ++m) {
      turn.input();
      if (m >= s) turn.weight();  // s micro-batches late
      turn.forward();
    }
    for (StageId late = 0; late < s; ++late) turn.weight();
  }
  return schedule;
}

Result<Schedule> zb_v(const Pipeline& pipeline) {
  WEFT_TRY(v_placement(pipeline, "ZB-V"));
  Schedule schedule;
  const DeviceId devices = pipeline.devices();
  const Micro micros = pipeline.micro_batches;
  schedule.orders.resize(devices);
  for (DeviceId d = 0; d < devices; ++d) {
    Turn down{&schedule.orders[d], d, micros};
    Turn up{&schedule.orders[d], 2 * devices - 1 - d, micros};
    down.forward(2 * (devices - d) - 1);
    for (DeviceId i = 0; i < d; ++i) {
      up.forward();
      down.forward();
    }
    for (DeviceId i = d; i < devices; ++i) {
      up.forward();
      up.halves();
    }
    while (down.done(Kind::kForward) < micros || up.done(Kind::kForward) < micros) {
      down.forward();
      down.halves();
      up.forward();
      up.halves();
    }
    // Drain. The gradients of inputs go first because other devices wait for them.
    for (DeviceId i = 0; i < d; ++i) {
      down.input();
      up.input();
    }
    while (down.done(Kind::kWeight) < micros || up.done(Kind::kWeight) < micros) {
      down.halves();
      up.halves();
    }
  }
  return schedule;
}

Result<Schedule> dual_pipe_v(const Pipeline& pipeline) {
  WEFT_TRY(v_placement(pipeline, "DualPipeV"));
  const DeviceId devices = pipeline.devices();
  const Micro micros = pipeline.micro_batches;
  if (micros < 2 * devices) {
    return unfit("DualPipeV needs at least as many micro-batches as stages, " +
                 std::to_string(2 * devices));
  }
  Schedule schedule;
  schedule.orders.resize(devices);
  for (DeviceId d = 0; d < devices; ++d) {
    Turn down{&schedule.orders[d], d, micros};
    Turn up{&schedule.orders[d], 2 * devices - 1 - d, micros};
    const DeviceId behind = devices - 1 - d;
    down.forward(2 * behind);
    for (DeviceId i = 0; i <= d; ++i) {
      down.forward();
      up.forward();
    }
    for (DeviceId i = 0; i < behind; ++i) {
      up.halves();
      up.forward();
    }
    for (Micro i = 0; i < micros - 2 * devices + d + 1; ++i) {
      down.forward();
      up.halves();
      up.forward();
      down.halves();
    }
    for (DeviceId i = 0; i < behind; ++i) {
      up.halves();
      up.forward();
      down.halves();
    }
    // Drain. The first half runs both halves of a backward together; after that the gradients of
    // inputs go first, because other devices wait for them, and weights fill the gaps.
    for (DeviceId i = 0; i <= d; ++i) {
      const bool early = i < (d + 1) / 2;
      up.input();
      if (early) up.weight();
      down.input();
      if (early) down.weight();
    }
    for (DeviceId i = 0; i < behind; ++i) {
      up.weight();
      down.input();
    }
    while (down.done(Kind::kWeight) < micros || up.done(Kind::kWeight) < micros) {
      up.weight();
      down.weight();
    }
  }
  return schedule;
}

Result<Schedule> family(std::string_view name, const Pipeline& pipeline) {
  if (name == "gpipe") return gpipe(pipeline);
  if (name == "1f1b") return one_f_one_b(pipeline);
  if (name == "interleaved") return interleaved_1f1b(pipeline);
  if (name == "zb-h1") return zb_h1(pipeline);
  if (name == "zb-v") return zb_v(pipeline);
  if (name == "dualpipe-v") return dual_pipe_v(pipeline);
  return unfit("there is no schedule '" + std::string(name) +
               "'; give gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipe-v");
}

}  // namespace weft::pipeline
