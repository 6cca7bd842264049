// SPDX-License-Identifier: Apache-2.0
// The model: sample i of clock c has the aligned time end + offset[c] + rate[c] * place. All
// members of a collective should have the same aligned time. This common time is unknown too. For
// given weights it is the weighted mean of its members. So it is eliminated from the normal
// equations (a Schur complement), and only offsets and rates are left as unknowns. A message
// compares two samples, and a receive may end later than its send by a lag. All messages between
// two clocks share one unknown lag, which is eliminated in the same way. If there are messages in
// both directions, lag and offset can be distinguished, because the lag has one sign in one
// direction and the opposite sign in the other.
//
// Jitter has many outliers, so plain least squares would give wrong results. The fit is iteratively
// reweighted least squares (Holland and Welsch 1977): solve, compute residuals, set weights by
// residual, and repeat. The first rounds use Huber's weights. Their objective is convex, so they
// find the right region from any start. The later rounds use Tukey's biweight, which gives outliers
// no weight at all, but needs a good start. In each of the first rounds, the jitter of each noise
// class is estimated again from the median absolute residual.
#include "weft/trace/clock/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "weft/base/median.h"
#include "weft/trace/clock/normal_equations.h"

namespace weft::trace {
namespace {

constexpr double kNoiseFloor = 5e3;  // ns; time stamps of profilers are not more exact than this
constexpr double kLagPrior = 20e6;   // ns; has an effect only if messages go in one direction only
constexpr double kExcessLag = 0.1;   // weight of a message that took longer than the fitted lag
constexpr int kHuberRounds = 8;
constexpr int kRounds = 40;     // upper limit of all rounds, including kHuberRounds
constexpr double kHuber = 1.5;  // residual, in units of the jitter, up to which the weight is 1
constexpr double kTukey = 6;    // residual, in units of the jitter, from which the weight is 0
constexpr std::ptrdiff_t kDense = 192;  // with more unknowns, the iterative solver is faster

class Fitter {
 public:
  explicit Fitter(const ClockProblem& problem) : p_(problem) {
    offset_index_.assign(p_.clocks, -1);
    rate_index_.assign(p_.clocks, -1);
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      if (!p_.fixed[c]) offset_index_[c] = unknowns_++;
    }
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      if (!p_.fixed[c] && p_.with_rate[c]) rate_index_[c] = unknowns_++;
    }
    offset_.assign(p_.clocks, 0);
    rate_.assign(p_.clocks, 0);
    lag_.assign(p_.pairs, 0);
    residual_.assign(p_.samples.size(), 0);
    weight_.assign(p_.samples.size(), 0);
    noise_.assign(p_.noises, 0);
    for (std::size_t i = 0; i < p_.samples.size(); ++i) weight_[i] = p_.samples[i].used ? 1 : 0;
  }

  ClockSolution run(ClockErrors errors) {
    for (int round = 0; round < kRounds; ++round) {
      compute_residuals();
      // The estimated jitter depends on the weights, and the weights depend on the jitter. So keep
      // the jitter fixed after 20 rounds; otherwise the iteration might not converge.
      if (round < 20) estimate_noise();
      reweight(round < kHuberRounds);
      const double moved = step();
      if (round > kHuberRounds + 2 && moved < 1) break;  // less than a nanosecond
    }
    compute_residuals();
    return report(errors);
  }

 private:
  double aligned(const ClockSample& s) const {
    return s.end + offset_[s.clock] + rate_[s.clock] * s.place;
  }

