// SPDX-License-Identifier: Apache-2.0
// check() rejects every pipeline that the simulator and the solvers could not handle: wrong shapes,
// negative numbers, and numbers whose sums would overflow. So no other code needs such checks.
#include "weft/pipeline/model/pipeline.h"

#include <algorithm>
#include <cmath>

namespace weft::pipeline {
namespace {

constexpr Nanos kLongestOp = Nanos{1} << 42;  ///< also the largest memory change of an op
/// Limit of the sum of all times, and of all memory changes: sums then stay far below 2^63.
constexpr double kMostInAll = 1e17;
/// The most ops of a pipeline. Tables with one entry per op then stay small enough.
constexpr std::int64_t kMostOps = std::int64_t{1} << 24;

Status check_time(Nanos time, const std::string& what) {
  if (time < 0) return bad_input(what + " is negative");
  if (time > kLongestOp) return bad_input(what + " is too long; use a coarser unit");
  return {};
}

Status check_stage(const Stage& stage, const std::string& name) {
  if (stage.device < 0) return bad_input(name + " has no device");
  WEFT_TRY(check_time(stage.forward, "the forward time of " + name));
  WEFT_TRY(check_time(stage.input, "the backward time of " + name));
  WEFT_TRY(check_time(stage.weight, "the time for weight gradients of " + name));
  WEFT_TRY(check_time(stage.all_reduce, "the all-reduce of " + name));
  for (const LinkId link : stage.reduce_links) {
    if (link < 0) return bad_input("the all-reduce of " + name + " has no link");
  }
  for (const Bytes change : {stage.forward_memory, stage.input_memory, stage.weight_memory}) {
    if (change > kLongestOp || change < -kLongestOp)
      return bad_input("a memory change of " + name + " is too large; use a coarser unit");
  }
  if (stage.forward_memory + stage.input_memory + stage.weight_memory > 0) {
    return bad_input(name + " takes more memory for a micro-batch than it frees");
  }
  return {};
}

Status check_transfer(const Transfer& transfer, const std::string& name) {
  WEFT_TRY(check_time(transfer.time, "the transfer " + name));
  WEFT_TRY(check_time(transfer.latency, "the latency " + name));
  for (const LinkId link : transfer.links) {
    if (link < 0) return bad_input("the transfer " + name + " has no link");
  }
  return {};
}

Status check_sums(const Pipeline& pipeline) {
  double times = 0, memory = 0;
  const auto add = [](double& sum, auto... values) {
    ((sum += std::abs(static_cast<double>(values))), ...);
  };
  for (const Stage& stage : pipeline.stages) {
    add(times, stage.forward, stage.input, stage.weight, stage.all_reduce);
    add(memory, stage.forward_memory, stage.input_memory, stage.weight_memory);
  }
  for (const Boundary& boundary : pipeline.boundaries) {
    add(times, boundary.forward.time, boundary.forward.latency, boundary.backward.time,
        boundary.backward.latency);
  }
  if (times * pipeline.micro_batches > kMostInAll) {
    return bad_input("the sum of all times is too large; use a coarser unit");
  }
  if (memory * pipeline.micro_batches > kMostInAll) {
    return bad_input("the sum of all memory changes is too large; use a coarser unit");
  }
  return {};
}

/// Each device must be able to run one micro-batch through each of its stages while it holds
/// nothing else. Otherwise no schedule exists.
Status check_memory(const Pipeline& pipeline) {
  if (pipeline.memory_limits.empty()) return {};
  if (static_cast<DeviceId>(pipeline.memory_limits.size()) != pipeline.devices()) {
    return bad_input("there are " + std::to_string(pipeline.memory_limits.size()) +
                     " memory limits for " + std::to_string(pipeline.devices()) + " devices");
  }
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    const Stage& stage = pipeline.stages[s];
    const Bytes peak =
        std::max({Bytes{0}, stage.forward_memory, stage.forward_memory + stage.input_memory,
                  stage.forward_memory + stage.input_memory + stage.weight_memory});
    if (peak > pipeline.memory_limits[stage.device]) {
      return fail(ErrorCode::kInfeasible,
                  "stage " + std::to_string(s) + " needs a memory of " + std::to_string(peak) +
                      " for one micro-batch, but device " + std::to_string(stage.device) +
                      " has only " + std::to_string(pipeline.memory_limits[stage.device]));
    }
  }
  return {};
}

}  // namespace

