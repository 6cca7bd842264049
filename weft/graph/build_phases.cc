// SPDX-License-Identifier: Apache-2.0
// Turns an op timeline into a graph, in these steps:
//   1. Read each rank's place from its trace, and sort all recorded work by step.
//   2. Decide once per run whether the job overlaps the reduction of gradients with the backward.
//   3. For each step, phase_schedule.cc lists the dependencies and the groups (collectives and
//      messages). Local work becomes a kernel op, and other work becomes an arrival. Each group
//      gets one transfer. The transfer lasts from the last arrival until the first member ends.
//      A dependency that the recorded times contradict is dropped. If a piece of work starts later
//      than its dependencies allow, this additional time becomes a delay.
#include "weft/graph/build_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "weft/graph/builder.h"
#include "weft/graph/phase_schedule.h"

namespace weft::graph {
namespace {

constexpr DiagnosticKind kUnknownPhase{
    "phase-unknown", Severity::kDataLoss,
    "work of a kind that the pipeline model does not know was left out",
    "report the names listed here, so that support for them can be added"};
constexpr DiagnosticKind kPhaseWithoutStep{"phase-without-step", Severity::kDataLoss,
                                           "work that belongs to no step was left out",
                                           "record the step number with every op"};
constexpr DiagnosticKind kIdleMessage{"phase-message-idle", Severity::kInfo,
                                      "sends or receives that belong to no compute were left out",
                                      "nothing to do"};
constexpr DiagnosticKind kLonelyMember{
    "phase-partner-missing", Severity::kWarning,
    "a message or collective lacks members; its transfer does not wait for them",
    "check that every worker of the job is in the timeline"};
constexpr DiagnosticKind kContradictedOrder{
    "phase-order-contradicted", Severity::kWarning,
    "work began long before the work that it depends on ended; this dependency was dropped",
    "check that the clocks of the hosts agree, and that the job runs a synchronous pipeline"};

/// If work starts earlier than the end of the work that it should wait for, and the difference is
/// more than this, an error of the clocks cannot explain it. Then the dependency does not exist.
constexpr Nanos kContradiction = 10 * kMillisecond;
/// If all members of a group start within this time of each other, the recording shows only one
/// common start: that of the last arrival. The other arrivals were not recorded.
constexpr Nanos kTogether = 50 * kMicrosecond;
constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
/// A damaged file may contain any numbers. These limits keep stage * chunk within 32 bits.
constexpr std::int32_t kLayoutLimit = 1 << 20;
constexpr std::int32_t kChunkLimit = 1 << 10;

Result<Layout> layout_of(const trace::Run& run) {
  Layout layout;
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> taken;
  for (const trace::RankTrace& rank : run.ranks) {
    const WorkerPlace place{rank.rank, rank.replica, rank.stage, std::max(rank.shard, 0)};
    if (place.replica < 0 || place.stage < 0 || place.stage >= kLayoutLimit) {
      return fail(ErrorCode::kBadInput,
                  fmt::format("the trace of rank {} does not tell its data-parallel rank and "
                              "pipeline stage; name its tracks as 'PP rank N, TP rank M, ...'",
                              rank.rank),
                  rank.file);
    }
    if (!taken.insert({place.replica, place.stage, place.shard}).second) {
      return fail(ErrorCode::kBadInput,
                  fmt::format("two workers claim stage {} of replica {}; pass the recording of one "
                              "job only",
                              place.stage, place.replica),
                  rank.file);
    }
    layout.places.push_back(place);
    layout.stages = std::max(layout.stages, place.stage + 1);
  }
  return layout;
}

using Steps = std::map<std::int32_t, std::vector<Work>>;

/// Returns all recorded work by step. Reports the work that is left out.
Steps collect(const trace::Run& run, Interner& names, Diagnostics& diagnostics) {
  Steps steps;
  for (std::uint32_t w = 0; w < run.ranks.size(); ++w) {
    const trace::RankTrace& rank = run.ranks[w];
    for (std::uint32_t i = 0; i < rank.events.size(); ++i) {
      const std::uint32_t detail = rank.events.detail[i];
      if (rank.events.kind[i] != trace::EventKind::kPhase || detail >= rank.phases.size()) continue;
      const std::string_view name = rank.names.text(rank.events.name[i]);
      Work work{role_of(name),       w, rank.events.start[i], rank.events.end(i),
                rank.phases[detail], i, names.intern(name),   false};
      const trace::Lane& lane = rank.lanes[rank.events.lane[i]];
      if (work.role == Role::kUnknown && lane.name.ends_with("compute")) {
        work.role = Role::kOtherCompute;
      }
      if (work.role == Role::kUnknown || work.detail.chunk >= kChunkLimit) {
        diagnostics.add(kUnknownPhase, fmt::format("{} on rank {}", name, rank.rank));
      } else if (work.detail.step < 0) {
        diagnostics.add(kPhaseWithoutStep, fmt::format("{} on rank {}", name, rank.rank));
      } else {
        steps[work.detail.step].push_back(work);
      }
    }
  }
  return steps;
}

/// Whether the job overlaps the reduction of gradients with the backward pass. Either of two signs
/// shows this. First, the job records an extra reduction for those gradients that it cannot overlap
/// ("separate" gradients). Second, on most workers and steps a reduce-scatter begins before the
/// last backward ends.
bool overlaps_gradients(const Steps& steps, std::size_t workers) {
  std::int64_t early = 0, all = 0;
  for (const auto& [number, works] : steps) {
    std::vector<Nanos> last_backward(workers, kNever);
    std::vector<Nanos> first_scatter(workers, std::numeric_limits<Nanos>::max());
    for (const Work& work : works) {
      if (work.role == Role::kSeparateGrads) return true;
      Nanos& backward = last_backward[work.worker];
      Nanos& scatter = first_scatter[work.worker];
      if (work.role == Role::kBackward) backward = std::max(backward, work.end);
      if (work.role == Role::kGradsScatter) {
        scatter = std::min(scatter, work.start + kContradiction);
      }
    }
    for (std::size_t w = 0; w < workers; ++w) early += first_scatter[w] < last_backward[w];
    all += static_cast<std::int64_t>(workers);
  }
  return early * 2 > all;
}

/// Streams of a worker, in the order of their lane ids.
enum Stream { kCompute, kForwardOut, kForwardIn, kBackwardOut, kBackwardIn, kData, kStreams };
constexpr std::array<const char*, kStreams> kStreamNames = {
    "compute", "forward-send", "forward-recv", "backward-send", "backward-recv", "data"};

Stream stream_of(Role role) {
  if (is_message(role)) {
    return static_cast<Stream>(kForwardOut +
                               (static_cast<int>(role) - static_cast<int>(Role::kForwardSend)));
  }
  return is_local(role) ? kCompute : kData;
}

/// Adds one step after another to one builder.
class Assembler {
 public:
  Assembler(const Layout& layout, Diagnostics& diagnostics)
      : layout_(layout), diagnostics_(diagnostics) {
    job_ = builder_.add_lane(LaneKind::kHost, -1, "job");
    for (const WorkerPlace& place : layout.places) {
      for (const char* name : kStreamNames) {
        builder_.add_lane(LaneKind::kStream, place.rank, fmt::format("r{}/{}", place.rank, name));
      }
    }
  }

