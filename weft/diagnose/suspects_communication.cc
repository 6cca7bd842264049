// SPDX-License-Identifier: Apache-2.0
// Looks for exposed communication. One suspect removes the transfers of all collectives and
// messages. If there are several groups (kind, process group, number of ranks), each group is a
// further suspect, which removes only the transfers of this group.
#include <algorithm>
#include <map>
#include <tuple>

#include "weft/cost/interference.h"
#include "weft/diagnose/suspects.h"
#include "weft/graph/names.h"
#include "weft/trace/match/calls.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;

/// The collectives of one kind in one process group.
struct Group {
  Removal removal;
  Nanos time = 0;  ///< time of all its transfers
  std::int64_t operations = 0;
  Bytes bytes = 0;  ///< sum of the known sizes
};
/// The key is the kind, the name of the process group, and the number of ranks.
using Groups = std::map<std::tuple<trace::CollectiveKind, std::string, std::int32_t>, Group>;

/// Sets the durations of the transfer and of its arrivals to 0. The members still wait for each
/// other.
void remove_transfer(const Graph& graph, const graph::Collective& collective, Removal& removal) {
  const auto remove = [&](OpId op) {
    if (graph.ops.duration[op] > 0) removal.durations.emplace_back(op, 0);
  };
  if (collective.transfer != kNoId) remove(collective.transfer);
  for (const OpId arrival : collective.arrivals) remove(arrival);
}

Groups groups_of(const Graph& graph) {
  Groups groups;
  for (const graph::Collective& collective : graph.collectives) {
    Group& group = groups[{collective.kind, collective.group, collective.ranks}];
    remove_transfer(graph, collective, group.removal);
    ++group.operations;
    if (collective.transfer != kNoId) group.time += graph.ops.duration[collective.transfer];
    if (collective.bytes > 0) group.bytes += collective.bytes;
  }
  return groups;
}

/// Returns the removal of all transfers, pushes and pulls.
Removal all_transfers(const Graph& graph) {
  Removal removal;
  for (const graph::Collective& collective : graph.collectives) {
    remove_transfer(graph, collective, removal);
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    const OpKind kind = graph.ops.kind[op];
    const bool moves = kind == OpKind::kPush || kind == OpKind::kPull;
    if (moves && graph.ops.duration[op] > 0) removal.durations.emplace_back(op, 0);
  }
  return removal;
}

/// Lets kernels run at full speed, as they do without any communication. The suspects of single
/// groups do not do this, because it is unknown which group slows a kernel by how much.
void speed_up_kernels(const Evidence& evidence, Removal& removal) {
  if (evidence.job.from_phases) return;
  const Graph& graph = evidence.graph;
  Graph alone = graph;
  cost::remove_interference(alone, cost::measure_interference(evidence.job.run, graph));
  for (OpId op = 0; op < graph.size(); ++op) {
    const bool faster = alone.ops.duration[op] != graph.ops.duration[op];
    if (graph.ops.kind[op] == OpKind::kKernel && faster) {
      removal.durations.emplace_back(op, alone.ops.duration[op]);
    }
  }
}

/// Finds out whether DDP or FSDP runs the job. Both show gradients that become ready, but only FSDP
/// marks its work with its name.
Parallelism parallelism_of(const Evidence& evidence) {
  bool gradients = false;
  for (const trace::RankTrace& rank : evidence.job.run.ranks) {
    for (NameId name = 0; name < rank.names.size(); ++name) {
      const std::string_view text = rank.names.text(name);
      if (text.find("FSDP") != text.npos || text.find("FullyShardedDataParallel") != text.npos) {
        return Parallelism::kSharded;
      }
      gradients |= text == graph::kGradientReady;
    }
  }
  return gradients ? Parallelism::kReplicated : Parallelism::kUnknown;
}

/// Returns one suspect per group.
std::vector<Suspect> group_suspects(Groups& groups, Parallelism parallelism) {
  std::map<trace::CollectiveKind, std::size_t> groups_of_kind;
  for (const auto& [key, group] : groups) ++groups_of_kind[std::get<0>(key)];
  std::vector<Suspect> suspects;
  for (auto& [key, group] : groups) {
    const auto& [kind, name, ranks] = key;
    Suspect& suspect = suspects.emplace_back();
    suspect.kind = FindingKind::kCollective;
    suspect.facts = CollectiveFacts{
        kind, name, ranks, group.operations, group.bytes, groups_of_kind[kind] == 1, parallelism};
    suspect.removal = std::move(group.removal);
  }
  return suspects;
}

}  // namespace

std::vector<Suspect> communication(const Evidence& evidence) {
  const Graph& graph = evidence.graph;
  Suspect all;
  all.kind = FindingKind::kExposedCommunication;
  all.removal = all_transfers(graph);
  if (all.removal.empty()) return {};
  speed_up_kernels(evidence, all.removal);
  Groups groups = groups_of(graph);
  const Parallelism parallelism = parallelism_of(evidence);
  CommunicationFacts facts{graph.collectives.size(), groups.size(), std::nullopt, parallelism};
  // The advice depends on the kind of collective. For all transfers, use the group with the most
  // transfer time.
  const auto longest =
      std::max_element(groups.begin(), groups.end(),
                       [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
  if (longest != groups.end()) facts.main_kind = std::get<0>(longest->first);
  all.facts = facts;
  // If there is only one group, its suspect would equal the suspect for all transfers.
  std::vector<Suspect> suspects;
  if (groups.size() > 1) suspects = group_suspects(groups, parallelism);
  suspects.push_back(std::move(all));
  return suspects;
}

}  // namespace weft::diagnose