  // A residual of a collective is the distance from its common end, which is the weighted mean of
  // its members. If the weights of all members are 0, it is the distance from the median. The
  // difference of a message is split between its two samples.
  void compute_residuals() {
    for (const ClockObservation& o : p_.observations) {
      if (o.pair >= 0) {
        const double d = aligned(p_.samples[o.first]) - aligned(p_.samples[o.first + 1]) -
                         o.lag * lag_[static_cast<std::size_t>(o.pair)];
        residual_[o.first] = d / 2;
        residual_[o.first + 1] = -d / 2;
        continue;
      }
      double sum = 0;
      double total = 0;
      std::vector<double> ends;
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        if (!p_.samples[i].used) continue;
        sum += weight_[i] * aligned(p_.samples[i]);
        total += weight_[i];
        ends.push_back(aligned(p_.samples[i]));
      }
      const double centre = total > 1e-6 ? sum / total : median(std::move(ends));
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        residual_[i] = aligned(p_.samples[i]) - centre;
      }
    }
  }

  // The jitter of each noise class. The estimate of a class with few samples is unstable, because
  // the fit follows these samples. So it is averaged with the estimate over all classes, which
  // counts as much as eight samples.
  void estimate_noise() {
    constexpr double kPseudoSamples = 8;
    std::vector<std::vector<double>> by_class(p_.noises);
    std::vector<double> all;
    for (const ClockObservation& o : p_.observations) {
      if (o.scale > 0 || excess(o)) continue;
      // A sample pulls the mean towards itself, so its residual is too small by this factor.
      const double n = static_cast<double>(o.count);
      const double grow = std::sqrt(n / (n - 1));
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        if (!p_.samples[i].used) continue;
        by_class[o.noise].push_back(std::abs(residual_[i]) * grow);
        all.push_back(std::abs(residual_[i]) * grow);
      }
    }
    const double overall = std::max(kNoiseFloor, 1.4826 * median(std::move(all)));
    for (std::uint32_t k = 0; k < p_.noises; ++k) {
      const double n = static_cast<double>(by_class[k].size());
      const double own = 1.4826 * median(std::move(by_class[k]));
      noise_[k] =
          std::max(kNoiseFloor, (kPseudoSamples * overall + n * own) / (kPseudoSamples + n));
    }
  }

  // Whether a message took longer than the fitted lag. A message may wait in buffers while its
  // receiver is busy, but it is never early. So fast messages show the offset of the clocks, and
  // slow messages get little weight.
  bool excess(const ClockObservation& o) const {
    return o.one_way && o.lag * residual_[o.first] > 0;
  }

  double scale_of(const ClockObservation& o) const {
    return o.scale > 0 ? o.scale : noise_[o.noise];
  }

  void reweight(bool huber) {
    for (const ClockObservation& o : p_.observations) {
      if (o.hard) continue;
      const double scale = scale_of(o);
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        if (!p_.samples[i].used) {
          weight_[i] = 0;
          continue;
        }
        const double x = std::abs(residual_[i]) / scale;
        if (huber) {
          weight_[i] = x <= kHuber ? 1 : kHuber / x;
        } else {
          const double u = x / kTukey;
          weight_[i] = u >= 1 ? 0 : (1 - u * u) * (1 - u * u);
        }
        if (excess(o)) weight_[i] *= kExcessLag;
      }
    }
  }

  using Term = EquationTerm;
  // The row of the design matrix for one sample: the derivatives of its time with respect to the
  // offset and the rate of its clock.
  std::array<Term, 2> row(const ClockSample& s, double sign) const {
    return {{{offset_index_[s.clock], sign}, {rate_index_[s.clock], sign * s.place}}};
  }

  // Adds sum(w_i r_i r_i') - (sum(w_i r_i)) (sum(w_i r_i))' / sum(w_i), where r_i is the row of
  // member i: the normal equations without the unknown common end. The ends are taken relative to
  // their mean, for precision.
  template <class Equations>
  void add_collective(const ClockObservation& o, Equations& equations) const {
    const double base = 1 / (scale_of(o) * scale_of(o));
    double total = 0;
    double mean = 0;
    for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
      total += weight_[i];
      mean += weight_[i] * p_.samples[i].end;
    }
    if (total < 1e-6) return;
    mean /= total;
    std::vector<Term> sum;
    for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
      if (weight_[i] <= 0) continue;
      const auto terms = row(p_.samples[i], 1);
      equations.add_outer(terms, base * weight_[i]);
      equations.add_right(terms, -base * weight_[i] * (p_.samples[i].end - mean));
      for (const Term& t : terms) {
        if (t.index >= 0) sum.push_back({t.index, t.value * weight_[i]});
      }
    }
    equations.add_outer(sum, -base / total);
  }

  // Sums over the messages of one pair of clocks. assemble() needs them to eliminate the lag. The
  // prior keeps the equations solvable if all messages go in one direction.
  struct PairSum {
    std::array<Term, 4> with_lag{{{-1, 0}, {-1, 0}, {-1, 0}, {-1, 0}}};
    double lag_lag = 1 / (kLagPrior * kLagPrior);
    double lag_end = 0;
  };

  template <class Equations>
  void add_message(const ClockObservation& o, Equations& equations,
                   std::vector<PairSum>& pairs) const {
    const ClockSample& a = p_.samples[o.first];
    const ClockSample& b = p_.samples[o.first + 1];
    const double w =
        std::min(weight_[o.first], weight_[o.first + 1]) / (scale_of(o) * scale_of(o)) / 2;
    if (w <= 0) return;
    const auto plus = row(a, 1);
    const auto minus = row(b, -1);
    const std::array<Term, 4> terms = {plus[0], plus[1], minus[0], minus[1]};
    const double y = a.end - b.end;
    equations.add_outer(terms, w);
    equations.add_right(terms, -w * y);
    // All messages of a pair list the two clocks in the same order, so the terms can be added
    // element by element.
    PairSum& pair = pairs[static_cast<std::size_t>(o.pair)];
    for (std::size_t k = 0; k < 4; ++k) {
      pair.with_lag[k].index = terms[k].index;
      pair.with_lag[k].value += w * o.lag * terms[k].value;
    }
    pair.lag_lag += w * o.lag * o.lag;
    pair.lag_end += w * o.lag * y;
  }

  template <class Equations>
  Equations assemble(std::vector<PairSum>& pairs) const {
    Equations equations(static_cast<std::size_t>(unknowns_));
    for (const ClockObservation& o : p_.observations) {
      if (o.pair >= 0) {
        add_message(o, equations, pairs);
      } else {
        add_collective(o, equations);
      }
    }
    for (const PairSum& pair : pairs) {
      equations.add_outer(pair.with_lag, -1 / pair.lag_lag);
      equations.add_right(pair.with_lag, pair.lag_end / pair.lag_lag);
    }
    return equations;
  }

  std::vector<double> solve(std::vector<PairSum>& pairs) const {
    if (unknowns_ <= kDense) {
      auto equations = assemble<DenseEquations>(pairs);
      equations.factorise();
      return equations.solve();
    }
    std::vector<double> guess(static_cast<std::size_t>(unknowns_), 0);
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      if (offset_index_[c] >= 0) guess[static_cast<std::size_t>(offset_index_[c])] = offset_[c];
      if (rate_index_[c] >= 0) guess[static_cast<std::size_t>(rate_index_[c])] = rate_[c];
    }
    return assemble<SparseEquations>(pairs).solve(std::move(guess));
  }

  // Solves for the current weights. Returns the largest change of an offset or rate in ns.
  double step() {
    std::vector<PairSum> pairs(p_.pairs);
    const std::vector<double> x = solve(pairs);
    double moved = 0;
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      const double offset =
          offset_index_[c] < 0 ? 0 : x[static_cast<std::size_t>(offset_index_[c])];
      const double rate = rate_index_[c] < 0 ? 0 : x[static_cast<std::size_t>(rate_index_[c])];
      moved = std::max({moved, std::abs(offset - offset_[c]), std::abs(rate - rate_[c])});
      offset_[c] = offset;
      rate_[c] = rate;
    }
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      double sum = pairs[k].lag_end;
      for (const Term& t : pairs[k].with_lag) {
        if (t.index >= 0) sum += t.value * x[static_cast<std::size_t>(t.index)];
      }
      lag_[k] = sum / pairs[k].lag_lag;
    }
    return moved;
  }

  // The variances of a fit assume that samples are independent, but the jitter of neighbouring
  // collectives is correlated. Returns, for each clock, the factor by which the variances must
  // grow. For this, divides the recording into ten blocks, and compares the squared mean residual
  // of each block with the variance that it would have if samples were independent.
  std::vector<double> inflation() const {
    constexpr std::size_t kBlocks = 10;
    struct Block {
      double sum = 0;
      double weight = 0;
      double variance = 0;
    };
    std::vector<std::array<Block, kBlocks>> blocks(p_.clocks);
    for (const ClockObservation& o : p_.observations) {
      if (o.scale > 0) continue;
      const double scale = scale_of(o);
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        const ClockSample& s = p_.samples[i];
        const double at = std::clamp((s.place + 1) / 2, 0.0, 0.999);
        Block& b = blocks[s.clock][static_cast<std::size_t>(at * kBlocks)];
        const double w = weight_[i] / (scale * scale);
        b.sum += w * residual_[i];
        b.weight += w;
        b.variance += w * w * scale * scale;
      }
    }
    std::vector<double> result(p_.clocks, 1);
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      double ratio = 0;
      double used = 0;
      for (const Block& b : blocks[c]) {
        if (b.variance <= 0) continue;
        ratio += b.sum * b.sum / b.variance;
        used += 1;
      }
      // Two degrees of freedom went into the offset and the rate.
      if (used > 2) result[c] = std::max(1.0, ratio / (used - 2));
    }
    return result;
  }

  ClockSolution report(ClockErrors errors) const {
    ClockSolution s;
    s.offset = offset_;
    s.rate = rate_;
    s.spread.assign(p_.clocks, 0);
    if (errors == ClockErrors::kWanted) add_errors(s);
    std::vector<std::vector<double>> by_clock(p_.clocks);
    for (std::size_t i = 0; i < p_.samples.size(); ++i) {
      by_clock[p_.samples[i].clock].push_back(std::abs(residual_[i]));
    }
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      s.spread[c] = 1.4826 * median(std::move(by_clock[c]));
    }
    s.residual = against_others();
    s.weight = weight_;
    return s;
  }

  void add_errors(ClockSolution& s) const {
    s.offset_error.assign(p_.clocks, 0);
    s.rate_error.assign(p_.clocks, 0);
    std::vector<PairSum> pairs(p_.pairs);
    auto equations = assemble<DenseEquations>(pairs);
    equations.factorise();
    const std::vector<double> variance = equations.variances();
    const std::vector<double> grow = inflation();
    const double widest = *std::max_element(grow.begin(), grow.end());
    for (std::uint32_t c = 0; c < p_.clocks; ++c) {
      // Errors are relative to the reference clock, so the jitter of the reference clock increases
      // the errors of all clocks. So all clocks get the largest factor.
      if (offset_index_[c] >= 0) {
        s.offset_error[c] =
            std::sqrt(widest * variance[static_cast<std::size_t>(offset_index_[c])]);
      }
      if (rate_index_[c] >= 0) {
        s.rate_error[c] = std::sqrt(widest * variance[static_cast<std::size_t>(rate_index_[c])]);
      }
    }
  }

  // For each sample: the distance of its residual from the median residual of the other members of
  // its observation. If an observation has two members, the distance from their mean would show
  // only half of a jump; this distance shows the whole jump.
  std::vector<double> against_others() const {
    std::vector<double> result(p_.samples.size(), 0);
    constexpr std::uint32_t kMany = 32;  // among more members, one hardly moves the mean
    for (const ClockObservation& o : p_.observations) {
      for (std::uint32_t i = o.first; i < o.first + o.count; ++i) {
        if (o.count > kMany) {
          result[i] = residual_[i];
          continue;
        }
        std::vector<double> others;
        for (std::uint32_t k = o.first; k < o.first + o.count; ++k) {
          if (k != i && p_.samples[k].used) others.push_back(residual_[k]);
        }
        result[i] = others.empty() ? 0 : residual_[i] - median(std::move(others));
      }
    }
    return result;
  }

  const ClockProblem& p_;
  std::ptrdiff_t unknowns_ = 0;
  std::vector<std::ptrdiff_t> offset_index_;  // by clock: index of the unknown, -1 if none
  std::vector<std::ptrdiff_t> rate_index_;
  std::vector<double> offset_;
  std::vector<double> rate_;
  std::vector<double> lag_;  // fitted lag of each pair of clocks
  std::vector<double> residual_;
  std::vector<double> weight_;
  std::vector<double> noise_;  // jitter of each noise class, in ns
};

}  // namespace

ClockSolution fit_clocks(const ClockProblem& problem, ClockErrors errors) {
  return Fitter(problem).run(errors);
}

}  // namespace weft::trace