  Interner& names() { return builder_.draft().names; }
  void add_step(std::int32_t number, std::vector<Work>& works);
  Result<Graph> finish() && { return std::move(builder_).finish(); }

 private:
  /// The ops of one piece of work. An edge to the work ends at `entry`, and an edge from the work
  /// leaves `exit`. For a member of a group, `exit` is the transfer and `end` is the end of the
  /// transfer.
  struct Node {
    OpId entry = kNoId;
    OpId exit = kNoId;
    Nanos start = 0;
    Nanos end = 0;
    std::uint32_t group = kNoId;  ///< index into groups_
  };
  struct GroupTimes {
    bool together = false;  ///< all members have one common recorded start, see kTogether
    Nanos delay = 0;        ///< the least delay of all members
  };

  void add_ops(std::int32_t number, const std::vector<Work>& works);
  void add_group(std::int32_t number, const GroupKey& key,
                 const std::vector<std::uint32_t>& members, const std::vector<Work>& works);
  void add_edges(const std::vector<Work>& works, const Schedule& schedule, OpId root,
                 Nanos step_start);
  std::string group_name(const GroupKey& key) const;
  std::size_t expected_members(const GroupKey& key) const;

  const Layout& layout_;
  Diagnostics& diagnostics_;
  GraphBuilder builder_;
  LaneId job_ = 0;
  /// links_[group name]: the lane of the link, and the number of its transfers so far
  std::map<std::string, std::pair<LaneId, std::int64_t>> links_;
  /// the ops of the last step for which no other op of that step waits
  std::vector<OpId> step_ends_;

