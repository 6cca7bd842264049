// SPDX-License-Identifier: Apache-2.0
// A partial plan is a Label: the stages so far, as a chain of parent labels, and three sums that
// together with the tables of Lookahead bound the step of every completion. extend() generates all
// labels with one more stage. BestFirst keeps the labels in a heap by bound; follow_bound() always
// takes the extension with the least bound.
#include "weft/pipeline/plan/plan_search.h"

#include <algorithm>
#include <tuple>

namespace weft::pipeline {
namespace {

constexpr Nanos kNoOffset = -kNoPlan;

/// A partial plan: all stages up to `layer`, and the group of the next stage. It is complete if
/// `layer` is the number of layers.
struct Label {
  Nanos bound = kNoPlan;  ///< lower bound of the step over all completions
  Nanos known = 0;        ///< lower bound from the stages so far, whatever follows
  /// The step is at least this value plus the busy time Z of the rest (see lookahead.h). For each
  /// stage so far, add up the times of what must happen before and after this busy time; the value
  /// is the largest of these sums.
  Nanos busy_offset = kNoOffset;
  Nanos head = 0;  ///< time until the first micro-batch reaches the next stage
  std::int32_t parent = -1, layer = 0, group = 0, left = 0;
};

/// One empty partial plan per group that may run the first stage.
std::vector<Label> first_labels(const Lookahead& ahead) {
  std::vector<Label> labels;
  for (std::size_t g = 0; g < ahead.graph().size(); ++g) {
    if (!ahead.graph()[g].first) continue;
    Label label;
    label.group = static_cast<std::int32_t>(g);
    label.left = ahead.stages();
    label.bound = ahead.step(label.left, 0, label.group);
    labels.push_back(label);
  }
  return labels;
}

/// Calls visit() with every extension of `part` by one stage. Some extensions whose bound is not
/// below `limit` are left out. visit() may lower `limit`.
template <class Visit>
void extend(const Lookahead& ahead, const Label& part, const Nanos& limit, Visit visit) {
  const std::int32_t layers = ahead.task().chain.size();
  const Nanos micros = ahead.task().micro_batches;
  const bool may_end = ahead.stages() == 0 || part.left == 1;
  const bool may_go_on = ahead.stages() == 0 || part.left > 1;
  for (std::int32_t last = part.layer + 1; last <= layers; ++last) {
    const Lookahead::StageCost cost = ahead.stage(part.layer, last, part.group);
    if (cost.too_large) break;
    const StageMode& keeping = cost.keeping;
    const Nanos own = part.head + cost.reduce;
    Label stage = part;
    stage.layer = last;
    stage.left = ahead.after(part.left);
    stage.busy_offset = std::max(part.busy_offset, own + keeping.later);
    stage.known = std::max(
        {part.known, own + micros * keeping.work(), stage.busy_offset + micros * keeping.path});
    if (stage.known >= limit) break;  // longer stages only take longer
    if (!cost.possible) continue;
    // If memory limits how many micro-batches the stage can hold at once, they pass through it in
    // rounds. This is the bound for the step that follows, in the better of the two modes of the
    // stage (keeping activations or recomputing).
    const auto in_rounds = [&](Nanos behind) {
      return cost.least([&](const StageMode& mode) {
        const Nanos busy = busy_in_rounds(ahead.task().micro_batches, cost.forward, mode, behind);
        return std::max(
            {own + micros * mode.work(), own + mode.later + busy, part.busy_offset + busy});
      });
    };
    if (last == layers) {
      stage.known = stage.bound = std::max(stage.known, in_rounds(0));
      if (may_end) visit(stage);
      continue;
    }
    if (!may_go_on) continue;
    for (const GroupEdge& edge : ahead.graph()[part.group].next) {
      const Nanos busy = ahead.busy(stage.left, last, edge.to);
      if (busy == kNoPlan) continue;
      const Lookahead::Channel channel = ahead.channel(edge, last);
      Label child = stage;
      child.group = edge.to;
      child.known = std::max(stage.known, stage.busy_offset + keeping.path + channel.busy);
      if (keeping.fit < micros) {
        child.known =
            std::max(child.known, in_rounds(channel.round_trip + ahead.round_trip(last, edge.to)));
      }
      child.busy_offset = stage.busy_offset + keeping.path + channel.round_trip;
      child.head = part.head + cost.forward + channel.forward;
      child.bound = std::max({child.known, child.busy_offset + busy,
                              child.head + ahead.step(stage.left, last, edge.to)});
      visit(child);
    }
  }
}

class BestFirst {
 public:
  BestFirst(const Lookahead& ahead, Evaluator& evaluator, const PlanEffort& effort, Evaluated best)
      : ahead_(ahead), evaluator_(evaluator), effort_(effort) {
    found_.best = std::move(best);
    found_.bound = kNoPlan;
  }

