// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: builds a large job from copies of a small recorded job. Each copy is a
// tensor-parallel group on a separate host. The smallest all-reduces get a group of all ranks. They
// stand for the data-parallel all-reduces that a real job of this size has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

struct CopyOptions {
  std::int32_t copies = 128;
  std::uint64_t seed = 7;
  Nanos clock = 50 * kMillisecond;       ///< largest clock offset of a host
  Nanos rank_clock = 20 * kMicrosecond;  ///< largest further offset of a rank on its host
  Nanos end_jitter = 3 * kMicrosecond;   ///< ends of a collective differ by at most twice this
  double stretch = 0.05;                 ///< relative change of the work between collectives
};

/// Maps times piecewise linearly between given points. The map never reverses the order of two
/// times. So events that nested or touched before still nest or touch.
class TimeWarp {
 public:
  void add(Nanos from, Nanos to) {
    if (!from_.empty() && (from <= from_.back() || to <= to_.back())) return;
    from_.push_back(from);
    to_.push_back(to);
  }
  Nanos operator()(Nanos t) const {
    const auto next = std::upper_bound(from_.begin(), from_.end(), t);
    if (next == from_.begin()) return t;
    const auto k = static_cast<std::size_t>(next - from_.begin()) - 1;
    if (next == from_.end()) return t + to_[k] - from_[k];
    const double share =
        static_cast<double>(t - from_[k]) / static_cast<double>(from_[k + 1] - from_[k]);
    return to_[k] + static_cast<Nanos>(share * static_cast<double>(to_[k + 1] - to_[k]));
  }

 private:
  std::vector<Nanos> from_, to_;
};

/// Makes a random map of times. It moves the ends of collectives only by the jitter, so that the
/// ranks still agree about these ends. It stretches or shrinks the work between them.
inline TimeWarp disturb(const RankTrace& trace, const CopyOptions& options,
                        std::mt19937_64& random) {
  std::vector<Nanos> ends;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const bool device = trace.events.kind[i] == EventKind::kKernel;
    const std::string_view name = trace.names.text(trace.events.name[i]);
    if (device && kind_from_name(name) != CollectiveKind::kOther)
      ends.push_back(trace.events.end(i));
  }
  std::sort(ends.begin(), ends.end());
  std::uniform_real_distribution<double> pick(-1, 1);
  TimeWarp warp;
  Nanos before = 0;
  warp.add(0, 0);
  for (const Nanos end : ends) {
    const Nanos middle = before + (end - before) / 2;
    const auto shift = pick(random) * options.stretch * static_cast<double>(end - before) / 2;
    warp.add(middle, middle + static_cast<Nanos>(shift));
    warp.add(end, end + static_cast<Nanos>(pick(random) * static_cast<double>(options.end_jitter)));
    before = end;
  }
  return warp;
}

/// Makes copy number `copy` of one rank (`trace`) of a recorded job of `world` ranks.
inline RankTrace copy_rank(const RankTrace& trace, std::int32_t world, std::int32_t copy,
                           const CopyOptions& options) {
  RankTrace out = trace;
  out.rank = trace.rank + copy * world;
  out.world = world * options.copies;
  out.host = "node" + std::to_string(copy);
  out.file = out.host + "/" + trace.file;
  out.process = trace.rank + 1000;
  std::mt19937_64 host_random(options.seed + static_cast<std::uint64_t>(copy));
  std::mt19937_64 random(options.seed * 1'000'003 + static_cast<std::uint64_t>(out.rank));
  const auto within = [](Nanos most, std::mt19937_64& from) {
    return std::uniform_int_distribution<Nanos>(-most, most)(from);
  };
  out.epoch += within(options.clock, host_random) + within(options.rank_clock, random);

  const TimeWarp warp = disturb(trace, options, random);
  for (std::size_t i = 0; i < out.events.size(); ++i) {
    const Nanos start = warp(trace.events.start[i]);
    out.events.duration[i] = warp(trace.events.end(i)) - start;
    out.events.start[i] = start;
  }
  for (FlowPoint& flow : out.flows) flow.time = warp(flow.time);
  for (StepMark& step : out.steps) {
    step.start = warp(step.start);
    step.end = warp(step.end);
  }

  const NameId tensor = out.names.intern("tp" + std::to_string(copy));
  const NameId all = out.names.intern("world");
  out.groups.assign(2, {});
  out.groups[0].name = out.names.text(tensor);
  out.groups[1].name = out.names.text(all);
  for (std::int32_t r = 0; r < world; ++r) out.groups[0].ranks.push_back(copy * world + r);
  for (std::int32_t r = 0; r < out.world; ++r) out.groups[1].ranks.push_back(r);
  const auto reduces = [&](const CollectiveDetail& call) {
    return kind_from_name(out.names.text(call.name)) == CollectiveKind::kAllReduce &&
           call.in_elements > 0 && call.group_size == world;
  };
  std::int64_t smallest = INT64_MAX;
  for (const CollectiveDetail& call : out.collectives) {
    if (reduces(call)) smallest = std::min(smallest, call.in_elements);
  }
  for (CollectiveDetail& call : out.collectives) {
    if (call.group_size != world) continue;
    const bool shared = reduces(call) && call.in_elements == smallest;
    call.group = shared ? all : tensor;
    call.group_size = shared ? out.world : world;
  }
  return out;
}

}  // namespace weft::trace
