// SPDX-License-Identifier: Apache-2.0
// What do stragglers cost, and who is to blame? Answered by what-if: the job is replayed as it was
// and once more with every op lasting what its peers usually need; the ratio is the slowdown.
// Then one worker (or one stage) alone is given the ideal times: what that wins is its share.
//
// After "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/build_phases.h"
#include "weft/graph/graph.h"

namespace weft::sim {

/// Which ops ought to take equally long.
enum class PeerRule : std::uint8_t {
  /// Ops of one name, over all workers, stages, steps and micro-batches: op timelines, where a name
  /// is a kind of work and every stage should have the same amount of it.
  kSameName,
  /// The n-th op of a name on the same lane of another rank, in the same step: profiler traces of
  /// ranks that all run the same program. Host threads are matched by how busy they are.
  kSamePosition,
  /// The n-th op of a name on the same lane, in the other steps: what a step should take, judged by
  /// the rest of the job.
  kOtherSteps,
};

struct StragglerOptions {
  PeerRule peers = PeerRule::kSameName;
  /// False: delays of edges (launch gaps) count as nothing, before and after. True: they are kept,
  /// and in the ideal are what is usual among peers too, as a rank may be late by pausing.
  bool keep_delays = false;
  /// Ranks and where they sit. Empty: each rank of the graph is a worker, all in one stage.
  std::vector<graph::Worker> workers;
  /// A job slowed by less than this is said to have no culprit.
  double noticeable = 0.03;
  /// A culprit explains at least this share of what stragglers cost.
  double majority = 0.5;
  /// Workers are tried one by one, those with the longest excess of work first, up to this many.
  std::size_t most_workers = 64;
};

/// Durations and delays of the job without stragglers. Transfers, whose times have a long tail,
/// take the median over their peers, local work the mean; with the other rules, where peers are few
/// and one that sleeps would show in a mean, all take the median. Where ranks run the same program,
/// work that most of them do not have is extra work, which takes no time at all.
struct IdealTimes {
  std::vector<Nanos> duration;  ///< by op
  std::vector<Nanos> delay;     ///< by edge
};
IdealTimes ideal_times(const graph::Graph& graph, const StragglerOptions& options);

/// Ops that belong to the given ranks (sorted) alone: their own, and transfers between them.
std::vector<bool> own_work(const graph::Graph& graph, const std::vector<std::int32_t>& ranks);

/// The graph with the ideal times put in: the what-if `stragglers=off`.
graph::Graph without_stragglers(const graph::Graph& graph, const StragglerOptions& options);

/// The effect of one worker or stage on the mean step. Its transfers are those all of whose members
/// belong to it; `with_links` counts those in which it takes part.
struct Blame {
  std::int32_t rank = -1;   ///< of the worker; -1 for a stage
  std::int32_t stage = -1;  ///< of the stage, or that the worker is in
  std::int32_t replica = -1;
  Nanos step_without = 0;             ///< mean step if only this one had ideal times
  Nanos step_without_with_links = 0;  ///< likewise, its links included
  Nanos step_alone = 0;               ///< mean step if all but this one had ideal times
  double share = 0;             ///< (simulated - step_without) / (simulated - ideal); may exceed 1
  double share_with_links = 0;  ///< likewise, with step_without_with_links
};

enum class CulpritKind : std::uint8_t {
  kNone,  ///< no slowdown to speak of, or nobody explains most of it
  kWorker,
  kStage,
  kLinks,  ///< a worker, by transfers it takes part in rather than by its own work
};

struct StragglerReport {
  Nanos simulated_step = 0;            ///< mean
  Nanos ideal_step = 0;                ///< mean
  double slowdown = 1;                 ///< simulated / ideal
  std::vector<Nanos> simulated_steps;  ///< by Graph::steps
  std::vector<Nanos> ideal_steps;
  std::vector<Blame> workers;  ///< those tried, largest share first
  std::vector<Blame> stages;   ///< all, largest share first; empty if there is one stage only
  CulpritKind culprit = CulpritKind::kNone;
  std::int32_t culprit_rank = -1;     ///< kWorker and kLinks
  std::int32_t culprit_replica = -1;  ///< kWorker and kLinks
  std::int32_t culprit_stage = -1;    ///< unless kNone
};

/// Replays the graph about three times for each worker tried and each stage, in parallel. The
/// result does not depend on the number of threads. The graph must pass verify() and have steps;
/// an Error (kUsage) if it has no step to compare.
Result<StragglerReport> analyse_stragglers(const graph::Graph& graph,
                                           const StragglerOptions& options);

/// How long each step of Graph::steps takes in a replay: from the end of all steps before it (its
/// own first start, for the first) to its last end.
std::vector<Nanos> step_times(const graph::Graph& graph, std::span<const Nanos> starts,
                              std::span<const Nanos> ends);

}  // namespace weft::sim