  FoundPlan run() {
    // If schedules are searched, the result may count as a proof. So the effort limit must not keep
    // the evaluator from trying all choices of stages that recompute.
    evaluator_.stop_at(effort_.schedules ? Evaluator::kNoEnd : effort_.ops);
    for (const Label& label : first_labels(ahead_)) push(label);
    while (!open_.empty()) {
      const std::int32_t top = open_.front();
      if (labels_[top].bound >= found_.best.step) break;
      if (spent()) {
        lost_ = std::min(lost_, labels_[top].bound);
        break;
      }
      std::pop_heap(open_.begin(), open_.end(), Later{labels_});
      open_.pop_back();
      if (labels_[top].layer == ahead_.task().chain.size()) {
        const auto result = effort_.schedules
                                ? evaluator_.search(stages_of(top), found_.best.step)
                                : evaluator_.improve(stages_of(top), found_.best.step);
        if (!result) {
          // None of the requested schedules can run these stages, but the bound must hold for all
          // schedules.
          found_.bound = std::min(found_.bound, labels_[top].bound);
          continue;
        }
        // A schedule that was not tried might reach the bound of these stages.
        found_.bound = std::min(found_.bound, std::max(labels_[top].bound, result->bound));
        if (result->step < found_.best.step) found_.best = *result;
        continue;
      }
      const Label part = labels_[top];
      extend(ahead_, part, found_.best.step, [&](Label child) {
        child.parent = top;
        push(child);
      });
    }
    found_.exhausted = lost_ >= found_.best.step;
    found_.bound = std::min({found_.bound, found_.best.step, lost_});
    return std::move(found_);
  }

 private:
  /// Heap order: the least bound first. Ties go to the label with more layers, so that complete
  /// plans come early, and then to the older label, so that the order is deterministic.
  struct Later {
    const std::vector<Label>& labels;
    bool operator()(std::int32_t a, std::int32_t b) const {
      return std::tuple(labels[a].bound, -labels[a].layer, a) >
             std::tuple(labels[b].bound, -labels[b].layer, b);
    }
  };

  bool spent() const { return evaluator_.ops() >= effort_.ops || seen_ >= effort_.children; }

  void push(const Label& label) {
    ++seen_;
    if (label.bound >= found_.best.step) return;
    if (labels_.size() >= effort_.labels) {
      lost_ = std::min(lost_, label.bound);
      return;
    }
    labels_.push_back(label);
    open_.push_back(static_cast<std::int32_t>(labels_.size() - 1));
    std::push_heap(open_.begin(), open_.end(), Later{labels_});
  }

  std::vector<PlannedStage> stages_of(std::int32_t at) const {
    std::vector<PlannedStage> stages;
    for (; labels_[at].parent >= 0; at = labels_[at].parent) {
      const Label& before = labels_[labels_[at].parent];
      stages.push_back(
          {before.layer, labels_[at].layer, ahead_.graph()[before.group].devices, false});
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

  const Lookahead& ahead_;
  Evaluator& evaluator_;
  PlanEffort effort_;
  std::vector<Label> labels_;
  std::vector<std::int32_t> open_;  ///< heap
  std::int64_t seen_ = 0;           ///< labels generated
  Nanos lost_ = kNoPlan;  ///< least bound among labels that were dropped or never extended
  FoundPlan found_;
};

}  // namespace

FoundPlan search_plans(const Lookahead& lookahead, Evaluator& evaluator, const PlanEffort& effort,
                       Evaluated best) {
  return BestFirst(lookahead, evaluator, effort, std::move(best)).run();
}

std::vector<PlannedStage> follow_bound(const Lookahead& lookahead) {
  Label part;
  for (const Label& label : first_labels(lookahead)) {
    if (label.bound < part.bound) part = label;
  }
  std::vector<PlannedStage> stages;
  if (part.bound == kNoPlan) return stages;
  while (part.layer < lookahead.task().chain.size()) {
    Label best;
    extend(lookahead, part, best.bound, [&](const Label& child) {
      if (child.bound < best.bound) best = child;
    });
    if (best.bound == kNoPlan) return {};
    stages.push_back({part.layer, best.layer, lookahead.graph()[part.group].devices, false});
    part = best;
  }
  return stages;
}

}  // namespace weft::pipeline
