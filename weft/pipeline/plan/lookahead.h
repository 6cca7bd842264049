// SPDX-License-Identifier: Apache-2.0
// Computes lower bounds for partial plans: the least time that the rest of a plan can take if it
// starts with a given layer on a given group of devices, over all choices of stages, groups and
// schedules. The plan search uses the bounds to decide what to extend first and to prove that a
// plan is optimal.
//
// Let stage s take p = f + i per micro-batch (forward and gradient of the input) and v for the
// gradients of its parameters. Its channel to the next stage takes c forward and c' backward. The
// time Z(s) from the first op of s to its last gradient of an input satisfies
//   Z(s) >= max(M p, p + c + c' + Z(s+1), p + M max(c, c') + min(c, c') + path behind),
// and the step takes at least head(s) + max(M (p + v), Z(s) + v) + all-reduce(s), where head(s) is
// the sum of the forwards and channels before s. "Path behind" is the time of one micro-batch,
// forward and backward, through everything after the channel. The bounds of Z(s) and of the step
// grow with Z(s+1), so a dynamic program from the last layer to the first finds the least value
// over all plans. If layers do not give v separately, it is part of p.
//
// Under memory limits a stage runs in one of two modes, keeping activations or recomputing, with as
// many micro-batches at once as fit (rounds.h). The bound of a stage then needs the round trip
// behind the stage, so a second dynamic program computes the least round trip first.
//
// Time: at most groups * layers^2 / 2 + edges * layers steps per number of stages.
#pragma once

#include <vector>

#include "weft/pipeline/plan/block_minima.h"
#include "weft/pipeline/plan/groups.h"
#include "weft/pipeline/plan/rounds.h"

namespace weft::pipeline {

/// Bound of a partial plan that cannot be completed.
constexpr Nanos kNoPlan = std::int64_t{1} << 60;

class Lookahead {
 public:
  /// `stages` is the required number of stages; 0: any. Plans that cannot take less than `limit`
  /// are ignored. A low limit therefore saves much time. Keeps references to `task` and `graph`.
  Lookahead(const Task& task, const GroupGraph& graph, std::int32_t stages, Nanos limit = kNoPlan);

  /// Consider the rest of a plan that starts with layer `layer` on `group` and has `left` stages
  /// (0: any number). busy() is a lower bound of the time Z of its first stage, which the comment
  /// at the top of this file defines. step() is a lower bound of the step, without the time before
  /// the rest begins.
  Nanos busy(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return busy_[at(left, layer, group)];
  }
  Nanos step(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return step_[at(left, layer, group)];
  }
  /// The lower bound over all plans; kNoPlan if memory, links or the limit allow no plan.
  Nanos least() const;

  /// The least time in which a micro-batch passes everything from this layer and group on, forward
  /// and backward. Available only under memory limits.
  Nanos round_trip(std::int32_t layer, std::int32_t group) const {
    return round_trip_[cell(layer, group)];
  }

  struct StageCost {
    Nanos forward = 0, reduce = 0;
    StageMode keeping;
    /// The mode with recomputation. If memory is large enough to keep the activations of all
    /// micro-batches, this mode is not considered, and its `fit` is 0.
    StageMode recomputing;
    bool possible = true;  ///< whether one micro-batch fits and gradients can be all-reduced
    bool too_large =
        false;  ///< whether no micro-batch fits, so that longer stages do not fit either

    /// The smaller value of time(mode) over the modes that the stage can run in.
    template <class Time>
    Nanos least(Time time) const {
      const Nanos while_keeping = time(keeping);
      return recomputing.fit > 0 ? std::min(while_keeping, time(recomputing)) : while_keeping;
    }
  };
  StageCost stage(std::int32_t first, std::int32_t last, std::int32_t group) const;
  struct Channel {
    Nanos forward = 0;     ///< transfer time of one message, without latency
    Nanos round_trip = 0;  ///< one message forward and one backward, with latencies
    Nanos busy = 0;        ///< third term of Z, see the top of this file
  };
  /// The channel along an edge if the stage before it ends before `layer`.
  Channel channel(const GroupEdge& edge, std::int32_t layer) const;

  const Task& task() const { return task_; }
  const GroupGraph& graph() const { return graph_; }
  std::int32_t stages() const { return stages_; }
  /// The number of stages that remain after one more stage.
  std::int32_t after(std::int32_t left) const { return stages_ > 0 ? left - 1 : 0; }

 private:
  std::size_t cell(std::int32_t layer, std::int32_t group) const {
    return static_cast<std::size_t>(layer) * graph_.size() + group;
  }
  std::size_t at(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return cell(left * task_.chain.size() + layer, group);
  }
  /// An index that counts by group, then layer, because the search for the best end of a stage
  /// scans all layers of one group.
  std::size_t behind(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return row(left, group) * task_.chain.size() + layer;
  }
  std::size_t row(std::int32_t left, std::int32_t group) const {
    return static_cast<std::size_t>(left) * graph_.size() + group;
  }
  StageCost times_of(std::int32_t first, std::int32_t last, std::int32_t group) const;
  void complete(StageCost& cost, std::int32_t first, std::int32_t last, std::int32_t group) const;
  void fill_round_trips();
  struct Ends;
  bool try_end(std::int32_t left, std::int32_t first, std::int32_t last, std::int32_t group,
               Ends& best) const;
  void fill(std::int32_t left);
  void fill_stages(std::int32_t left, std::int32_t first, std::vector<Ends>& ends);
  void fill_channels(std::int32_t left, std::int32_t first);

  const Task& task_;
  const GroupGraph& graph_;
  std::int32_t stages_;
  Nanos limit_;
  double quickest_ = 0;  ///< least Group::cost.work
  std::vector<Nanos> busy_, step_;
  /// The least of busy_ and step_ over all next groups, with the channel to them.
  std::vector<Nanos> busy_next_, step_next_;
  BlockMinima least_busy_next_, least_step_next_;
  /// Indexed by layer, then group. These times do not depend on the number of stages left.
  std::vector<Nanos> round_trip_, round_trip_next_;
};

}  // namespace weft::pipeline
