// SPDX-License-Identifier: Apache-2.0
// Looks for exposed communication. One suspect removes the transfers of all collectives and
// messages; if there are several groups (kind, process group, number of ranks), one more suspect
// per group removes only its transfers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "weft/cost/interference.h"
#include "weft/diagnose/suspects.h"
#include "weft/trace/match/calls.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;

/// Sets the duration of the transfer to 0. The members still wait for each other.
void take_out(const Graph& graph, const graph::Collective& collective, Removal& removal) {
  const auto take = [&](OpId op) {
    if (graph.ops.duration[op] > 0) removal.durations.emplace_back(op, 0);
  };
  if (collective.transfer != kNoId) take(collective.transfer);
  for (const OpId arrival : collective.arrivals) take(arrival);
}

std::string advice_for(trace::CollectiveKind kind) {
  switch (kind) {
    case trace::CollectiveKind::kAllReduce:
      return "try other gradient bucket sizes (ddp.bucket_mb), overlap all-reduces with the "
             "backward pass, or send fewer bytes (half precision, gradient accumulation)";
    case trace::CollectiveKind::kAllGather:
    case trace::CollectiveKind::kReduceScatter:
      return "prefetch earlier, shard over fewer ranks (hybrid sharding), or send half precision";
    case trace::CollectiveKind::kAllToAll:
      return "overlap it with dense compute, or quantise the data";
    case trace::CollectiveKind::kSendRecv:
      return "overlap messages with compute of another micro-batch, or cut the model where "
             "activations are small";
    default:
      return "overlap it with compute, or send fewer bytes";
  }
}

}  // namespace

std::vector<Finding> communication(const Evidence& evidence) {
  const Graph& graph = evidence.graph;
  struct Group {
    Removal removal;
    Nanos time = 0;
    std::int64_t count = 0;
    Bytes bytes = 0;
  };
  std::map<std::tuple<trace::CollectiveKind, std::string, std::int32_t>, Group> groups;
  Finding all;
  for (const graph::Collective& collective : graph.collectives) {
    Group& group = groups[{collective.kind, collective.group, collective.ranks}];
    take_out(graph, collective, group.removal);
    take_out(graph, collective, all.removal);
    ++group.count;
    if (collective.transfer != kNoId) group.time += graph.ops.duration[collective.transfer];
    if (collective.bytes > 0) group.bytes += collective.bytes;
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    const OpKind kind = graph.ops.kind[op];
    const bool moves = kind == OpKind::kPush || kind == OpKind::kPull;
    if (moves && graph.ops.duration[op] > 0) all.removal.durations.emplace_back(op, 0);
  }
  if (all.removal.empty()) return {};
  // The advice for all transfers is that for the group with most transfer time.
  const auto largest =
      std::max_element(groups.begin(), groups.end(),
                       [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
  const bool any = largest != groups.end();
  const std::string most = any ? trace::to_text(std::get<0>(largest->first)) : "";
  all.advice = any ? advice_for(std::get<0>(largest->first))
                   : "overlap transfers with compute, or send fewer bytes";
  std::vector<Finding> findings;
  if (groups.size() > 1) {
    std::map<trace::CollectiveKind, std::size_t> same_kind;
    for (const auto& [key, group] : groups) ++same_kind[std::get<0>(key)];
    for (auto& [key, group] : groups) {
      const auto& [kind, name, ranks] = key;
      Finding& finding = findings.emplace_back();
      finding.kind = "collective";
      finding.title = fmt::format("transfers: {}", trace::to_text(kind));
      if (same_kind[kind] > 1) finding.title += fmt::format(" of {} ranks", ranks);
      finding.what = fmt::format(
          "the transfers of {} {} operations over {} ranks{}{}", group.count, trace::to_text(kind),
          ranks, name.empty() ? "" : " (group " + name + ")",
          group.bytes > 0
              ? fmt::format(", {:.1f} MB in total", static_cast<double>(group.bytes) / 1e6)
              : "");
      finding.advice = advice_for(kind);
      finding.removal = std::move(group.removal);
    }
  }
  // Without any communication, kernels run at full speed. The suspects of single groups do not
  // model that, because the slow-down of a kernel cannot be attributed to one group.
  if (!evidence.job.from_phases) {
    const cost::Interference interference = cost::measure_interference(evidence.job.run, graph);
    Graph alone = graph;
    cost::remove_interference(alone, interference);
    for (OpId op = 0; op < graph.size(); ++op) {
      if (graph.ops.kind[op] == OpKind::kKernel &&
          alone.ops.duration[op] != graph.ops.duration[op]) {
        all.removal.durations.emplace_back(op, alone.ops.duration[op]);
      }
    }
  }
  all.kind = "exposed_communication";
  all.title = "transfers";
  all.what = fmt::format(
      "{} collectives and messages{} move data while no compute hides it; without them, kernels "
      "that run at the same time would be faster too",
      graph.collectives.size(), groups.size() > 1 ? ", mostly " + most + "," : "");
  all.what_if = "comm=off";
  findings.push_back(std::move(all));
  return findings;
}

}  // namespace weft::diagnose
