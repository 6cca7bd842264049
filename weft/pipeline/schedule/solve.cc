// SPDX-License-Identifier: Apache-2.0
// solve() first computes bounds in closed form. Then it tries known schedules, raises the bound by
// propagation (raise_by_windows), and searches in rounds (close_gap). A round tries the bound
// itself as a deadline, then bisects between the bound and the best schedule. Each round allows
// twice as many dead ends as the one before, so the search for an easy pipeline ends early, and the
// effort for a hard pipeline is spread over many attempts.
#include "weft/pipeline/schedule/solve.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/search.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {
namespace {

constexpr std::array kFamilies = {"1f1b", "zb-h1", "interleaved", "zb-v", "dualpipe-v", "gpipe"};
constexpr Nanos kNoSchedule = std::numeric_limits<Nanos>::max();

bool halves_backwards(const Schedule& schedule) {
  for (const auto& order : schedule.orders) {
    for (const Op& op : order) {
      if (op.kind == Kind::kInput) return true;
    }
  }
  return false;
}

/// A deadline that every sensible schedule meets: all ops, transfers and all-reduces run one after
/// the other.
Nanos one_after_the_other(const Pipeline& pipeline) {
  Nanos sum = 0;
  for (const Stage& stage : pipeline.stages) {
    sum += pipeline.micro_batches * (stage.forward + stage.input + stage.weight) + stage.all_reduce;
  }
  for (const Boundary& boundary : pipeline.boundaries) {
    for (const Transfer* transfer : {&boundary.forward, &boundary.backward}) {
      sum += pipeline.micro_batches * (transfer->time + transfer->latency);
    }
  }
  return sum;
}

/// The best schedule and bound so far, and the effort that is left.
class Progress {
 public:
  Progress(const Pipeline& pipeline, const SolveOptions& options)
      : pipeline_(pipeline), options_(options), left_(options.decisions) {
    best_.makespan = kNoSchedule;
    best_.lower_bound = lower_bounds(pipeline).best();
  }

  bool found() const { return best_.makespan != kNoSchedule; }
  bool done() const {
    return best_.proved() || left_ <= 0 || best_.visited >= options_.visits || stopped();
  }
  bool stopped() const { return options_.stop && options_.stop(); }
  Nanos low() const { return best_.lower_bound; }
  Nanos high() const { return best_.makespan; }
  void raise(Nanos bound) { best_.lower_bound = std::max(best_.lower_bound, bound); }
  const Schedule& schedule() const { return best_.schedule; }
  /// Whether the best schedule is so close to `low` that no deadline between them is worth trying.
  bool is_close(Nanos low) const { return high() - low <= low / options_.fine; }
  Solution take() { return std::move(best_); }

  /// Keeps the schedule if it fits into memory and is the best so far. Returns its makespan if it
  /// fits.
  std::optional<Nanos> offer(const Schedule& schedule) {
    const auto timeline = simulate(pipeline_, schedule);
    if (!timeline || !fits(pipeline_, *timeline)) return std::nullopt;
    if (timeline->makespan < best_.makespan) {
      best_.makespan = timeline->makespan;
      best_.schedule = schedule;
    }
    return timeline->makespan;
  }

  /// Offers all known patterns and list schedules. Each takes long on a large pipeline, so if the
  /// user's time is up, the first schedule that fits is enough.
  void offer_known() {
    for (const char* name : kFamilies) {
      if (found() && stopped()) return;
      const auto schedule = family(name, pipeline_);
      if (schedule && (pipeline_.split_backward || !halves_backwards(*schedule))) offer(*schedule);
    }
    for (const PriorityRule& rule : different_rules(pipeline_)) {
      if (found() && stopped()) return;
      const auto schedule = list_schedule(pipeline_, rule);
      if (schedule) offer(*schedule);
    }
  }

  /// Counts the effort of building the search, and lets options_.stop end it.
  void begin(Search& search) {
    best_.visited += search.visited();
    search.stop_when(options_.stop);
  }

  /// Whether propagation cannot rule the deadline out.
  bool may_end_by(Search& search, Nanos deadline) {
    const std::int64_t before = search.visited();
    search.limit_visits(options_.visits - best_.visited);
    const bool may = search.may_end_by(deadline);
    best_.visited += search.visited() - before;
    return may;
  }

  /// Searches for a schedule that meets the deadline, and offers what it finds.
  Answer probe(Search& search, Nanos deadline, std::int64_t dead_ends, std::uint32_t seed,
               bool looks_ahead) {
    Schedule schedule;
    const std::int64_t before = search.visited();
    search.limit_visits(options_.visits - best_.visited);
    const Effort effort{left_, dead_ends, seed, looks_ahead};
    std::int64_t tried = 0;
    const Answer answer = search.find(deadline, effort, schedule, tried);
    left_ -= tried;
    best_.visited += search.visited() - before;
    if (answer != Answer::kFound) return answer;
    const auto time = offer(schedule);
    // Shared links may serve in another order than the search assumed, so the schedule can be late.
    return time && *time <= deadline ? Answer::kFound : Answer::kUnknown;
  }

