// SPDX-License-Identifier: Apache-2.0
// What stragglers cost a job, and which worker or stage causes it. Both are answered by what-if
// analysis. The job is replayed as recorded and once more with ideal times, in which every op takes
// as long as its peers usually do; the ratio of both steps is the slowdown. Then only one worker
// (or one stage) gets the ideal times: the time that this saves is its share of the slowdown.
//
// After "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/build_phases.h"
#include "weft/graph/graph.h"

namespace weft::sim {

/// Which ops are peers, that is, should take equally long.
enum class PeerRule : std::uint8_t {
  /// Ops with the same name, over all workers, stages, steps and micro-batches. For op timelines,
  /// where a name is a kind of work and every stage should have the same amount of it.
  kSameName,
  /// The n-th op of a name on the same lane of the other ranks, in the same step. For profiler
  /// traces of ranks that all run the same program. Host threads of different ranks are matched by
  /// how many ops they have.
  kSamePosition,
  /// The n-th op of a name on the same lane in the other steps. Judges a step by the rest of the
  /// job.
  kOtherSteps,
};

struct StragglerOptions {
  PeerRule peers = PeerRule::kSameName;
  /// False: delays of edges (launch gaps) count as 0, both as recorded and in the ideal. True:
  /// delays are kept, and an ideal delay is what is usual among peers, because a rank may be late
  /// by pausing.
  bool keep_delays = false;
  /// The stage and replica of each rank. Empty: each rank of the graph is a worker, all in one
  /// stage.
  std::vector<graph::Worker> workers;
  /// If the slowdown is below 1 + this, no culprit is named.
  double noticeable = 0.03;
  /// A culprit explains at least this share of what stragglers cost.
  double majority = 0.5;
  /// At most this many workers are replayed. Those with the most excess work are chosen.
  std::size_t most_workers = 64;
};

/// Durations and delays of the job without stragglers. With kSameName, transfers take the median
/// over their peers because their times have a long tail, and local work takes the mean. With the
/// other rules all ops take the median: there are few peers, and one that sleeps would distort a
/// mean. With kSamePosition, if the ranks run the same program, an op that fewer than half of the
/// ranks have is extra work and takes no time in the ideal.
struct IdealTimes {
  std::vector<Nanos> duration;  ///< by op
  std::vector<Nanos> delay;     ///< by edge
};
IdealTimes ideal_times(const graph::Graph& graph, const StragglerOptions& options);

/// By op: true if the op belongs to no other ranks than the given ones (sorted). These are the ops
/// on their lanes, and transfers whose members are all among the given ranks.
std::vector<bool> own_work(const graph::Graph& graph, const std::vector<std::int32_t>& ranks);

/// The graph with ideal times: the what-if `stragglers=off`.
graph::Graph without_stragglers(const graph::Graph& graph, const StragglerOptions& options);

/// The effect of one worker or stage on the mean step. Only transfers whose members all belong to
/// it count as its own; the fields `with_links` also count transfers in which it takes part.
struct Blame {
  std::int32_t rank = -1;   ///< rank of the worker; -1 if this is about a stage
  std::int32_t stage = -1;  ///< the stage, or the stage of the worker
  std::int32_t replica = -1;
  Nanos step_without = 0;             ///< mean step if only this one had ideal times
  Nanos step_without_with_links = 0;  ///< likewise, its links included
  Nanos step_alone = 0;               ///< mean step if all but this one had ideal times
  double share = 0;             ///< (simulated - step_without) / (simulated - ideal); may exceed 1
  double share_with_links = 0;  ///< likewise, with step_without_with_links
};

enum class CulpritKind : std::uint8_t {
  kNone,  ///< the slowdown is too small, or no worker or stage explains most of it
  kWorker,
  kStage,
  kLinks,  ///< a worker whose transfers, not its own work, explain the slowdown
};

struct StragglerReport {
  Nanos simulated_step = 0;            ///< mean step of the replay with recorded times
  Nanos ideal_step = 0;                ///< mean step of the replay with ideal times
  double slowdown = 1;                 ///< simulated / ideal
  std::vector<Nanos> simulated_steps;  ///< by Graph::steps
  std::vector<Nanos> ideal_steps;
  std::vector<Blame> workers;  ///< the workers that were replayed, largest share first
  std::vector<Blame> stages;   ///< all stages, largest share first; empty if there is only one
  CulpritKind culprit = CulpritKind::kNone;
  std::int32_t culprit_rank = -1;     ///< set for kWorker and kLinks
  std::int32_t culprit_replica = -1;  ///< set for kWorker and kLinks
  std::int32_t culprit_stage = -1;    ///< set unless kNone
};

/// Replays the graph three times for each chosen worker and each stage, in parallel. The result
/// does not depend on the number of threads. The graph must pass verify(). A graph without steps is
/// an Error (kUsage).
Result<StragglerReport> analyse_stragglers(const graph::Graph& graph,
                                           const StragglerOptions& options);

/// How long each step of Graph::steps takes in a replay: from the end of all earlier steps (for the
/// first step, from its own first start) to its last end.
std::vector<Nanos> step_times(const graph::Graph& graph, std::span<const Nanos> starts,
                              std::span<const Nanos> ends);

}  // namespace weft::sim
