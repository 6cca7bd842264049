// SPDX-License-Identifier: Apache-2.0
// How clocks are aligned:
//   1. problem.cc turns matches and transfers into observations, after a rough first guess of the
//      offsets.
//   2. Fit the offsets (fit.cc: robust least squares over all clocks at once).
//   3. Look for jumps (jump.cc): a clock that was set during the recording. Discard the samples on
//      the shorter side of each jump and fit again.
//   4. Fit rates (drift) for the clocks whose samples determine a rate precisely enough.
//   5. Enforce causality: no member leaves a collective before the last one has arrived. If more
//      than a few samples of a pair of clocks contradict this, add an exact bound and fit again.
//   6. Fit once more with standard errors, and report.
// Jumps come before rates, because a jump looks like drift to a least-squares fit.
#include "weft/trace/clock/align.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "weft/base/check.h"
#include "weft/trace/clock/fit.h"
#include "weft/trace/clock/jump.h"
#include "weft/trace/clock/problem.h"
#include "weft/trace/match/wire_match.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kClockJump = {
    "clock-jump", Severity::kWarning,
    "the clock of a rank was set during the recording; the rank is aligned by the longer part of "
    "its recording, so the times in the shorter part are wrong by the size of the jump",
    "let the time service slew the clock instead of stepping it (chrony: no makestep while jobs "
    "run)"};
constexpr DiagnosticKind kClockUntied = {
    "clock-untied", Severity::kWarning,
    "nothing in the recording relates the clock of this rank to the clock of the first rank; the "
    "times of this rank are used as recorded",
    "record steps that contain a collective or message of this rank"};
constexpr DiagnosticKind kClockRateAbsurd = {
    "clock-rate-absurd", Severity::kWarning,
    "the fitted drift is larger than the drift of any real clock; it was not corrected",
    "check that all files are of one run"};
constexpr DiagnosticKind kHostClocksDiffer = {
    "host-clocks-differ", Severity::kWarning,
    "the clocks of ranks that name the same host differ by more than a millisecond; each rank was "
    "aligned by its own communication",
    "check that all files are of one run and that none was edited"};

