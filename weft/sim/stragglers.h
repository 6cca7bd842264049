// SPDX-License-Identifier: Apache-2.0
// Computes how much time stragglers cost a job, and finds the worker or stage that is the culprit.
// The job is replayed twice. In the first replay, ops take their recorded times. In the second
// replay, they take ideal times: each op takes as long as its peers usually do. The slowdown is the
// step of the first replay divided by the step of the second replay. The difference of the two
// steps is the time that stragglers cost. In further replays, only one worker (or one stage) has
// ideal times. The time that such a replay saves, divided by the time that stragglers cost, is the
// share of this worker (or stage).
//
// The method comes from "Understanding Stragglers in Large Model Training Using What-if Analysis"
// (OSDI 2025).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/build_phases.h"
#include "weft/graph/graph.h"

namespace weft::sim {

/// Says which ops are peers. Peers should take equally long.
enum class PeerRule : std::uint8_t {
  /// Ops with the same name are peers, over all workers, stages, steps and micro-batches. This rule
  /// is for op timelines, where a name is a kind of work and every stage should have the same
  /// amount of it.
  kSameName,
  /// The n-th op of a name on a lane is the peer of the n-th such op on the same lane of the other
  /// ranks, in the same step. This rule is for profiler traces of ranks that all run the same
  /// program. Two host threads of different ranks count as the same lane if they have the same
  /// position after the threads of each rank are sorted by their number of ops.
  kSamePosition,
  /// The n-th op of a name on a lane is the peer of the n-th such op on the same lane in the other
  /// steps. This rule compares a step with the other steps of the job.
  kOtherSteps,
};

struct StragglerOptions {
  PeerRule peers = PeerRule::kSameName;
  /// False: the delays of edges (launch gaps) count as 0 in both replays. True: the first replay
  /// keeps the recorded delays, and the ideal delay of an edge is the usual delay among its peers.
  /// Use true if a rank may be late because it pauses.
  bool keep_delays = false;
  /// The stage and replica of each rank. If it is empty, each rank of the graph is a worker, and
  /// all workers are in one stage.
  std::vector<graph::Worker> workers;
  /// No culprit is named if the slowdown is below 1 + noticeable.
  double noticeable = 0.03;
  /// A worker or stage is a culprit if it explains at least this share of the time that stragglers
  /// cost.
  double majority = 0.5;
  /// The job is replayed for at most this many workers. If there are more, the workers with the
  /// largest excess are chosen: their recorded minus their ideal time.
  std::size_t most_workers = 64;
};

/// The durations and delays of a job without stragglers. With kSameName, a transfer takes the
/// median over its peers, because some transfers take much longer than most. Local work takes the
/// mean. With the other rules all ops take the median: there are few peers, and a single one that
/// sleeps would distort a mean. Two rules hold only for kSamePosition. If exactly two ranks have an
/// op, and the op or the pause before it is much longer on one of them, both take the shorter time.
/// If the ranks run the same program, an op that fewer than half of the ranks have is extra work.
/// Its ideal time is 0.
struct IdealTimes {
  std::vector<Nanos> duration;  ///< one entry per op
  std::vector<Nanos> delay;     ///< one entry per edge
};
IdealTimes ideal_times(const graph::Graph& graph, const StragglerOptions& options);

/// Returns one entry per op: true if the op belongs only to the given ranks (sorted). These are the
/// ops on the lanes of these ranks, and the transfers whose members are all among them.
std::vector<bool> own_work(const graph::Graph& graph, const std::vector<std::int32_t>& ranks);

/// Returns the graph with ideal times. This is the what-if `stragglers=off`.
graph::Graph without_stragglers(const graph::Graph& graph, const StragglerOptions& options);

/// The effect of one worker or stage on the mean step. Its own transfers are those whose members
/// all belong to it. The fields `with_links` also count the other transfers in which it takes part.
struct Blame {
  std::int32_t rank = -1;   ///< rank of the worker; -1 if this is a stage
  std::int32_t stage = -1;  ///< number of the stage, or of the worker's stage
  std::int32_t replica = -1;
  Nanos step_without = 0;  ///< mean step if only this worker or stage had ideal times
  /// Mean step if only this worker or stage and all transfers in which it takes part had ideal
  /// times.
  Nanos step_without_with_links = 0;
  /// Mean step if everything except this worker or stage had ideal times.
  Nanos step_alone = 0;
  double share = 0;             ///< (simulated - step_without) / (simulated - ideal); may exceed 1
  double share_with_links = 0;  ///< the same, with step_without_with_links instead of step_without
};

enum class CulpritKind : std::uint8_t {
  kNone,  ///< the slowdown is too small, or no worker or stage explains most of it
  kWorker,
  kStage,
  kLinks,  ///< a worker whose transfers explain the slowdown; its own work does not explain it
};

struct StragglerReport {
  Nanos simulated_step = 0;            ///< mean step of the replay with recorded times
  Nanos ideal_step = 0;                ///< mean step of the replay with ideal times
  double slowdown = 1;                 ///< simulated / ideal
  std::vector<Nanos> simulated_steps;  ///< one entry per step of Graph::steps
  std::vector<Nanos> ideal_steps;
  std::vector<Blame> workers;  ///< the workers that were replayed, largest share first
  std::vector<Blame> stages;   ///< all stages, largest share first; empty if there is only one
  CulpritKind culprit = CulpritKind::kNone;
  std::int32_t culprit_rank = -1;     ///< set for kWorker and kLinks
  std::int32_t culprit_replica = -1;  ///< set for kWorker and kLinks
  std::int32_t culprit_stage = -1;    ///< set unless kNone
};

/// Finds how much time stragglers cost, and the culprit. Replays the graph three times for each
/// chosen worker and each stage, in parallel. The result does not depend on the number of threads.
/// The graph must pass verify(). A graph without steps is an Error (kUsage).
Result<StragglerReport> analyse_stragglers(const graph::Graph& graph,
                                           const StragglerOptions& options);

/// Returns how long each step of Graph::steps takes in a replay. A step lasts from the latest end
/// of all earlier steps to its own latest end. The first step begins at its own earliest start.
std::vector<Nanos> step_times(const graph::Graph& graph, std::span<const Nanos> starts,
                              std::span<const Nanos> ends);

}  // namespace weft::sim
