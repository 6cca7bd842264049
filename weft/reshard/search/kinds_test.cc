// SPDX-License-Identifier: Apache-2.0
// Plans random problems whose source and target have any two kinds (meshes, boxes, ranges, ...).
// Every plan must pass the two checks of replay.h and fit into memory. The direct plan must receive
// exactly the lower bound.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "weft/reshard/check/outcome.h"
#include "weft/reshard/check/replay.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/bounds.h"

namespace weft::reshard {
namespace {

constexpr std::int64_t kDevices = 12;

class RandomEnds {
 public:
  explicit RandomEnds(unsigned seed) : random_(seed) {
    shape_.resize(below(12) == 0 ? 0 : 1 + below(3));
    for (std::int64_t& size : shape_) size = below(16) == 0 ? 0 : 1 + below(11);
  }

  Problem problem() {
    const SplitRule rules[] = {SplitRule::kCeilFlat, SplitRule::kCeilNested, SplitRule::kBalanced};
    const End from = end(true), to = end(false);
    auto problem = make_problem(shape_, 4, from, to, rules[below(3)]);
    WEFT_CHECK(problem.has_value());
    const Status source = check_source(problem->source);
    EXPECT_TRUE(source) << source.error().message;
    const std::pair<const char*, const char*> types[] = {
        {"f32", "f32"}, {"f32", "f64"}, {"f64", "bf16"}, {"bf16", "f32"}};
    const auto& [before, after] = types[below(4)];
    WEFT_CHECK(set_types(*problem, before, after));
    if (below(4) == 0) set_nodes(*problem, 1 + below(4));
    return *problem;
  }

 private:
  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random_()) % limit; }

  End end(bool source) {
    End end;
    const std::int64_t kind = below(source ? 11 : 12);
    if (kind < 6) {
      end.type = sharding(kind < 4);
    } else if (kind < 8) {
      ragged(end);
    } else if (kind < 9 && shape_.size() == 2) {
      block_cyclic(end);
    } else if (kind < 11) {
      for (const Box& box : divided()) hand_out(box, end);
    } else {
      free_boxes(end);
    }
    return end;
  }

  /// `count` random devices in random order.
  std::vector<std::int64_t> some_devices(std::int64_t count) {
    std::vector<std::int64_t> ids(kDevices);
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random_);
    ids.resize(static_cast<std::size_t>(count));
    return ids;
  }

  /// A random sharding with axes, sub-axes, copies, and summands if these are allowed.
  Sharding sharding(bool partial) {
    const std::vector<std::vector<std::int64_t>> sizes = {{2, 2},    {4},    {2, 3}, {8}, {2, 4},
                                                          {2, 2, 2}, {3, 4}, {12},   {5}, {1}};
    const std::vector<std::int64_t>& of = sizes[below(static_cast<std::int64_t>(sizes.size()))];
    std::vector<std::pair<std::string, std::int64_t>> named;
    std::int64_t count = 1;
    for (const std::int64_t size : of) {
      named.emplace_back(std::string(1, static_cast<char>('x' + named.size())), size);
      count *= size;
    }
    Mesh mesh =
        *make_mesh(named, below(2) == 0 ? std::vector<std::int64_t>{} : some_devices(count));
    Sharding sharding = random_sharding(random_, mesh, shape_.size(), partial);
    if (shape_.empty() || below(3) > 0) return sharding;
    // Add a half of an axis that is not used elsewhere.
    for (const auto& [name, size] : named) {
      if (size % 2 != 0 || size == 2) continue;
      const auto used = [&](const std::vector<Axis>& axes) {
        return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
      };
      if (used(sharding.partial) || std::any_of(sharding.dims.begin(), sharding.dims.end(), used)) {
        continue;
      }
      sharding.dims.back().push_back(*mesh.axis(name + (below(2) == 0 ? ":(1)2" : ":(2)2")));
    }
    return sharding;
  }

  Box whole() const {
    Box box;
    for (const std::int64_t size : shape_) box.push_back({0, size});
    return box;
  }

  /// Cuts the array in two, again and again, and returns the resulting boxes.
  std::vector<Box> divided() {
    std::vector<Box> boxes{whole()};
    for (std::int64_t cuts = shape_.empty() ? 0 : below(9); cuts > 0; --cuts) {
      const auto which = static_cast<std::size_t>(below(static_cast<std::int64_t>(boxes.size())));
      const auto dim = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape_.size())));
      Box& low = boxes[which];
      if (low[dim].length() < 2) continue;
      Box high = low;
      low[dim].high = high[dim].low = low[dim].low + 1 + below(low[dim].length() - 1);
      boxes.push_back(high);
    }
    return boxes;
  }

  static Pieces pieces_of(const Box& box) {
    Pieces pieces;
    for (const Interval& side : box) pieces.push_back(strips_of({side}));
    return pieces;
  }

  /// Gives a box to one device, or copies of it to several devices. A device may get several boxes
  /// or none.
  void hand_out(const Box& box, End& end) {
    for (const std::int64_t device : some_devices(1 + (below(3) == 0 ? below(3) : 0))) {
      end.parts[device].push_back(pieces_of(box));
    }
  }

  /// Ranges of the flattened array, some of them empty.
  void ragged(End& end) {
    const std::int64_t count = volume(whole());
    std::vector<std::int64_t> edges{0, count};
    for (std::int64_t i = below(6); i > 0; --i) edges.push_back(below(count + 1));
    std::sort(edges.begin(), edges.end());
    const std::vector<std::int64_t> devices =
        some_devices(static_cast<std::int64_t>(edges.size()) - 1);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::vector<Pieces>& parts = end.parts[devices[i]];
      for (const Box& box : flat_range(whole(), edges[i], edges[i + 1])) {
        parts.push_back(pieces_of(box));
      }
    }
  }

  void block_cyclic(End& end) {
    BlockCyclic blocks;
    for (int i = 0; i < 2; ++i) {
      blocks.block[i] = 1 + below(3);
      blocks.grid[i] = 1 + below(3);
      blocks.source[i] = below(blocks.grid[i]);
    }
    blocks.row_major = below(2) == 0;
    const auto count = static_cast<Device>(blocks.grid[0] * blocks.grid[1]);
    const Layout layout = layout_of(shape_, blocks, count);
    const std::vector<std::int64_t> devices = some_devices(count);
    for (Device device = 0; device < count; ++device) {
      end.parts[devices[device]].push_back(layout.region(device));
    }
  }

  /// Random boxes for a few devices. The boxes may overlap, which is allowed in a target.
  void free_boxes(End& end) {
    for (const std::int64_t device : some_devices(1 + below(6))) {
      Box box;
      for (const std::int64_t size : shape_) {
        const std::int64_t low = below(size + 1);
        box.push_back({low, low + below(size - low + 1)});
      }
      end.parts[device].push_back(pieces_of(box));
    }
  }

  std::mt19937 random_;
  Shape shape_;
};

