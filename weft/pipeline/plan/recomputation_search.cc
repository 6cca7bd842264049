// SPDX-License-Identifier: Apache-2.0
// With t tight stages there are 2^t choices. If these are few and the pipeline is small, all of
// them are timed. Otherwise the search times a few starts and improves the best of them:
//
//  1. The choice of the caller, if the caller has found the plan with a choice (local searches, and
//     searches for a schedule).
//  2. A guess by a lower bound per stage (guess_recomputation()).
//  3. No stage recomputes; all tight stages recompute.
//  4. If none of these fits, the two choices that need the least memory: with one micro-batch at a
//     time, and with all micro-batches at once. On a device with several stages, some of the stages
//     may have to recompute while others must not.
//  5. Hill climbing: flips the choice of one tight stage, or of a block of neighbours if there are
//     many, as long as one of the flips helps.
//
// Local searches ask Question::kIfShorterAsSet thousands of times and flip stages themselves. For
// them the search ends with the first start that has an answer, and without step 5.
#include "weft/pipeline/plan/recomputation_search.h"

#include <algorithm>
#include <utility>

#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/plan/recomputation.h"
#include "weft/pipeline/schedule/bounds.h"

namespace weft::pipeline {
namespace {

constexpr std::size_t kMostEnumeratedStages =
    4;                                  ///< tight stages up to which all choices are tried
constexpr std::size_t kMostFlips = 32;  ///< blocks of stages flipped per round of climbing
/// Approximate limit for the simulated ops of all choices of one plan.
constexpr std::int64_t kMostOpsOfChoices = 65'536;
/// In pipelines with at most this many ops every choice gets a search for a schedule; in larger
/// pipelines only the best choice gets one, because each search takes long.
constexpr std::int64_t kMostOpsToSearchAll = 128;

class RecomputationSearch {
 public:
  RecomputationSearch(const RecomputationInput& input, const RecomputationTools& tools)
      : input_(input),
        tools_(tools),
        as_given_(input.question == Question::kIfShorterAsSet),
        searches_(input.question == Question::kSearchedStep),
        searches_best_only_(searches_ && simulated_ops(input.unlimited) > kMostOpsToSearchAll),
        question_(searches_best_only_ ? Question::kStep
                  : as_given_         ? Question::kIfShorter
                                      : input.question),
        // For each choice of stages that recompute, about four schedules are simulated.
        most_choices_(static_cast<std::size_t>(
            std::clamp<std::int64_t>(kMostOpsOfChoices / (4 * simulated_ops(input.unlimited)), 4,
                                     std::int64_t{1} << kMostEnumeratedStages))) {
    tools_.limited = input.unlimited;
  }

  Result<Evaluated> run() {
    const std::size_t tight = input_.tight.size();
    if (tight <= kMostEnumeratedStages && std::size_t{1} << tight <= most_choices_) {
      try_all_choices();
      return finished();
    }
    if (as_given_ || searches_) {
      try_choice(given_choice(), question_);
      if (as_given_ && best_) return finished();
    }
    if (!shares_devices(input_.unlimited)) {
      std::vector<PlannedStage> guess = input_.plain;
      guess_recomputation(input_.task, input_.unlimited, guess);
      try_choice(guess, start_question());
      if (as_given_ && best_) return finished();
    }
    try_extremes();
    if (!as_given_) flip_blocks();
    return finished();
  }

 private:
  /// Starts are timed even if they are not below the limit: their steps tell the climb where to
  /// start from.
  Question start_question() const {
    return question_ == Question::kIfShorter ? Question::kStep : question_;
  }

  bool is_spent() const { return best_ && tools_.ops >= input_.most_ops; }

  /// The choice of the caller: which of the tight stages recompute.
  std::vector<PlannedStage> given_choice() const {
    std::vector<PlannedStage> choice = input_.plain;
    for (const std::size_t s : input_.tight) choice[s].recompute = input_.given[s].recompute;
    return choice;
  }

