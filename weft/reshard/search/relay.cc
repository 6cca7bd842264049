// SPDX-License-Identifier: Apache-2.0
// A relay says, for every round and device, from which other device it receives. If this is the
// device itself, it receives nothing. We say that a device has "heard of" a source device if data
// of that source can have reached it. In each round, a device hears of all sources that its sender
// has heard of. So after r rounds it has heard of at most 2^r sources. Consider the device that
// needs data of the most sources. The plan uses the smallest r with which this device can hear of
// all its sources.
//
// A demand is a set of elements that one device has and another wants. Its route through a given
// relay is found from the last round back to the first. Assume that device d has the elements after
// a round. If d had heard of the source before this round, d had the elements before the round too.
// Otherwise the sender of d in this round had them. The routes determine what each device holds
// after each round. The local search in improve() changes senders until every demand arrives and
// everything fits into memory.
#include "weft/reshard/search/relay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>

namespace weft::reshard {
namespace {

constexpr Device kMostDevices = 16;
constexpr int kMostRounds = 4;  ///< log2(kMostDevices): enough to hear of all devices

/// The elements that one device holds in the source and another wants in the target.
struct Demand {
  Device from = 0, to = 0;
  std::int64_t elements = 0;
  std::vector<Box> boxes;
};

/// Whether every element is held by exactly one device.
bool single_copies(const Layout& layout) {
  std::int64_t held = 0;
  for (Part part = 0; part < layout.parts(); ++part) {
    if (layout.group[part] != Layout::kAbsent) held += layout.elements(part);
  }
  return !layout.partial() && held == elements(layout.shape);
}

std::vector<Demand> demands_of(const Layout& from, const Layout& to) {
  std::vector<Demand> demands;
  for (Part a = 0; a < from.parts(); ++a) {
    for (Part b = 0; b < to.parts(); ++b) {
      if (!from.holds(a) || !to.holds(b) || common_elements(from, a, to, b) == 0) continue;
      std::vector<Strips> shared;
      for (std::size_t dim = 0; dim < from.cuts.size(); ++dim) {
        shared.push_back(intersect(from.cuts[dim]->piece(a), to.cuts[dim]->piece(b)));
      }
      Demand demand{from.device_of(a), to.device_of(b), common_elements(from, a, to, b), {}};
      for_each_box(shared, [&](const Box& box) { demand.boxes.push_back(box); });
      demands.push_back(std::move(demand));
    }
  }
  return demands;
}

/// For each round, the device from which each device receives, and what each device holds as a
/// result.
struct Relay {
  using Row = std::array<Device, kMostDevices>;
  Device devices = 0;
  int rounds = 0;
  std::array<Row, kMostRounds>
      receives_from{};  ///< indexed by round, then receiver; the receiver itself: no sender
  /// Indexed by round, then device: bit s is set if the device has heard of device s before the
  /// round.
  std::array<std::array<std::uint32_t, kMostDevices>, kMostRounds + 1> heard{};
  /// Indexed by round, then device: elements held before the round.
  std::array<std::array<std::int64_t, kMostDevices>, kMostRounds> load{};

  /// Computes `heard` from `receives_from`.
  void propagate() {
    for (Device d = 0; d < devices; ++d) heard[0][d] = 1u << d;
    for (int round = 0; round < rounds; ++round) {
      for (Device d = 0; d < devices; ++d) {
        heard[round + 1][d] = heard[round][d] | heard[round][receives_from[round][d]];
      }
    }
  }

  /// Calls at(round, device) for every round, from the last round back to the first. `device` is
  /// the device that has the elements of the demand before the round. Returns false if the elements
  /// cannot arrive.
  template <class At>
  bool trace(const Demand& demand, const At& at) const {
    Device place = demand.to;
    if ((heard[rounds][place] >> demand.from & 1) == 0) return false;
    for (int round = rounds; round-- > 0;) {
      if ((heard[round][place] >> demand.from & 1) == 0) place = receives_from[round][place];
      at(round, place);
    }
    return true;
  }