  std::vector<Node> nodes_;         ///< one node for each work of the current step
  std::vector<GroupTimes> groups_;  ///< one entry for each group of the current step
};

std::string Assembler::group_name(const GroupKey& key) const {
  const std::string shard = key.shard > 0 ? fmt::format("/{}", key.shard) : "";
  switch (key.role) {
    case Role::kForwardSend:
      return fmt::format("pipeline {}{} forward from stage {}", key.group, shard,
                         key.chunk % layout_.stages);
    case Role::kBackwardSend:
      return fmt::format("pipeline {}{} backward from stage {}", key.group, shard,
                         key.chunk % layout_.stages);
    case Role::kClip:
      return "all workers";
    case Role::kEmbeddingGrads:
      return fmt::format("ends of pipeline {}{}", key.group, shard);
    case Role::kLayerNormGrads:
      return fmt::format("shards of rank {}", key.group);
    default:
      return fmt::format("replicas of stage {}{}", key.group, shard);
  }
}

/// The least number of members of a complete group. Reductions of layer-norm and embedding
/// gradients may have only one member: a worker may represent all its shards, and a pipeline of one
/// stage holds the embedding table once.
std::size_t Assembler::expected_members(const GroupKey& key) const {
  if (is_message(key.role)) return 2;
  if (key.role == Role::kLayerNormGrads || key.role == Role::kEmbeddingGrads) return 1;
  return static_cast<std::size_t>(
      std::count_if(layout_.places.begin(), layout_.places.end(), [&](const WorkerPlace& place) {
        return key.role == Role::kClip || (place.stage == key.group && place.shard == key.shard);
      }));
}

void Assembler::add_ops(std::int32_t number, const std::vector<Work>& works) {
  nodes_.assign(works.size(), {});
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Work& work = works[i];
    if (work.dropped) continue;
    const bool local = is_local(work.role);
    OpSpec spec;
    spec.kind = local ? OpKind::kKernel : OpKind::kArrive;
    spec.lane = job_ + 1 + work.worker * kStreams + static_cast<LaneId>(stream_of(work.role));
    spec.name = names().text(work.name);
    spec.step = number;
    spec.duration = local ? work.end - work.start : 0;
    spec.recorded_start = work.start;
    spec.recorded_duration = work.end - work.start;
    spec.event = work.event;
    const OpId op = builder_.add_op(spec);
    nodes_[i] = {op, op, work.start, work.end, kNoId};
  }
}

void Assembler::add_group(std::int32_t number, const GroupKey& key,
                          const std::vector<std::uint32_t>& members,
                          const std::vector<Work>& works) {
  const std::string name = group_name(key);
  if (members.size() < expected_members(key)) {
    diagnostics_.add(kLonelyMember, fmt::format("{}, step {}", name, number));
  }
  const auto [link, is_new] = links_.try_emplace(name);
  if (is_new) link->second.first = builder_.add_lane(LaneKind::kLink, -1, "link " + name);

  Nanos first = works[members[0]].start, last = first, end = works[members[0]].end;
  for (std::uint32_t m : members) {
    first = std::min(first, works[m].start);
    last = std::max(last, works[m].start);
    end = std::min(end, works[m].end);
  }
  OpSpec spec;
  spec.kind = OpKind::kTransfer;
  spec.lane = link->second.first;
  spec.name = key.role == Role::kForwardSend    ? "forward-message"
              : key.role == Role::kBackwardSend ? "backward-message"
                                                : names().text(works[members[0]].name);
  spec.step = number;
  spec.duration = std::max<Nanos>(end - last, 0);
  spec.recorded_start = last;
  spec.recorded_duration = spec.duration;
  Collective collective;
  collective.kind = collective_of(key.role);
  collective.ranks = static_cast<std::int32_t>(members.size());
  collective.group = name;
  collective.sequence = link->second.second++;
  collective.transfer = builder_.add_op(spec);
  for (std::uint32_t m : members) {
    builder_.add_edge(nodes_[m].entry, collective.transfer, EdgeKind::kCollective);
    collective.arrivals.push_back(nodes_[m].entry);
    nodes_[m].exit = collective.transfer;
    nodes_[m].end = last + spec.duration;
    nodes_[m].group = static_cast<std::uint32_t>(groups_.size());
  }
  groups_.push_back({last - first <= kTogether, std::numeric_limits<Nanos>::max()});
  builder_.add_collective(std::move(collective));
}

void Assembler::add_edges(const std::vector<Work>& works, const Schedule& schedule, OpId root,
                          Nanos step_start) {
  std::vector<Dependency> kept;
  std::vector<Nanos> ready(works.size(), kNever);
  std::vector<bool> awaited(works.size());
  for (const Dependency& d : schedule.dependencies) {
    const Node& source = nodes_[d.source];
    const Node& destination = nodes_[d.destination];
    if (source.entry == kNoId || destination.entry == kNoId) continue;
    if (source.end - destination.start > kContradiction) {
      diagnostics_.add(
          kContradictedOrder,
          fmt::format("{} before {} on rank {}, step {}", names().text(works[d.destination].name),
                      names().text(works[d.source].name),
                      layout_.places[works[d.source].worker].rank, works[d.source].detail.step));
      continue;
    }
    ready[d.destination] = std::max(ready[d.destination], source.end);
    awaited[d.source] = true;
    kept.push_back(d);
  }

  // The delay of a piece of work is the time from the end of its last dependency to its recorded
  // start. If all members of a group have one common recorded start, only the member that arrived
  // last really started at that time. This is the member with the least delay. The recording does
  // not show when the other members arrived, so they get the same delay.
  std::vector<Nanos> delay(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.entry == kNoId) continue;
    delay[i] = std::max<Nanos>(node.start - (ready[i] == kNever ? step_start : ready[i]), 0);
    if (node.group != kNoId) {
      groups_[node.group].delay = std::min(groups_[node.group].delay, delay[i]);
    }
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.entry == kNoId) continue;
    if (node.group != kNoId && groups_[node.group].together) delay[i] = groups_[node.group].delay;
    if (ready[i] == kNever) builder_.add_edge(root, node.entry, EdgeKind::kOrder, delay[i]);
    if (!awaited[i]) step_ends_.push_back(node.exit);
  }
  const std::vector<LaneId>& lane = builder_.draft().ops.lane;
  for (const Dependency& d : kept) {
    const OpId source = nodes_[d.source].exit;
    const OpId destination = nodes_[d.destination].entry;
    const EdgeKind kind = nodes_[d.source].group != kNoId     ? EdgeKind::kCollective
                          : lane[source] == lane[destination] ? EdgeKind::kOrder
                                                              : EdgeKind::kData;
    builder_.add_edge(source, destination, kind, delay[d.destination], kind == EdgeKind::kData);
  }
}