  /// Times one choice. Keeps it and returns true if it is shorter than the best one so far.
  bool try_choice(const std::vector<PlannedStage>& choice, Question question) {
    tools_.ops += 16 + 8 * static_cast<std::int64_t>(choice.size());
    if (!set_recomputation(input_.task, choice, tools_.costs, tools_.limited)) return false;
    const Nanos below = best_ ? std::min(input_.limit, best_->step) : input_.limit;
    const Nanos quick = quick_bound(tools_.limited);
    if (question == Question::kIfShorter && quick >= below) {
      // The choice fits but is not shorter. Keep it without a step, because it shows that the plan
      // is feasible.
      if (!best_) best_ = Evaluated{kNoStep, 0, {}, choice};
      return false;
    }
    if (best_ && quick >= best_->step) return false;
    auto result = tools_.time(tools_.limited, choice, below, question);
    if (!result || (best_ && result->step >= best_->step)) return false;
    best_ = std::move(result);
    return true;
  }

  void try_all_choices() {
    std::vector<PlannedStage> choice = input_.plain;
    for (std::uint32_t set = 0; set < 1u << input_.tight.size() && !is_spent(); ++set) {
      for (std::size_t i = 0; i < input_.tight.size(); ++i) {
        choice[input_.tight[i]].recompute = (set >> i & 1) != 0;
      }
      try_choice(choice, question_);
    }
  }

  /// Steps 3 and 4 of the search: tries the choice in which no stage recomputes, and the choice in
  /// which all tight stages recompute. If neither fits, tries the choices that need the least
  /// memory.
  void try_extremes() {
    std::vector<PlannedStage> choice = input_.plain;
    try_choice(choice, start_question());
    for (const std::size_t s : input_.tight) choice[s].recompute = true;
    try_choice(choice, start_question());
    for (const Micro in_flight : {Micro{1}, input_.task.micro_batches}) {
      if (best_) return;
      std::vector<PlannedStage> least = choice;
      recompute_least(input_.task, in_flight, least);
      for (const std::size_t s : input_.tight) choice[s].recompute = least[s].recompute;
      try_choice(choice, start_question());
    }
  }

  /// Step 5 of the search: hill climbing. A flip switches the recomputation of a tight stage on or
  /// off. A round tries at most kMostFlips flips. If there are more tight stages, each flip covers
  /// a block of neighbouring stages.
  void flip_blocks() {
    const std::vector<std::size_t>& tight = input_.tight;
    const std::size_t flips = std::min(2 * most_choices_, kMostFlips);
    const std::size_t block = (tight.size() + flips - 1) / flips;
    const Question question =
        question_ == Question::kSearchedStep ? question_ : Question::kIfShorter;
    for (bool is_better = static_cast<bool>(best_); is_better;) {
      is_better = false;
      for (std::size_t first = 0; first < tight.size() && !is_spent(); first += block) {
        std::vector<PlannedStage> choice = best_->stages;
        const std::size_t last = std::min(first + block, tight.size());
        for (std::size_t i = first; i < last; ++i) {
          choice[tight[i]].recompute = !choice[tight[i]].recompute;
        }
        is_better |= try_choice(choice, question);
      }
    }
  }

  /// Returns the best choice. If single choices got no search for a schedule, searches a schedule
  /// for the best choice now.
  Result<Evaluated> finished() {
    if (!searches_best_only_ || !best_ || best_->step == kNoStep) return std::move(best_);
    const std::vector<PlannedStage> choice = best_->stages;
    if (!set_recomputation(input_.task, choice, tools_.costs, tools_.limited)) {
      return std::move(best_);
    }
    auto searched = tools_.time(tools_.limited, choice, input_.limit, Question::kSearchedStep);
    return searched && searched->step < best_->step ? std::move(searched) : std::move(best_);
  }

  const RecomputationInput& input_;
  const RecomputationTools& tools_;
  bool as_given_;             ///< whether the first choice with an answer is enough
  bool searches_;             ///< whether a schedule is to be searched
  bool searches_best_only_;   ///< whether only the best choice gets this search
  Question question_;         ///< asked about single choices
  std::size_t most_choices_;  ///< how many choices are worth timing for a plan of this size
  Result<Evaluated> best_ = fail(ErrorCode::kInfeasible, "no schedule fits into memory");
};

}  // namespace

Result<Evaluated> search_recomputation(const RecomputationInput& input,
                                       const RecomputationTools& tools) {
  return RecomputationSearch(input, tools).run();
}

}  // namespace weft::pipeline
