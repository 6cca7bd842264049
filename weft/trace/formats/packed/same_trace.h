// SPDX-License-Identifier: Apache-2.0
// For tests: compares two traces member by member. The structured bindings name every member of
// every table, so a new member does not compile until it is compared here too.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/trace/events.h"

namespace weft::trace {

inline auto fields(const Lane& row) {
  const auto& [a, b, c, d, e] = row;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const KernelDetail& row) {
  const auto& [a, b, c] = row;
  return std::tie(a, b, c);
}
inline auto fields(const HostOpDetail& row) {
  const auto& [a, b, c, d, e] = row;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const CopyDetail& row) {
  const auto& [a] = row;
  return std::tie(a);
}
inline auto fields(const SyncDetail& row) {
  const auto& [a, b, c, d] = row;
  return std::tie(a, b, c, d);
}
inline auto fields(const MemoryDetail& row) {
  const auto& [a, b, c, d, e] = row;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const CollectiveDetail& row) {
  const auto& [a, b, c, d, e, f, g, h, i] = row;
  return std::tie(a, b, c, d, e, f, g, h, i);
}
inline auto fields(const Events& row) {
  const auto& [a, b, c, d, e, f, g, h] = row;
  return std::tie(a, b, c, d, e, f, g, h);
}
inline auto fields(const FlowPoint& row) {
  const auto& [a, b, c, d] = row;
  return std::tie(a, b, c, d);
}
inline auto fields(const StepMark& row) {
  const auto& [a, b, c, d] = row;
  return std::tie(a, b, c, d);
}
inline auto fields(const ProcessGroup& row) {
  const auto& [a, b, c] = row;
  return std::tie(a, b, c);
}
inline auto fields(const PhaseDetail& row) {
  const auto& [a, b, c, d] = row;
  return std::tie(a, b, c, d);
}
inline auto fields(const Dependency& row) {
  const auto& [a, b] = row;
  return std::tie(a, b);
}
inline auto fields(const WireConnection& row) {
  const auto& [a, b, c, d, e] = row;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const WireTransfer& row) {
  const auto& [a, b, c, d, e, f] = row;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const ProfilerFacts& row) {
  const auto& [a, b, c, d, e, f, g, h] = row;
  return std::tie(a, b, c, d, e, f, g, h);
}

template <class Row>
bool same_rows(const std::vector<Row>& a, const std::vector<Row>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (fields(a[i]) != fields(b[i])) return false;
  }
  return true;
}

inline std::vector<std::string> texts(const Interner& names) {
  std::vector<std::string> list;
  for (NameId id = 0; id < names.size(); ++id) list.emplace_back(names.text(id));
  return list;
}

/// The name of the first table or member that differs; empty if none does. Ignores `file` and
/// `origin`, which packing changes by design.
inline std::string difference(const RankTrace& x, const RankTrace& y) {
  const auto& [file1, format1, origin1, rank1, world1, counts1, sends1, dataflow1, host1, process1,
               cut1, replica1, stage1, shard1, epoch1, names1, events1, lanes1, kernels1, ops1,
               copies1, syncs1, memory1, phases1, collectives1, flows1, dependencies1, steps1,
               groups1, devices1, wire1, facts1] = x;
  const auto& [file2, format2, origin2, rank2, world2, counts2, sends2, dataflow2, host2, process2,
               cut2, replica2, stage2, shard2, epoch2, names2, events2, lanes2, kernels2, ops2,
               copies2, syncs2, memory2, phases2, collectives2, flows2, dependencies2, steps2,
               groups2, devices2, wire2, facts2] = y;
  const std::pair<const char*, bool> parts[] = {
      {"format", format1 == format2},
      {"rank and file facts",
       std::tie(rank1, world1, counts1, sends1, dataflow1, host1, process1, cut1) ==
           std::tie(rank2, world2, counts2, sends2, dataflow2, host2, process2, cut2)},
      {"layout and epoch",
       std::tie(replica1, stage1, shard1, epoch1) == std::tie(replica2, stage2, shard2, epoch2)},
      {"names", texts(names1) == texts(names2)},
      {"events", fields(events1) == fields(events2)},
      {"lanes", same_rows(lanes1, lanes2)},
      {"kernels", same_rows(kernels1, kernels2)},
      {"host_ops", same_rows(ops1, ops2)},
      {"copies", same_rows(copies1, copies2)},
      {"syncs", same_rows(syncs1, syncs2)},
      {"memory", same_rows(memory1, memory2)},
      {"phases", same_rows(phases1, phases2)},
      {"collectives", same_rows(collectives1, collectives2)},
      {"flows", same_rows(flows1, flows2)},
      {"dependencies", same_rows(dependencies1, dependencies2)},
      {"steps", same_rows(steps1, steps2)},
      {"groups", same_rows(groups1, groups2)},
      {"devices", devices1 == devices2},
      {"wire", same_rows(wire1.connections, wire2.connections) &&
                   same_rows(wire1.transfers, wire2.transfers)},
      {"facts", fields(facts1) == fields(facts2)},
  };
  for (const auto& [name, same] : parts) {
    if (!same) return name;
  }
  return {};
}

}  // namespace weft::trace