DeviceId Pipeline::devices() const {
  DeviceId count = 0;
  for (const Stage& stage : stages) count = std::max(count, stage.device + 1);
  return count;
}

LinkId Pipeline::links() const {
  LinkId count = 0;
  for (const Stage& stage : stages) {
    for (const LinkId link : stage.reduce_links) count = std::max(count, link + 1);
  }
  for (const Boundary& boundary : boundaries) {
    for (const Transfer* transfer : {&boundary.forward, &boundary.backward}) {
      for (const LinkId link : transfer->links) count = std::max(count, link + 1);
    }
  }
  return count;
}

Status check(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) return bad_input("there are no stages");
  if (pipeline.micro_batches < 1) return bad_input("there are no micro-batches");
  // Three ops per stage and micro-batch: forward and both halves of the backward.
  const auto ops = static_cast<std::int64_t>(pipeline.stages.size()) * pipeline.micro_batches * 3;
  if (ops > kMostOps) return bad_input("there are too many ops");
  if (pipeline.boundaries.size() + 1 != pipeline.stages.size()) {
    return bad_input(std::to_string(pipeline.stages.size()) + " stages need " +
                     std::to_string(pipeline.stages.size() - 1) + " boundaries, but there are " +
                     std::to_string(pipeline.boundaries.size()));
  }
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    WEFT_TRY(check_stage(pipeline.stages[s], "stage " + std::to_string(s)));
  }
  if (pipeline.devices() > static_cast<DeviceId>(kMostOps))
    return bad_input("a device number is too large");
  for (std::size_t s = 0; s < pipeline.boundaries.size(); ++s) {
    const std::string names = std::to_string(s) + " and " + std::to_string(s + 1);
    WEFT_TRY(check_transfer(pipeline.boundaries[s].forward, "between stages " + names));
    WEFT_TRY(check_transfer(pipeline.boundaries[s].backward, "back between stages " + names));
  }
  WEFT_TRY(check_sums(pipeline));
  return check_memory(pipeline);
}

Pipeline make_chain(const std::vector<Nanos>& forward, const std::vector<Nanos>& input,
                    const std::vector<Nanos>& weight, Nanos latency, Micro micro_batches) {
  Pipeline pipeline;
  pipeline.micro_batches = micro_batches;
  for (std::size_t s = 0; s < forward.size(); ++s) {
    Stage stage;
    stage.device = static_cast<DeviceId>(s);
    stage.forward = forward[s];
    stage.input = input[s];
    stage.weight = weight[s];
    pipeline.stages.push_back(stage);
    if (s > 0) {
      Boundary boundary;
      boundary.forward.latency = boundary.backward.latency = latency;
      pipeline.boundaries.push_back(boundary);
    }
  }
  return pipeline;
}

Nanos duration(const Stage& stage, Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return stage.forward;
    case Kind::kInput:
      return stage.input;
    case Kind::kWeight:
      return stage.weight;
    case Kind::kBackward:
      break;
  }
  return stage.input + stage.weight;
}

Bytes memory_change(const Stage& stage, Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return stage.forward_memory;
    case Kind::kInput:
      return stage.input_memory;
    case Kind::kWeight:
      return stage.weight_memory;
    case Kind::kBackward:
      break;
  }
  return stage.input_memory + stage.weight_memory;
}

char letter(Kind kind) { return "FIWB"[static_cast<int>(kind)]; }

std::string print_time(const Pipeline& pipeline, Nanos time) {
  // Works on the decimal text, so that no digit is lost to floating point.
  std::string text = std::to_string(time);
  if (pipeline.decimals == 0) return text;
  const auto decimals = static_cast<std::size_t>(pipeline.decimals);
  const std::size_t sign = time < 0 ? 1 : 0, least = sign + decimals + 1;
  if (text.size() < least) text.insert(sign, least - text.size(), '0');
  text.insert(text.size() - decimals, 1, '.');
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace weft::pipeline
