// SPDX-License-Identifier: Apache-2.0
// The least that a step can take, whatever its schedule, if the stages from some layer on start
// with a given group of devices: the bound that guides and proves the search for plans.
//
// Let stage s take p = f + i a micro-batch, forward and gradient of the input, v for gradients of
// parameters, and its channel c there and c' back. From its first op to its last gradient of an
// input it takes
//   Z(s) >= max(M p, p + c + c' + Z(s+1), p + M max(c, c') + min(c, c') + path behind),
// and the step at least head(s) + max(M (p + v), Z(s) + v) + all-reduce(s), head(s) being the
// forwards and channels before s. All of this grows with what follows, so the least over all plans
// is found from the last layer to the first. (Where v is not known apart, it counts to p.)
//
// Within limits of memory a stage runs in one of two ways, whole or recomputing, each with as many
// micro-batches at once as fit (rounds.h), which takes the least path behind it there and back.
#pragma once

#include <vector>

#include "weft/pipeline/plan/block_minima.h"
#include "weft/pipeline/plan/groups.h"
#include "weft/pipeline/plan/rounds.h"

namespace weft::pipeline {

constexpr Nanos kNoPlan = std::int64_t{1} << 60;

class Lookahead {
 public:
  /// `stages` is how many there must be; 0: any number. Only plans that may take less than `limit`
  /// count, which saves much where it is low. Keeps references.
  Lookahead(const Task& task, const GroupGraph& graph, std::int32_t stages, Nanos limit = kNoPlan);

  /// Of a plan part that starts with layer `layer` on `group`, and has `left` stages (0 where any
  /// number will do).
  Nanos busy(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return busy_[at(left, layer, group)];
  }
  Nanos step(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return step_[at(left, layer, group)];
  }
  /// The least over all groups that may be first; kNoPlan where memory, links or the limit allow
  /// none.
  Nanos least() const;

  /// Path there and back of a micro-batch from there on at least; only within limits of memory.
  Nanos trip(std::int32_t layer, std::int32_t group) const { return trip_[cell(layer, group)]; }

  struct StageCost {
    Nanos forward = 0, reduce = 0;
    Way whole;
    Way again;               ///< recomputing; fits only where not all micro-batches fit whole
    bool possible = true;    ///< it can reduce its gradients, and one micro-batch fits
    bool too_large = false;  ///< none does, nor would one of a longer stage

    /// The least over both ways to run it.
    template <class Time>
    Nanos least(Time time) const {
      const Nanos of_whole = time(whole);
      return again.fit > 0 ? std::min(of_whole, time(again)) : of_whole;
    }
  };
  StageCost stage(std::int32_t first, std::int32_t last, std::int32_t group) const;
  struct Channel {
    Nanos there = 0, both = 0, busy = 0;
  };
  Channel channel(const GroupEdge& edge, std::int32_t layer) const;

  const Task& task() const { return task_; }
  const GroupGraph& graph() const { return graph_; }
  std::int32_t stages() const { return stages_; }
  /// Stages left behind one more.
  std::int32_t after(std::int32_t left) const { return stages_ > 0 ? left - 1 : 0; }

 private:
  std::size_t cell(std::int32_t layer, std::int32_t group) const {
    return static_cast<std::size_t>(layer) * graph_.size() + group;
  }
  std::size_t at(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return cell(left * task_.chain.size() + layer, group);
  }
  /// By group, then layer: a stage of a group looks for its best end in one row.
  std::size_t behind(std::int32_t left, std::int32_t layer, std::int32_t group) const {
    return row(left, group) * task_.chain.size() + layer;
  }
  std::size_t row(std::int32_t left, std::int32_t group) const {
    return static_cast<std::size_t>(left) * graph_.size() + group;
  }
  StageCost times_of(std::int32_t first, std::int32_t last, std::int32_t group) const;
  void complete(StageCost& cost, std::int32_t first, std::int32_t last, std::int32_t group) const;
  void fill_trips();
  void fill(std::int32_t left);

  const Task& task_;
  const GroupGraph& graph_;
  std::int32_t stages_;
  Nanos limit_;
  double quickest_ = 0;  ///< least Group::cost.work
  std::vector<Nanos> busy_, step_;
  std::vector<Nanos> busy_next_, step_next_;  ///< least over edges, for a stage that ends there
  BlockMinima least_busy_next_, least_step_next_;
  std::vector<Nanos> trip_, trip_next_;  ///< by layer, then group; for any number of stages
};

}  // namespace weft::pipeline