  /// The cost that the local search minimizes: elements that do not arrive (counted twice) plus
  /// elements that exceed the memory of a device. 0 means that the relay is a valid plan.
  std::int64_t faults(const std::vector<Demand>& demands, std::int64_t memory) {
    propagate();
    for (auto& row : load) row.fill(0);
    std::int64_t sum = 0;
    for (const Demand& demand : demands) {
      const bool arrives =
          trace(demand, [&](int round, Device place) { load[round][place] += demand.elements; });
      if (!arrives) sum += 2 * demand.elements;
    }
    for (int round = 1; round < rounds; ++round) {
      for (Device d = 0; d < devices; ++d) {
        sum += std::max<std::int64_t>(0, load[round][d] - memory);
      }
    }
    return sum;
  }
};

/// A local search by threshold accepting. It starts from the hypercube pattern: in round i, a
/// device receives from the device whose number differs in bit i. It changes one sender at a time.
/// It accepts a change if faults() grows by less than a threshold. The threshold falls to 0 over a
/// period. Then the search starts again. Returns whether it found a relay without faults.
bool improve(Relay& relay, const std::vector<Demand>& demands, std::int64_t memory) {
  constexpr int kTrials = 60'000, kPeriod = 5'000;
  constexpr std::uint32_t kWorse = 5;  // initial threshold, in thirds of the largest demand
  std::int64_t largest = 1;
  for (const Demand& demand : demands) largest = std::max(largest, demand.elements);
  std::mt19937 random(1);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(limit));
  };
  std::int64_t faults = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    if (trial % kPeriod == 0) {
      for (int round = 0; round < relay.rounds; ++round) {
        for (Device d = 0; d < relay.devices; ++d) {
          const Device other = d ^ (1 << round);
          relay.receives_from[round][d] = other < relay.devices ? other : d;
        }
      }
      faults = relay.faults(demands, memory);
    }
    if (faults == 0) return true;
    const auto round = static_cast<int>(below(relay.rounds));
    const auto who = static_cast<Device>(below(relay.devices));
    // Of three random candidates, choose the sender that adds the most sources that the receiver
    // has not heard of yet.
    Device& receives_from = relay.receives_from[round][who];
    const Device before = receives_from;
    int most = -1;
    for (int i = 0; i < 3; ++i) {
      const auto other = static_cast<Device>(below(relay.devices));
      const int known = std::popcount(relay.heard[round][who] | relay.heard[round][other]);
      if (known > most) {
        most = known;
        receives_from = other;
      }
    }
    const std::int64_t worse =
        below(1 + kWorse * (kPeriod - trial % kPeriod) / kPeriod) * largest / 3;
    const std::int64_t now = relay.faults(demands, memory);
    if (now <= faults + worse) {
      faults = now;
    } else {
      receives_from = before;
      relay.propagate();
    }
  }
  return false;
}

Plan plan_of(const Relay& relay, const std::vector<Demand>& demands, const Problem& problem,
             const Link& link, OverlapCache& overlaps) {
  std::vector<std::vector<std::vector<Box>>> boxes(relay.rounds,
                                                   std::vector<std::vector<Box>>(relay.devices));
  for (const Demand& demand : demands) {
    relay.trace(demand, [&](int round, Device place) {
      std::vector<Box>& list = boxes[round][place];
      list.insert(list.end(), demand.boxes.begin(), demand.boxes.end());
    });
  }
  Plan plan;
  LayoutPtr at = std::make_shared<Layout>(problem.source);
  for (int round = 1; round <= relay.rounds; ++round) {
    const LayoutPtr next = std::make_shared<Layout>(
        round < relay.rounds ? layout_of_boxes(problem.shape, boxes[round]) : problem.target);
    plan.steps.push_back({Op::kExchange, {next}, traffic(*at, *next, overlaps)});
    at = next;
  }
  update_totals(plan, problem, link);
  return plan;
}

}  // namespace

std::optional<Plan> relay_plan(const Problem& problem, const Link& link, std::int64_t memory,
                               Picos upper_bound, OverlapCache& overlaps) {
  const auto devices = static_cast<Device>(problem.devices.size());
  if (devices > kMostDevices || !problem.node_of.empty()) return std::nullopt;
  if (!single_copies(problem.source) || !single_copies(problem.target)) return std::nullopt;
  const std::vector<Demand> demands = demands_of(problem.source, problem.target);
  std::array<std::uint32_t, kMostDevices> wanted{};
  for (const Demand& demand : demands) wanted[demand.to] |= 1u << demand.from | 1u << demand.to;
  int sources = 1;
  for (const std::uint32_t set : wanted) sources = std::max(sources, std::popcount(set));
  Relay relay;
  relay.devices = devices;
  relay.rounds = std::bit_width(static_cast<unsigned>(sources - 1));
  if (relay.rounds < 2 || price(link, relay.rounds, relay.rounds, 0) >= upper_bound)
    return std::nullopt;
  if (!improve(relay, demands, memory)) return std::nullopt;
  Plan plan = plan_of(relay, demands, problem, link, overlaps);
  if (plan.time >= upper_bound || plan.peak > memory) return std::nullopt;
  return plan;
}

}  // namespace weft::reshard
