// SPDX-License-Identifier: Apache-2.0
// lacks_speed() is a dynamic program over stages. Its state is a layer, and how long the next stage
// waits for its first micro-batch. Its value is the least speed that the stages so far need. Waits
// are rounded down to a grid. The speed that a stage uses up is rounded down to one of a few
// multiples of the speed that it needs. A stage with r devices is assumed to have the fastest r
// devices. All of this favours the plan. So if the devices are too slow even under these
// assumptions, no plan exists.
#include "weft/pipeline/verify/capacity.h"

#include <algorithm>
#include <limits>
#include <set>

namespace weft::pipeline::verify {
namespace {

constexpr double kNoCapacity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-12;  ///< relative, for quotients of doubles
constexpr std::size_t kMostLayers = 256;
constexpr int kMostTries = 20'000;
/// The grid of idle times has kWaitsEach steps per micro-batch, but at most kWaitsInAll steps in
/// total.
constexpr std::int32_t kWaitsInAll = 1024, kWaitsEach = 32;

/// Whether `missing` of the devices in `candidates` have links of at least `bandwidth` between all
/// of their pairs, in both directions: a clique. Answers true if it gives up after too many tries;
/// with this answer, the bound remains valid.
bool has_clique(const PlanData& plan, std::int64_t bandwidth,
                const std::vector<std::int32_t>& candidates, std::size_t missing, int& tries) {
  if (missing == 0 || ++tries > kMostTries) return true;
  for (std::size_t i = 0; i + missing <= candidates.size(); ++i) {
    std::vector<std::int32_t> rest;
    for (std::size_t j = i + 1; j < candidates.size(); ++j) {
      const std::int32_t one = candidates[i], other = candidates[j];
      if (std::min(plan.bandwidth[one][other], plan.bandwidth[other][one]) >= bandwidth) {
        rest.push_back(other);
      }
    }
    if (has_clique(plan, bandwidth, rest, missing - 1, tries)) return true;
  }
  return false;
}

/// Element g: the most speed that at most g groups of devices can have together. A group is as fast
/// as its slowest member times its size, so the best groups are ranges of the devices sorted by
/// speed.
std::vector<double> speed_of_groups(std::vector<double> speed) {
  std::sort(speed.rbegin(), speed.rend());
  const std::size_t count = speed.size();
  std::vector<std::vector<double>> most(count + 1, std::vector<double>(count + 1, 0));
  for (std::size_t groups = 1; groups <= count; ++groups) {
    for (std::size_t end = 1; end <= count; ++end) {
      most[groups][end] = most[groups - 1][end];
      for (std::size_t begin = 0; begin < end; ++begin) {
        const double last = static_cast<double>(end - begin) * speed[end - 1];
        most[groups][end] = std::max(most[groups][end], most[groups - 1][begin] + last);
      }
    }
  }
  std::vector<double> best(count + 1, 0);
  for (std::size_t groups = 1; groups <= count; ++groups) {
    best[groups] = *std::max_element(most[groups].begin(), most[groups].end());
  }
  return best;
}

/// Prefix sums over layers of their times on a device of speed 1, and of their parameters.
struct Sums {
  std::vector<double> work{0}, path{0}, parameters{0};
  double forward_part = 1;  ///< over all layers: the least share of forwards in the path
};

Sums sums_of(const PlanData& plan) {
  Sums sums;
  for (const LayerData& layer : plan.layers) {
    const auto work = static_cast<double>(layer.forward + layer.backward);
    const double path = work - static_cast<double>(layer.weight);
    sums.work.push_back(sums.work.back() + work);
    sums.path.push_back(sums.path.back() + path);
    sums.parameters.push_back(sums.parameters.back() + static_cast<double>(layer.parameters));
    if (path > 0) {
      sums.forward_part = std::min(sums.forward_part, static_cast<double>(layer.forward) / path);
    }
  }
  return sums;
}

/// The best that r devices can have: speed together, all-reduce time per byte, all-reduce latency.
struct Best {
  double speed, reduce, latency;
};

std::vector<Best> best_devices(const PlanData& plan) {
  std::vector<double> speed = plan.speed;
  std::sort(speed.rbegin(), speed.rend());
  Nanos latency = std::numeric_limits<Nanos>::max();
  for (std::int32_t i = 0; i < plan.devices; ++i) {
    for (std::int32_t j = 0; j < plan.devices; ++j) {
      if (i != j) latency = std::min(latency, plan.latency[i][j]);
    }
  }
  const std::vector<std::int64_t> among = fastest_among(plan);
  std::vector<Best> best;
  for (std::int32_t r = 1; r <= plan.devices; ++r) {
    if (plan.most_replicas > 0 && r > plan.most_replicas) break;
    Best one{r * speed[r - 1], 0, 0};
    if (r > 1) {
      const double rate = among[r] > 0 ? 1e9 / static_cast<double>(among[r]) : kNoCapacity;
      one.reduce = 2.0 * (r - 1) / r * rate;
      one.latency = static_cast<double>(2 * (r - 1) * latency);
    }
    best.push_back(one);
  }
  return best;
}

/// The least speed with which a stage can finish within the step; infinite if no number of replicas
/// has enough speed.
double speed_needed(const std::vector<Best>& best, double step, double waited,
                    double forward_waited, double micros, double path, double work,
                    double parameters) {
  for (std::size_t i = 0; i < best.size(); ++i) {
    const double reduce =
        i > 0 && parameters > 0 ? best[i].reduce * parameters + best[i].latency : 0;
    const double left = step - forward_waited - reduce;
    if (left <= 0) break;
    const double need = std::max(micros * path / (step - waited), micros * work / left);
    if (need <= best[i].speed * (1 + kTolerance)) return need;
  }
  return kNoCapacity;
}

}  // namespace

std::vector<std::int64_t> fastest_among(const PlanData& plan) {
  std::set<std::int64_t> distinct{0};
  for (const auto& row : plan.bandwidth) distinct.insert(row.begin(), row.end());
  const std::vector<std::int64_t> known(distinct.begin(), distinct.end());
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < plan.devices; ++i) all.push_back(i);
  std::vector<std::int64_t> best(all.size() + 1, std::numeric_limits<std::int64_t>::max());
  // More devices cannot have faster links, so the search for r starts at the result for r - 1.
  std::size_t most = known.size() - 1;
  for (std::size_t r = 2; r < best.size(); ++r) {
    std::size_t least = 0;
    while (least < most) {
      const std::size_t middle = least + (most - least + 1) / 2;
      int tries = 0;
      if (has_clique(plan, known[middle], all, r, tries))
        least = middle;
      else
        most = middle - 1;
    }
    best[r] = known[least];
  }
  return best;
}

