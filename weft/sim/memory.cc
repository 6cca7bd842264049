// SPDX-License-Identifier: Apache-2.0
// Computes memory curves in one of two ways. If the trace has allocator events, from_allocator()
// adds them up. Some events also have the allocator's total, which corrects the sum. If there are
// no such events, from_shapes() estimates activations. It pairs each forward op with its backward
// op by PyTorch's sequence number. If the backward function needs the inputs of the forward op,
// these inputs count from the forward op to the backward op.
#include "weft/sim/memory.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace weft::sim {
namespace {

using trace::EventKind;

// Beginnings of the names of backward functions that need the inputs of their forward op. Views
// need nothing. An activation such as relu keeps its result. This result is the input of the next
// op, so it is counted there.
constexpr std::array<std::string_view, 17> kKeepsInputs = {"Conv",
                                                           "Addmm",
                                                           "Mm",
                                                           "Bmm",
                                                           "Baddbmm",
                                                           "Linear",
                                                           "NativeBatchNorm",
                                                           "CudnnBatchNorm",
                                                           "MiopenBatchNorm",
                                                           "NativeLayerNorm",
                                                           "NativeGroupNorm",
                                                           "FusedRmsNorm",
                                                           "MaxPool",
                                                           "Gelu",
                                                           "Silu",
                                                           "LogSoftmax",
                                                           "ScaledDotProduct"};

bool keeps_inputs(std::string_view backward) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  if (backward.starts_with(kEngine)) backward.remove_prefix(kEngine.size());
  return std::any_of(kKeepsInputs.begin(), kKeepsInputs.end(),
                     [&](std::string_view name) { return backward.starts_with(name); });
}

/// Returns the innermost host op at an instant: of all ops that cover the instant, the one that
/// started last. Prefers an op on `lane`, because an allocation belongs to the thread that made it.
/// Linear in events.
std::string host_op_at(const trace::RankTrace& trace, Nanos time, std::uint32_t lane) {
  const trace::Events& events = trace.events;
  std::size_t best = events.size();
  const auto rank_of = [&](std::size_t i) {
    return std::tuple(events.lane[i] == lane, events.start[i], -events.duration[i]);
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::kHostOp) continue;
    if (time < events.start[i] || time > events.end(i)) continue;
    if (best == events.size() || rank_of(best) < rank_of(i)) best = i;
  }
  return best == events.size() ? std::string() : std::string(trace.names.text(events.name[best]));
}

std::int64_t step_at(const trace::RankTrace& trace, Nanos time) {
  for (const trace::StepMark& mark : trace.steps) {
    if (mark.start <= time && time < mark.end) return mark.number;
  }
  return -1;
}

/// Fills curve.peak. `lanes[i]` is the host lane of the event behind curve.points[i].
void name_peak(const trace::RankTrace& trace, const std::vector<std::uint32_t>& lanes,
               MemoryCurve& curve) {
  const auto highest = std::max_element(
      curve.points.begin(), curve.points.end(),
      [](const MemoryPoint& a, const MemoryPoint& b) { return a.allocated < b.allocated; });
  const auto lane = lanes[static_cast<std::size_t>(highest - curve.points.begin())];
  curve.peak = {highest->time, highest->allocated, step_at(trace, highest->time),
                host_op_at(trace, highest->time, lane)};
}

MemoryCurve from_allocator(const trace::RankTrace& trace, std::int32_t device,
                           std::vector<std::size_t> changes) {
  const trace::Events& events = trace.events;
  std::stable_sort(changes.begin(), changes.end(), [&events](std::size_t a, std::size_t b) {
    return events.start[a] < events.start[b];
  });
  MemoryCurve curve;
  curve.device = device;
  curve.source = MemorySource::kAllocationsOnly;
  std::vector<std::uint32_t> lanes;
  Bytes level = 0;
  for (std::size_t event : changes) {
    const trace::MemoryDetail& detail = trace.memory[events.detail[event]];
    level += detail.bytes;
    if (detail.total_allocated >= 0) {
      // The first total also shows how much was allocated before the recording began. The points
      // before it lack this amount, so it is added to them.
      if (curve.source == MemorySource::kAllocationsOnly) {
        for (MemoryPoint& point : curve.points) point.allocated += detail.total_allocated - level;
        curve.source = MemorySource::kAllocator;
      }
      level = detail.total_allocated;
    }
    curve.points.push_back({events.start[event], level, detail.total_reserved});
    lanes.push_back(events.lane[event]);
  }
  if (curve.source == MemorySource::kAllocationsOnly) {
    // If the sum becomes negative, memory from before the recording was freed. At least that much
    // was allocated at the start, so raise the whole curve by it.
    Bytes lowest = 0;
    for (const MemoryPoint& point : curve.points) lowest = std::min(lowest, point.allocated);
    for (MemoryPoint& point : curve.points) point.allocated -= lowest;
  }
  name_peak(trace, lanes, curve);
  return curve;
}