void Assembler::add_step(std::int32_t number, std::vector<Work>& works) {
  const Schedule schedule = schedule_step(layout_, works);
  if (schedule.unmatched_messages > 0) {
    diagnostics_.add(kIdleMessage, fmt::format("step {}", number), schedule.unmatched_messages);
  }
  Nanos step_start = works.front().start;
  for (const Work& work : works) step_start = std::min(step_start, work.start);
  OpSpec spec;
  spec.kind = OpKind::kHost;
  spec.lane = job_;
  spec.name = "step";
  spec.step = number;
  spec.recorded_start = step_start;
  const OpId root = builder_.add_op(spec);
  for (OpId op : step_ends_) builder_.add_edge(op, root, EdgeKind::kOrder);
  step_ends_.clear();

  add_ops(number, works);
  groups_.clear();
  for (const auto& [key, members] : schedule.groups) add_group(number, key, members, works);
  add_edges(works, schedule, root, step_start);
  builder_.draft().steps.push_back(number);
}

}  // namespace

bool has_phases(const trace::Run& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [](const trace::RankTrace& rank) { return !rank.phases.empty(); });
}

Result<PhaseGraph> build_phases(const trace::Run& run, Diagnostics& diagnostics) {
  WEFT_ASSIGN(Layout layout, layout_of(run));
  Assembler assembler(layout, diagnostics);
  Steps steps = collect(run, assembler.names(), diagnostics);
  if (steps.empty()) {
    return fail(ErrorCode::kBadInput, "no work of any training step in this timeline", run.label);
  }
  layout.overlaps_gradients = overlaps_gradients(steps, layout.places.size());
  for (auto& [number, works] : steps) assembler.add_step(number, works);
  PhaseGraph out;
  WEFT_ASSIGN(out.graph, std::move(assembler).finish());
  WEFT_TRY(verify(out.graph));
  for (const WorkerPlace& place : layout.places)
    out.workers.push_back({place.rank, place.replica, place.stage});
  return out;
}

}  // namespace weft::graph