bool lacks_speed(const PlanData& plan, Nanos claimed) {
  if (plan.layers.empty() || plan.layers.size() > kMostLayers) return false;
  const Sums sums = sums_of(plan);
  const std::vector<Best> best = best_devices(plan);
  const std::vector<double> speed = speed_of_groups(plan.speed);
  const std::size_t layers = plan.layers.size();
  const double micros = plan.micro_batches;
  // The simulator rounds times, so prove that even a slightly longer step is impossible.
  const auto step =
      static_cast<double>(claimed + 4 * static_cast<Nanos>(plan.devices) * plan.micro_batches);
  const std::int32_t waits = std::min(kWaitsInAll / kWaitsEach, plan.micro_batches) * kWaitsEach;
  const double one_wait = step / (kWaitsEach * micros);
  const std::size_t fixed = static_cast<std::size_t>(plan.fixed_stages);
  const std::size_t most = std::min(fixed > 0 ? fixed : layers, speed.size() - 1);
  using Row = std::vector<double>;
  std::vector<Row> used(layers, Row(waits, kNoCapacity));
  used[0][0] = 0;  // the first stage starts with layer 0 and does not wait
  for (std::size_t stage = 1; stage <= most; ++stage) {
    std::vector<Row> next(layers, Row(waits, kNoCapacity));
    for (std::size_t first = 0; first < layers; ++first) {
      for (std::int32_t wait = 0; wait < waits; ++wait) {
        const double so_far = used[first][wait], waited = wait * one_wait;
        // The remaining layers need at least the speed that they would need without further waits.
        const double rest = micros * (sums.path[layers] - sums.path[first]);
        if (so_far + rest / (step - waited) > speed[most]) continue;
        for (std::size_t last = first + 1; last <= layers; ++last) {
          const double path = sums.path[last] - sums.path[first];
          const double need = speed_needed(best, step, waited, sums.forward_part * waited, micros,
                                           path, sums.work[last] - sums.work[first],
                                           sums.parameters[last] - sums.parameters[first]);
          if (so_far + need > speed[most]) break;
          // The bound is proved only if every plan needs more speed than there is.
          if (last == layers) {
            const bool counts = fixed == 0 || stage == fixed;
            if (counts && so_far + need <= speed[stage]) return false;
            break;
          }
          // The stage may be faster than it needs to be, which shortens later waits. For each range
          // of factors, the stage uses up the speed of the lower factor, but is as fast as with the
          // upper factor.
          const double more[] = {1, 1.1, 1.25, 1.5, 2, 3, 6, kNoCapacity};
          for (int i = 0; i < 7 && so_far + more[i] * need <= speed[most]; ++i) {
            const double passed = path > 0 ? path / (more[i + 1] * need) : 0;
            const auto then = std::min<std::int64_t>(
                waits - 1, static_cast<std::int64_t>((waited + passed) / one_wait));
            next[last][then] = std::min(next[last][then], so_far + more[i] * need);
          }
        }
      }
    }
    used = std::move(next);
  }
  return true;
}

}  // namespace weft::pipeline::verify