/// Returns the device that ran most kernels, or -1 if the trace has no kernels.
std::int32_t main_device(const trace::RankTrace& trace) {
  std::map<std::int32_t, std::int64_t> kernels;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != EventKind::kKernel) continue;
    ++kernels[trace.lanes[trace.events.lane[i]].device];
  }
  const auto most =
      std::max_element(kernels.begin(), kernels.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == kernels.end() ? -1 : most->first;
}

/// One autograd node that keeps its inputs.
struct Node {
  std::size_t forward = 0;  ///< event of the forward op
  Nanos freed = 0;          ///< end of the backward op
};

std::vector<Node> autograd_nodes(const trace::RankTrace& trace) {
  const trace::Events& events = trace.events;
  std::vector<std::size_t> ops;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::kHostOp || events.detail[i] == trace::kNone) continue;
    if (trace.host_ops[events.detail[i]].sequence >= 0) ops.push_back(i);
  }
  std::stable_sort(ops.begin(), ops.end(), [&events](std::size_t a, std::size_t b) {
    return events.start[a] < events.start[b];
  });
  // With each forward op, the profiler stores the sequence number that the next autograd node will
  // get. So several forward ops have the same number. The last of them before the backward pass
  // created the node. A backward op (fwd_thread > 0) has the number of its node.
  std::unordered_map<std::int64_t, std::size_t> open;
  std::vector<Node> nodes;
  for (std::size_t i : ops) {
    const trace::HostOpDetail& detail = trace.host_ops[events.detail[i]];
    if (detail.fwd_thread <= 0) {
      open[detail.sequence] = i;
      continue;
    }
    const auto forward = open.find(detail.sequence);
    if (forward == open.end()) continue;
    const Bytes bytes = trace.host_ops[events.detail[forward->second]].input_bytes;
    if (bytes > 0 && keeps_inputs(trace.names.text(events.name[i]))) {
      nodes.push_back({forward->second, events.end(i)});
    }
    open.erase(forward);
  }
  return nodes;
}

std::vector<MemoryCurve> from_shapes(const trace::RankTrace& trace) {
  const trace::Events& events = trace.events;
  struct SizeChange {
    Nanos time;
    Bytes bytes;
    std::uint32_t lane;
  };
  std::vector<SizeChange> changes;
  for (const Node& node : autograd_nodes(trace)) {
    const Bytes bytes = trace.host_ops[events.detail[node.forward]].input_bytes;
    changes.push_back({events.start[node.forward], bytes, events.lane[node.forward]});
    changes.push_back({node.freed, -bytes, events.lane[node.forward]});
  }
  if (changes.empty()) return {};
  std::stable_sort(changes.begin(), changes.end(),
                   [](const SizeChange& a, const SizeChange& b) { return a.time < b.time; });
  MemoryCurve curve;
  curve.device = main_device(trace);
  curve.source = MemorySource::kEstimatedFromShapes;
  std::vector<std::uint32_t> lanes;
  Bytes level = 0;
  for (const SizeChange& change : changes) {
    level += change.bytes;
    curve.points.push_back({change.time, level, -1});
    lanes.push_back(change.lane);
  }
  name_peak(trace, lanes, curve);
  return {curve};
}

}  // namespace

const char* memory_source_name(MemorySource source) {
  switch (source) {
    case MemorySource::kAllocator:
      return "allocator";
    case MemorySource::kAllocationsOnly:
      return "allocations";
    case MemorySource::kEstimatedFromShapes:
      return "estimated";
  }
  return "";
}

std::vector<MemoryCurve> memory_over_time(const trace::RankTrace& trace) {
  std::map<std::int32_t, std::vector<std::size_t>> changes;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != EventKind::kMemory) continue;
    if (trace.events.detail[i] == trace::kNone) continue;
    changes[trace.memory[trace.events.detail[i]].device].push_back(i);
  }
  if (changes.empty()) return from_shapes(trace);
  std::vector<MemoryCurve> curves;
  for (auto& [device, events] : changes) {
    curves.push_back(from_allocator(trace, device, std::move(events)));
  }
  return curves;
}

std::vector<MemoryCurve> training_memory(const trace::RankTrace& trace) {
  std::vector<MemoryCurve> curves = memory_over_time(trace);
  const auto on_host = [](const MemoryCurve& curve) { return curve.device < 0; };
  if (!std::all_of(curves.begin(), curves.end(), on_host)) std::erase_if(curves, on_host);
  return curves;
}

}  // namespace weft::sim