std::string milliseconds(double ns) {
  const auto us = static_cast<std::int64_t>(std::llround(ns / 1e3));
  std::string digits = std::to_string(std::abs(us) % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return (us < 0 ? "-" : "") + std::to_string(std::abs(us) / 1000) + "." + digits + " ms";
}

class Aligner {
 public:
  Aligner(const Run& run, const std::vector<Match>& matches, const AlignOptions& options,
          Diagnostics& diagnostics)
      : run_(run),
        options_(options),
        diagnostics_(diagnostics),
        ties_(clock_ties(run)),
        seen_(observe_clocks(run, matches, ties_between_ranks(run, ties_))),
        problem_(seen_.problem),
        by_clock_(run.ranks.size()) {
    for (const ClockObservation& o : problem_.observations) {
      if (o.scale > 0) continue;
      for (std::size_t i = o.first; i < o.first + o.count; ++i) {
        by_clock_[problem_.samples[i].clock].push_back(i);
      }
    }
    for (auto& list : by_clock_) {
      std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
        return problem_.samples[a].place < problem_.samples[b].place;
      });
    }
  }

  Alignment align() {
    solution_ = fit_clocks(problem_, ClockErrors::kLeftOut);
    cut_jumps();
    fit_rates();
    enforce_causality();
    solution_ = fit_clocks(problem_, ClockErrors::kWanted);
    return report();
  }

 private:
  // Cuts one jump at a time. The largest goes first, because it distorts the residuals of all
  // clocks.
  void cut_jumps() {
    for (std::size_t round = 0; round < run_.ranks.size(); ++round) {
      std::uint32_t worst = 0;
      ClockJump jump;
      std::vector<std::size_t> order;
      for (std::uint32_t c = 0; c < problem_.clocks; ++c) {
        std::vector<std::size_t> samples = samples_of(c);
        std::vector<double> times;
        std::vector<double> residuals;
        for (const std::size_t i : samples) {
          times.push_back(problem_.samples[i].place);
          residuals.push_back(solution_.residual[i]);
        }
        const auto found = find_jump(times, residuals);
        if (!found) continue;
        // With two clocks, a jump of one clock looks the same as the opposite jump of the other
        // clock. If the sizes of the two jumps are about equal, choose the clock that is not the
        // reference.
        const bool larger = std::abs(found->size) > 1.01 * std::abs(jump.size);
        const bool instead = !order.empty() && problem_.fixed[worst] &&
                             std::abs(found->size) > 0.9 * std::abs(jump.size);
        if (!larger && !instead) continue;
        worst = c;
        jump = *found;
        order = std::move(samples);
      }
      if (order.empty()) return;
      const double at = problem_.samples[order[jump.at]].end + static_cast<double>(seen_.origin);
      diagnostics_.add(kClockJump, "rank " + std::to_string(run_.ranks[worst].rank) + ", about " +
                                       milliseconds(at) + " after the first rank's epoch, by " +
                                       milliseconds(jump.size));
      const bool later_is_longer = 2 * jump.at < order.size();
      for (std::size_t k = 0; k < order.size(); ++k) {
        if ((k < jump.at) == later_is_longer) problem_.samples[order[k]].used = false;
      }
      solution_ = fit_clocks(problem_, ClockErrors::kLeftOut);
    }
  }

  /// The samples of a clock in order of time, without the samples that a jump has discarded.
  std::vector<std::size_t> samples_of(std::uint32_t clock) const {
    std::vector<std::size_t> list;
    for (const std::size_t i : by_clock_[clock]) {
      if (problem_.samples[i].used) list.push_back(i);
    }
    return list;
  }

  /// A solution's rate is in ns per half recording; see ClockSolution::rate.
  double to_ppb(double rate) const { return rate / seen_.half_span * 1e9; }

  // First fits a rate for every clock with enough samples, to learn how precise each rate would be.
  // Then keeps only the rates that are precise enough, and fits again.
  void fit_rates() {
    constexpr std::size_t kFewest = 8;  // enough for two unknowns and an estimate of the jitter
    rate_bound_.assign(problem_.clocks, options_.max_rate_ppb);
    std::vector<bool> able(problem_.clocks, false);
    bool any = false;
    for (std::uint32_t c = 0; c < problem_.clocks; ++c) {
      able[c] = samples_of(c).size() >= kFewest;
      any |= able[c] && !problem_.fixed[c];
    }
    if (!any) return;
    problem_.with_rate = able;
    const ClockSolution with_rates = fit_clocks(problem_, ClockErrors::kWanted);
    std::vector<bool> keep(problem_.clocks, false);
    bool kept = false;
    for (std::uint32_t c = 0; c < problem_.clocks; ++c) {
      if (problem_.fixed[c]) rate_bound_[c] = 0;
      if (!able[c] || problem_.fixed[c]) continue;
      const double rate = to_ppb(with_rates.rate[c]);
      const double error = to_ppb(with_rates.rate_error[c]);
      rate_bound_[c] = std::min(options_.max_rate_ppb,
                                static_cast<std::int64_t>(std::ceil(std::abs(rate) + 2 * error)));
      // A rate is kept if it is precise enough, even if it is small. If small rates were dropped,
      // the result would depend on the offsets that the clocks had at the start.
      const bool precise = 2 * error <= static_cast<double>(options_.rate_resolution_ppb);
      if (!precise || 2 * seen_.half_span < static_cast<double>(options_.min_span_for_rate))
        continue;
      if (std::abs(rate) > static_cast<double>(options_.max_rate_ppb)) {
        diagnostics_.add(kClockRateAbsurd, "rank " + std::to_string(run_.ranks[c].rank));
        continue;
      }
      keep[c] = kept = true;
    }
    problem_.with_rate = keep;
    if (!kept) return;
    solution_ = fit_clocks(problem_, ClockErrors::kWanted);
    for (std::uint32_t c = 0; c < problem_.clocks; ++c) {
      if (keep[c]) {
        rate_bound_[c] = static_cast<std::int64_t>(std::ceil(2 * to_ppb(solution_.rate_error[c])));
      }
    }
  }

  // Enforces that no member leaves a collective before the last member has arrived. If more than 5
  // % of the samples of a pair of clocks contradict this, the fit is wrong. Then add a bound at the
  // 5 % quantile of the contradictions and fit again; the new fit must meet the bound. A bound may
  // cause new contradictions between other clocks. So repeat this, at most three times.
  void enforce_causality() {
    struct Breach {
      double size;              // ns: how long before the last arrival the member left
      std::size_t early, late;  // samples of the member and of the last arrival
    };
    struct PairBreaches {
      std::size_t seen = 0;
      std::vector<Breach> list;
    };
    constexpr double kOdd = 0.05;
    for (int round = 0; round < 3; ++round) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, PairBreaches> pairs;
      for (const ClockObservation& o : problem_.observations) {
        if (o.scale > 0) continue;
        std::size_t last = o.first;
        for (std::size_t i = o.first; i < o.first + o.count; ++i) {
          if (start(i) > start(last)) last = i;
        }
        for (std::size_t i = o.first; i < o.first + o.count; ++i) {
          if (i == last || solution_.weight[i] < 0.1 || solution_.weight[last] < 0.1) continue;
          PairBreaches& p = pairs[{problem_.samples[i].clock, problem_.samples[last].clock}];
          ++p.seen;
          const double early_by = start(last) - end(i);
          if (early_by > 0) p.list.push_back({early_by, i, last});
        }
      }
      bool added = false;
      for (auto& [clocks, p] : pairs) {
        const auto allowed = static_cast<std::size_t>(kOdd * static_cast<double>(p.seen));
        if (p.list.size() <= allowed) continue;
        std::sort(p.list.begin(), p.list.end(),
                  [](const Breach& a, const Breach& b) { return a.size > b.size; });
        add_bound(p.list[allowed].early, p.list[allowed].late);
        added = true;
      }
      if (!added) return;
      solution_ = fit_clocks(problem_, ClockErrors::kLeftOut);
    }
  }

  // end() and start() return the end and the start of a sample on the common clock, according to
  // the current solution.
  double end(std::size_t i) const {
    const ClockSample& s = problem_.samples[i];
    return s.end + solution_.offset[s.clock] + solution_.rate[s.clock] * s.place;
  }
  double start(std::size_t i) const { return end(i) - seen_.duration[i]; }

  // Adds an observation that says: the end of `early` and the start of `late` are one instant.
  void add_bound(std::size_t early, std::size_t late) {
    constexpr double kTight = 1e3;  // ns; small, so the bound has more weight than all samples
    ClockObservation o;
    o.first = static_cast<std::uint32_t>(problem_.samples.size());
    o.count = 2;
    o.scale = kTight;
    o.hard = true;
    ClockSample a = problem_.samples[early];
    ClockSample b = problem_.samples[late];
    b.end -= seen_.duration[late];
    problem_.samples.push_back(a);
    problem_.samples.push_back(b);
    seen_.duration.resize(problem_.samples.size(), 0);
    problem_.observations.push_back(o);
  }

  Alignment report() {
    Alignment result;
    result.epoch = run_.ranks.empty() ? 0 : run_.ranks[0].epoch;
    result.origin = seen_.origin;
    for (std::uint32_t c = 0; c < problem_.clocks; ++c) {
      ClockFit fit;
      // The rate of the solution refers to times to which the first guess was added. The rate of a
      // ClockFit refers to the rank's own times. So the drift over the length of the guess must be
      // added to the offset.
      const double rate = solution_.rate[c] / seen_.half_span;
      const double shift = static_cast<double>(seen_.guess[c]) * rate;
      fit.offset = seen_.guess[c] + std::llround(solution_.offset[c] + shift);
      fit.rate_ppb = std::llround(rate * 1e9);
      fit.offset_uncertainty = std::llround(2 * solution_.offset_error[c]);
      fit.rate_uncertainty_ppb = rate_bound_[c];
      fit.residual = std::llround(solution_.spread[c]);
      fit.samples = static_cast<std::int64_t>(samples_of(c).size());
      fit.tied = seen_.tied[c];
      if (!fit.tied) diagnostics_.add(kClockUntied, "rank " + std::to_string(run_.ranks[c].rank));
      result.ranks.push_back(fit);
    }
    place_bystanders(result);
    check_hosts(result);
    return result;
  }

  // Sets the clock of each bystander from its tie with the narrowest bounds.
  void place_bystanders(Alignment& result) {
    const std::size_t ranks = run_.ranks.size();
    std::vector<Nanos> width(run_.bystanders.size(), std::numeric_limits<Nanos>::max());
    result.bystanders.assign(run_.bystanders.size(), 0);
    for (const ClockTie& tie : ties_) {
      if (tie.first >= ranks || tie.second < ranks) continue;
      const std::size_t b = tie.second - ranks;
      if (tie.high - tie.low >= width[b]) continue;
      width[b] = tie.high - tie.low;
      const Nanos epoch = run_.ranks[tie.first].epoch;
      const Nanos common = aligned_time(result, tie.first, epoch, tie.at - epoch);
      result.bystanders[b] = common - (tie.at - tie.middle() - result.epoch);
    }
  }

  void check_hosts(const Alignment& result) {
    std::map<std::string, std::size_t> first;
    for (std::size_t r = 0; r < run_.ranks.size(); ++r) {
      const std::string& host = run_.ranks[r].host;
      if (host.empty()) continue;
      const std::size_t other = first.emplace(host, r).first->second;
      const Nanos apart = result.ranks[r].offset - result.ranks[other].offset;
      if (std::abs(apart) <= kMillisecond) continue;
      diagnostics_.add(kHostClocksDiffer, "ranks " + std::to_string(run_.ranks[other].rank) +
                                              " and " + std::to_string(run_.ranks[r].rank) +
                                              " of " + host + ", by " +
                                              milliseconds(static_cast<double>(apart)));
    }
  }

  const Run& run_;
  const AlignOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<ClockTie> ties_;
  ClockObservations seen_;
  ClockProblem& problem_;
  std::vector<std::vector<std::size_t>> by_clock_;  // samples of each clock, sorted by time
  ClockSolution solution_;
  std::vector<std::int64_t> rate_bound_;  // ppb; becomes ClockFit::rate_uncertainty_ppb
};