 private:
  const Pipeline& pipeline_;
  const SolveOptions& options_;
  std::int64_t left_;
  Solution best_;
};

/// Raises the bound to the shortest deadline that propagation cannot rule out. Deadlines above the
/// bound are tried with growing steps until one is possible, then bisection finds the shortest.
void raise_by_windows(Search& search, Progress& progress) {
  Nanos low = progress.low();  // no deadline below this can be met
  Nanos step = std::max<Nanos>(1, low / 1024);
  Nanos high = low;
  progress.may_end_by(search, progress.high());  // speeds up all calls with earlier deadlines
  while (!progress.done() && high < progress.high() && !progress.may_end_by(search, high)) {
    low = high + 1;
    high = std::min(progress.high(), high + step);
    step *= 2;
  }
  while (!progress.done() && !progress.is_close(low) && low < high) {
    const Nanos middle = low + (high - low) / 2;
    progress.may_end_by(search, middle) ? high = middle : low = middle + 1;
  }
  progress.raise(low);
}

/// Tries the bound as a deadline, because more often than not a schedule meets it. Then bisects
/// between the bound and the best schedule. `is_proof`: the search covers all orders, so if it ends
/// without a schedule, there is none and the bound can be raised.
void close_gap(Search& search, Progress& progress, bool is_proof, std::int64_t dead_ends,
               std::uint32_t seed) {
  Nanos low = progress.low();  // no deadline below this is worth trying
  const auto attempt = [&](Nanos deadline) {
    for (std::uint32_t i = 0; i < 6 && !progress.done(); ++i) {
      const bool looks_ahead = i >= 3;  // after three cheap attempts have failed
      const Answer answer = progress.probe(search, deadline, dead_ends, seed + i % 3, looks_ahead);
      if (answer == Answer::kFound) return true;
      if (answer == Answer::kUnknown) continue;
      if (is_proof) progress.raise(deadline + 1);
      break;
    }
    low = deadline + 1;
    return false;
  };
  if (attempt(low)) return;
  while (!progress.done() && !progress.is_close(low)) {
    attempt(low + (progress.high() - 1 - low) / 2);
  }
}

void search_all_orders(Search& search, Progress& progress) {
  raise_by_windows(search, progress);
  constexpr std::int64_t kMostDeadEnds = std::int64_t{1} << 40;  // doubling must not overflow
  std::int64_t dead_ends = 20;
  for (std::uint32_t seed = 0; !progress.done(); seed += 3) {
    close_gap(search, progress, true, dead_ends, seed);
    dead_ends = std::min(2 * dead_ends, kMostDeadEnds);
  }
}

/// Searches corridors around the best schedule. If a corridor leads to a better schedule, the next
/// corridor is a narrow one around this schedule. If not, the next corridor is wider.
void search_near(const Chains& chains, Progress& progress, std::size_t most_states) {
  constexpr Micro kWidest = 3;
  std::uint32_t seed = 0;
  for (Micro width = 1; !progress.done() && width <= kWidest;) {
    const Nanos before = progress.high();
    auto search = Search::around(chains, progress.schedule(), width, most_states);
    if (!search) return;
    progress.begin(*search);
    progress.may_end_by(*search, progress.high());  // speeds up all calls with earlier deadlines
    close_gap(*search, progress, false, 20, seed);
    seed += 3;
    width = progress.high() < before ? 1 : width + 1;
  }
}

}  // namespace

double Solution::gap() const {
  return lower_bound > 0
             ? static_cast<double>(makespan - lower_bound) / static_cast<double>(lower_bound)
             : 0;
}

Result<Solution> solve_quickly(const Pipeline& pipeline) {
  WEFT_TRY(check(pipeline));
  const SolveOptions options;
  Progress progress(pipeline, options);
  progress.offer_known();
  if (!progress.found()) {
    return fail(ErrorCode::kInfeasible, "no known schedule fits into the memory of the devices");
  }
  return progress.take();
}

Result<Solution> solve(const Pipeline& pipeline, const SolveOptions& options) {
  WEFT_TRY(check(pipeline));
  Progress progress(pipeline, options);
  progress.offer_known();
  // Known schedules often meet the bound already.
  if (progress.found() && progress.done()) return progress.take();
  const Chains chains = make_chains(pipeline);
  auto search = Search::make(chains, options.most_states);
  Answer any = Answer::kUnknown;
  if (search) {
    progress.begin(*search);
    if (!progress.found()) {
      // No known schedule fits into memory. Search with a deadline so late that an even later one
      // would not allow more schedules.
      any = progress.probe(*search, one_after_the_other(pipeline), options.decisions, 0, false);
    }
    if (progress.found()) search_all_orders(*search, progress);
  } else if (progress.found()) {
    search_near(chains, progress, options.near_states);
  }
  if (!progress.found()) {
    return fail(ErrorCode::kInfeasible,
                any == Answer::kNone ? "no schedule fits into the memory of the devices"
                                     : "no schedule was found that fits into the memory of the "
                                       "devices, which does not prove that there is none");
  }
  return progress.take();
}

}  // namespace weft::pipeline
