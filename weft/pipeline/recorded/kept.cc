// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/kept.h"

#include <algorithm>
#include <unordered_map>

namespace weft::pipeline::recorded {
namespace {

using trace::EventKind;
using trace::kNone;

/// Allocations and frees, sorted by time: those on devices if there are any, else those on the
/// host.
std::vector<std::uint32_t> memory_events(const trace::RankTrace& trace) {
  const bool on_device =
      std::any_of(trace.memory.begin(), trace.memory.end(),
                  [](const trace::MemoryDetail& detail) { return detail.device >= 0; });
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const bool is_memory = trace.events.kind[i] == EventKind::kMemory;
    if (!is_memory || trace.events.detail[i] == kNone) continue;
    if ((trace.memory[trace.events.detail[i]].device >= 0) == on_device) list.push_back(i);
  }
  std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.events.start[a] < trace.events.start[b];
  });
  return list;
}

}  // namespace

std::optional<std::vector<Bytes>> kept_bytes(const trace::RankTrace& trace,
                                             const std::vector<LayerCall>& calls,
                                             std::size_t layers) {
  const std::vector<std::uint32_t> memory = memory_events(trace);
  if (memory.empty() || calls.empty()) return std::nullopt;
  const trace::Events& events = trace.events;
  std::vector<Nanos> pass_end(calls.back().pass + 1, 0);
  for (const LayerCall& call : calls) {
    pass_end[call.pass] = std::max(pass_end[call.pass], events.end(call.event));
  }
  std::vector<Bytes> kept(layers, 0);
  // For memory in use: maps its address to the forward that allocated it.
  std::unordered_map<std::uint64_t, const LayerCall*> owner;
  for (const std::uint32_t event : memory) {
    const trace::MemoryDetail& detail = trace.memory[events.detail[event]];
    const Nanos at = events.start[event];
    if (detail.bytes < 0) {
      const auto found = owner.find(detail.address);
      if (found == owner.end()) continue;
      // Memory that is freed while forwards still run was only temporary.
      if (at <= pass_end[found->second->pass]) kept[found->second->layer] += detail.bytes;
      owner.erase(found);
      continue;
    }
    // Find the last call that started before the allocation. The allocation must lie inside this
    // call.
    const auto after = std::upper_bound(
        calls.begin(), calls.end(), at,
        [&](Nanos time, const LayerCall& call) { return time < events.start[call.event]; });
    if (after == calls.begin()) continue;
    const LayerCall& call = *std::prev(after);
    if (at >= events.end(call.event) || events.lane[event] != events.lane[call.event]) continue;
    owner[detail.address] = &call;
    kept[call.layer] += detail.bytes;
  }
  return kept;
}

}  // namespace weft::pipeline::recorded