// Returns rate * elapsed, rounded to the nearest nanosecond. (One part per billion of a second is
// one nanosecond.) Whole seconds are multiplied separately, so that the product cannot overflow.
Nanos drift(std::int64_t rate_ppb, Nanos elapsed) {
  const Nanos rest = rate_ppb * (elapsed % kSecond);
  const Nanos half = rest >= 0 ? kSecond / 2 : -kSecond / 2;
  return rate_ppb * (elapsed / kSecond) + (rest + half) / kSecond;
}

}  // namespace

Alignment align(const Run& run, const std::vector<Match>& matches, const AlignOptions& options,
                Diagnostics& diagnostics) {
  if (run.ranks.empty()) return {};
  return Aligner(run, matches, options, diagnostics).align();
}

Nanos aligned_time(const Alignment& alignment, std::size_t rank, Nanos rank_epoch, Nanos t) {
  const ClockFit& fit = alignment.ranks[rank];
  const Nanos common = t + (rank_epoch - alignment.epoch);
  return common + fit.offset + drift(fit.rate_ppb, common - alignment.origin);
}

void apply(Run& run, const Alignment& alignment) {
  WEFT_CHECK(run.ranks.size() == alignment.ranks.size());
  WEFT_CHECK(run.bystanders.size() == alignment.bystanders.size());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    RankTrace& trace = run.ranks[r];
    const Nanos epoch = trace.epoch;
    auto move = [&](Nanos t) { return aligned_time(alignment, r, epoch, t); };
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      // Move both ends and recompute the duration, so that two events that touch still touch after
      // the move.
      const Nanos start = move(trace.events.start[i]);
      trace.events.duration[i] = move(trace.events.end(i)) - start;
      trace.events.start[i] = start;
    }
    for (FlowPoint& flow : trace.flows) flow.time = move(flow.time);
    for (WireTransfer& transfer : trace.wire.transfers) {
      const Nanos start = move(transfer.start);
      transfer.duration = move(transfer.start + transfer.duration) - start;
      transfer.start = start;
    }
    for (StepMark& step : trace.steps) {
      step.start = move(step.start);
      step.end = move(step.end);
    }
    trace.epoch = alignment.epoch;
  }
  for (std::size_t b = 0; b < run.bystanders.size(); ++b) {
    Bystander& bystander = run.bystanders[b];
    const Nanos add = bystander.epoch - alignment.epoch + alignment.bystanders[b];
    for (WireTransfer& transfer : bystander.wire.transfers) transfer.start += add;
    bystander.epoch = alignment.epoch;
  }
}

}  // namespace weft::trace
