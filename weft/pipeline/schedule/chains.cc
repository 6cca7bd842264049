// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/chains.h"

namespace weft::pipeline {
namespace {

struct Maker {
  const Pipeline& pipeline;
  Chains out = {};
  std::vector<std::vector<ChainId>> on_link = {};

  /// Puts a chain on a device; returns its position in Machine::chains.
  int place(DeviceId device, ChainId chain) {
    out.machines[device].chains.push_back(chain);
    return static_cast<int>(out.machines[device].chains.size()) - 1;
  }

  ChainId add(StageId s, Kind kind, bool is_transfer, Nanos duration) {
    out.chains.push_back({s, kind, is_transfer, duration, 0, 0});
    return static_cast<ChainId>(out.chains.size()) - 1;
  }

  ChainId add_op(StageId s, Kind kind) {
    const Stage& stage = pipeline.stages[s];
    const ChainId chain = add(s, kind, false, duration(stage, kind));
    out.chains[chain].memory = memory_change(stage, kind);
    if (kind != Kind::kForward) out.chains[chain].tail = stage.all_reduce;
    return chain;
  }

  /// Makes `to` wait for `from`. A transfer that occupies links becomes a separate chain on these
  /// links. A transfer that occupies none becomes a delay.
  void connect(ChainId from, ChainId to, const Transfer& transfer) {
    if (transfer.links.empty() || transfer.time == 0) {
      out.arcs.push_back({from, to, transfer.time + transfer.latency});
      return;
    }
    const Chain sender = out.chains[from];  // a copy, since add() may move the chains
    const ChainId sent = add(sender.stage, sender.kind, true, transfer.time);
    for (const LinkId link : transfer.links) on_link[link].push_back(sent);
    out.arcs.push_back({from, sent, 0});
    out.arcs.push_back({sent, to, transfer.latency});
  }
};

}  // namespace

Chains make_chains(const Pipeline& pipeline) {
  Maker make{pipeline};
  make.out.length = pipeline.micro_batches;
  make.out.machines.resize(pipeline.devices());
  make.on_link.resize(pipeline.links());
  std::vector<ChainId> forward, gradient;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const auto s = static_cast<StageId>(i);
    const Stage& stage = pipeline.stages[i];
    const bool halves = pipeline.split_backward && stage.weight > 0;
    forward.push_back(make.add_op(s, Kind::kForward));
    gradient.push_back(make.add_op(s, halves ? Kind::kInput : Kind::kBackward));
    auto& precedence = make.out.machines[stage.device].precedence;
    const int first = make.place(stage.device, forward.back());
    const int second = make.place(stage.device, gradient.back());
    precedence.emplace_back(first, second);
    if (halves) {
      const int third = make.place(stage.device, make.add_op(s, Kind::kWeight));
      precedence.emplace_back(second, third);
    }
  }
  for (std::size_t s = 0; s < pipeline.boundaries.size(); ++s) {
    make.connect(forward[s], forward[s + 1], pipeline.boundaries[s].forward);
    make.connect(gradient[s + 1], gradient[s], pipeline.boundaries[s].backward);
  }
  for (std::size_t d = 0; d < pipeline.memory_limits.size(); ++d) {
    make.out.machines[d].memory_limit = pipeline.memory_limits[d];
  }
  for (auto& chains : make.on_link) {
    if (!chains.empty()) make.out.machines.push_back({std::move(chains), {}, std::nullopt});
  }
  return std::move(make.out);
}

}  // namespace weft::pipeline
