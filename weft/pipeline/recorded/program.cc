// SPDX-License-Identifier: Apache-2.0
// Makes the programs that torch.distributed.pipelining 2.11 runs. torch's classes ScheduleGPipe and
// Schedule1F1B have separate code, and single_stage() does the same as this code. torch's classes
// with several stages per rank first make a list of ops (_add_send_recv in schedules.py) and then
// run it. several_stages() makes the same list.
#include "weft/pipeline/recorded/program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace weft::pipeline::recorded {
namespace {

using Kind_ = Instruction::Kind;

bool is_forward(const Op& op) { return op.kind == Kind::kForward; }

bool same_device(const Pipeline& pipeline, StageId a, StageId b) {
  return pipeline.stages[a].device == pipeline.stages[b].device;
}

/// The message that must arrive before the op can run; nullopt at the ends of the pipeline, and if
/// both stages are on the same device.
std::optional<Message> input(const Pipeline& pipeline, const Op& op) {
  const StageId before = is_forward(op) ? op.stage - 1 : op.stage + 1;
  if (before < 0 || before >= static_cast<StageId>(pipeline.stages.size())) return std::nullopt;
  if (same_device(pipeline, before, op.stage)) return std::nullopt;
  return Message{std::min(before, op.stage), !is_forward(op), op.micro};
}

/// The message that the op sends; nullopt in the same cases as for input().
std::optional<Message> output(const Pipeline& pipeline, const Op& op) {
  const StageId next = is_forward(op) ? op.stage + 1 : op.stage - 1;
  if (next < 0 || next >= static_cast<StageId>(pipeline.stages.size())) return std::nullopt;
  if (same_device(pipeline, next, op.stage)) return std::nullopt;
  return Message{std::min(next, op.stage), !is_forward(op), op.micro};
}

/// Writes the program of one device.
class Writer {
 public:
  explicit Writer(std::vector<Instruction>& out) : out_(out) {}

  void compute(const Op& op) { out_.push_back({Kind_::kCompute, op, {}, 0}); }
  /// Posts a batch and returns its number. An empty batch is not posted and has no number.
  std::optional<std::size_t> post(std::vector<End> batch) {
    if (batch.empty()) return std::nullopt;
    out_.push_back({Kind_::kPost, {}, std::move(batch), 0});
    return posts_++;
  }
  void wait(std::optional<std::size_t> post) {
    if (post) out_.push_back({Kind_::kWait, {}, {}, *post});
  }

 private:
  std::vector<Instruction>& out_;
  std::size_t posts_ = 0;
};

/// The program of a device with one stage. With 1F1B (`fused`), the outgoing and the incoming
/// message between a forward and a backward are posted as one batch. Other messages are posted
/// alone, and the device waits for a send one op later. With GPipe, every message is posted alone,
/// and the device waits for all sends when the kind of op changes.
std::vector<Instruction> single_stage(const Pipeline& pipeline, const std::vector<Op>& order,
                                      bool fused) {
  std::vector<Instruction> program;
  Writer writer(program);
  std::vector<std::optional<std::size_t>> sends;
  const auto wait_for_sends = [&] {
    for (const auto& send : sends) writer.wait(send);
    sends.clear();
  };
  std::vector<End> out;  // the message of the op before, not posted yet
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::vector<End> batch;
    const bool turns = i > 0 && order[i].kind != order[i - 1].kind;
    if (fused && turns) {
      batch = std::move(out);
      wait_for_sends();
    } else {
      if (fused) wait_for_sends();
      if (!out.empty()) sends.push_back(writer.post(std::move(out)));
      if (turns) wait_for_sends();
    }
    out.clear();
    if (const auto message = input(pipeline, order[i])) batch.push_back({*message, false});
    writer.wait(writer.post(std::move(batch)));
    writer.compute(order[i]);
    if (const auto message = output(pipeline, order[i])) out.push_back({*message, true});
  }
  if (!out.empty()) sends.push_back(writer.post(std::move(out)));
  wait_for_sends();
  return program;
}

/// The programs of devices with several stages. The devices take turns; in its turn, a device runs
/// one op if the message that the op needs has been posted. A send is posted right after its op,
/// and the receive is posted on the other device in the same turn.
Result<Program> several_stages(const Pipeline& pipeline, const Schedule& schedule) {
  Program program;
  const std::size_t devices = schedule.orders.size();
  program.devices.resize(devices);
  std::vector<Writer> writers;
  for (auto& out : program.devices) writers.emplace_back(out);
  std::vector<std::size_t> next(devices, 0);
  std::map<Message, std::optional<std::size_t>> received;
  std::vector<std::vector<std::optional<std::size_t>>> sends(devices);
  // Ends when a whole round changed nothing: all orders are done, or they deadlock.
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t d = 0; d < devices; ++d) {
      if (next[d] == schedule.orders[d].size()) continue;
      const Op& op = schedule.orders[d][next[d]];
      if (const auto message = input(pipeline, op)) {
        const auto found = received.find(*message);
        if (found == received.end()) continue;
        writers[d].wait(found->second);
      }
      writers[d].compute(op);
      if (const auto message = output(pipeline, op)) {
        sends[d].push_back(writers[d].post({{*message, true}}));
        const StageId to = is_forward(op) ? op.stage + 1 : op.stage - 1;
        received[*message] = writers[pipeline.stages[to].device].post({{*message, false}});
      }
      ++next[d];
      progress = true;
    }
  }
  for (std::size_t d = 0; d < devices; ++d) {
    if (next[d] < schedule.orders[d].size()) {
      return fail(ErrorCode::kInfeasible,
                  "the orders of the devices deadlock: " + print(schedule.orders[d][next[d]]) +
                      " can never start");
    }
    for (const auto& send : sends[d]) writers[d].wait(send);
  }
  return program;
}

}  // namespace

Result<Program> torch_program(std::string_view family, const Pipeline& pipeline,
                              const Schedule& schedule) {
  if (family == "interleaved") return several_stages(pipeline, schedule);
  if (family != "gpipe" && family != "1f1b") {
    return fail(ErrorCode::kUsage, "'" + std::string(family) +
                                       "' cannot be predicted from a recording; give gpipe, 1f1b "
                                       "or interleaved");
  }
  Program program;
  for (const auto& order : schedule.orders) {
    program.devices.push_back(single_stage(pipeline, order, family == "1f1b"));
  }
  return program;
}

bool torch_takes(std::string_view family, const Pipeline& pipeline) {
  const Micro micros = pipeline.micro_batches;
  if (family == "1f1b") return micros >= static_cast<Micro>(pipeline.stages.size());
  if (family == "interleaved") return micros % std::max<Micro>(1, micros / pipeline.devices()) == 0;
  return true;
}

}  // namespace weft::pipeline::recorded