/// Expects that the traffic of every step agrees with its transfers.
void expect_traffic(const Problem& problem, const Plan& plan) {
  OverlapCache overlaps(problem.node_of);
  const Layout* at = &problem.source;
  for (const Step& step : plan.steps) {
    std::vector<std::int64_t> received(problem.devices.size(), 0);
    std::int64_t peers = 0;
    for (const LayoutPtr& layout : step.layouts) {
      std::map<Device, std::set<Device>> senders;
      for (const Transfer& transfer : exchange(*at, *layout, overlaps)) {
        received[transfer.to] += volume(transfer.box);
        senders[transfer.to].insert(transfer.from);
      }
      std::size_t most = 0;
      for (const auto& [device, list] : senders) most = std::max(most, list.size());
      peers += static_cast<std::int64_t>(most);
      at = layout.get();
    }
    EXPECT_EQ(step.traffic.recv_max, *std::max_element(received.begin(), received.end()));
    EXPECT_EQ(step.traffic.recv_total,
              std::accumulate(received.begin(), received.end(), std::int64_t{0}));
    EXPECT_EQ(step.traffic.peers_max, peers);
  }
}

/// Expects that a plan passes the two checks of replay.h and stays within memory.
void expect_right(const Problem& problem, const Plan& plan) {
  const std::vector<Round> moves = rounds(problem, plan);
  const Status replayed = replay(problem, moves, plan.last(problem));
  EXPECT_TRUE(replayed) << replayed.error().message;
  const Status numbers = run_oracle(problem, moves, plan.last(problem));
  EXPECT_TRUE(numbers) << numbers.error().message;
  EXPECT_LE(peak_bytes(problem, plan), least_peak_bytes(problem));
  EXPECT_LE(plan.peak, bounds(problem).memory);
  expect_traffic(problem, plan);
}

TEST(Kinds, EveryEndBecomesEveryOther) {
  int planned = 0, to_partial = 0, refused = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = RandomEnds(seed).problem();
    PlannerOptions options;
    options.link.step = seed % 3 == 0 ? 0 : 10'000'000;
    options.link.message = seed % 2 == 0 ? 0 : 2'000'000;
    if (!problem.node_of.empty()) options.link.node_bandwidth = 5'000'000'000;
    const auto plan = make_plan(problem, options);
    if (!plan) {
      // The planner may refuse a partial target, if the meshes of source and target have no common
      // factors. It must not refuse any other target.
      EXPECT_TRUE(problem.target.partial()) << plan.error().message;
      ++refused;
      continue;
    }
    ++planned;
    to_partial += problem.target.partial() ? 1 : 0;
    expect_right(problem, *plan);
    if (problem.target.partial()) continue;
    OverlapCache overlaps(problem.node_of);
    const Plan direct = direct_plan(problem, options.link, overlaps);
    expect_right(problem, direct);
    EXPECT_LE(plan->time, direct.time);
    if (problem.source.partial()) continue;
    const Bounds least = bounds(problem);
    EXPECT_EQ(received(direct), least.recv_max);
    std::int64_t total = 0;
    for (const Step& step : direct.steps) total += step.traffic.recv_total;
    EXPECT_EQ(total, least.recv_total);
  }
  EXPECT_GT(planned, 5000);
  EXPECT_GT(to_partial, 150);
  EXPECT_LT(refused, 900);
}

}  // namespace
}  // namespace weft::reshard
