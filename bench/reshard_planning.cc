// SPDX-License-Identifier: Apache-2.0
// Measures how long it takes to plan redistributions. There are two parts: random problems of many
// kinds on 64 and 4,096 devices, with three sets of prices; and all arrays of a model with 70
// billion parameters, which go from tensor and pipeline parallelism (8 x 4) to shards over 64
// devices.
//
// Limits: 1 ms per plan on 64 devices, 50 ms on 4,096 devices, 1 s for the whole model. The longest
// plan of each kind must stay within its limit. Times are processor time, and the least of five
// runs counts, since the machine may be busy. `reshard_planning 64` measures only random problems
// on 64 devices. Exit status: 0 if all limits hold, 1 otherwise.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/joint.h"
#include "weft/reshard/search/planner.h"

namespace {

using namespace weft::reshard;

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

struct Price {
  const char* name;
  Picos step, message;
};
constexpr Price kPrices[] = {
    {"volume", 0, 0}, {"10us a step", 10'000'000, 0}, {"2us a message", 0, 2'000'000}};

Plan planned(const Problem& problem, const Price& price) {
  PlannerOptions options;
  options.link.step = price.step;
  options.link.message = price.message;
  if (!problem.node_of.empty()) options.link.node_bandwidth = 50'000'000'000;
  auto plan = make_plan(problem, options);
  WEFT_CHECK(plan.has_value());
  return std::move(*plan);
}

double plan_ms(const Problem& problem, const Price& price) {
  double least = 0;
  for (int i = 0; i < 5; ++i) {
    const double begin = now_ms();
    planned(problem, price);
    const double took = now_ms() - begin;
    if (i == 0 || took < least) least = took;
  }
  return least;
}

/// The properties of a kind of random problems.
struct Kind {
  const char* name;
  bool even = true;  ///< every dimension is divisible by the number of its parts
  bool from_partial = false, to_partial = false;
  bool other_mesh = false;     ///< the target has another mesh
  bool other_devices = false;  ///< half of the target's devices are not in the source's mesh
  bool block_cyclic = false;
  std::int64_t node = 0;  ///< devices per node; 0: nodes do not matter
};
constexpr Kind kKinds[] = {
    {.name = "even"},
    {.name = "uneven", .even = false},
    {.name = "partial sums", .from_partial = true},
    {.name = "partial sums, uneven", .even = false, .from_partial = true},
    {.name = "to partial sums", .from_partial = true, .to_partial = true},
    {.name = "other mesh", .other_mesh = true},
    {.name = "other mesh, uneven", .even = false, .other_mesh = true},
    {.name = "other devices", .other_mesh = true, .other_devices = true},
    {.name = "other devices, uneven", .even = false, .other_mesh = true, .other_devices = true},
    {.name = "block-cyclic", .block_cyclic = true},
    {.name = "block-cyclic, nodes of 8", .block_cyclic = true, .node = 8},
    {.name = "nodes of 8", .node = 8},
    {.name = "nodes of 8, uneven", .even = false, .node = 8},
    {.name = "nodes of 8, partial sums", .from_partial = true, .node = 8},
    {.name = "nodes of 8, other mesh", .other_mesh = true, .node = 8},
    {.name = "nodes of 4, other devices", .other_mesh = true, .other_devices = true, .node = 4},
    {.name = "nodes of 3", .node = 3},
    {.name = "nodes of 3, uneven", .even = false, .node = 3},
};

/// A block-cyclic layout with blocks of random size over a grid of random shape.
Layout random_block_cyclic(std::mt19937& random, const Shape& shape, Device devices) {
  BlockCyclic blocks;
  blocks.grid[0] = std::int64_t{1} << random() % (std::bit_width(static_cast<unsigned>(devices)));
  blocks.grid[1] = devices / blocks.grid[0];
  for (int i = 0; i < 2; ++i) {
    blocks.block[i] = 1 + static_cast<std::int64_t>(random() % 128);
    blocks.source[i] = static_cast<std::int64_t>(random()) % blocks.grid[i];
  }
  blocks.row_major = random() % 2 == 0;
  return layout_of(shape, blocks, devices);
}

Problem random_of(const Kind& kind, Device devices, unsigned seed) {
  const std::vector<const char*> meshes =
      devices == 64 ? std::vector<const char*>{"x=8,y=8", "x=4,y=4,z=4", "a=2,b=2,c=2,d=2,e=2,f=2"}
                    : std::vector<const char*>{"x=64,y=64", "x=16,y=16,z=16", "a=8,b=8,c=8,d=8"};
  std::mt19937 random(seed);
  Problem problem;
  if (kind.block_cyclic) {
    problem.shape = {8192, 8192};
    for (Device i = 0; i < devices; ++i) problem.devices.push_back(i);
    problem.source = random_block_cyclic(random, problem.shape, devices);
    problem.target = random_block_cyclic(random, problem.shape, devices);
  } else {
    const char* axes = meshes[seed % meshes.size()];
    const char* other = kind.other_mesh ? meshes[random() % meshes.size()] : axes;
    std::string list;
    for (Device i = 0; i < devices && kind.other_devices; ++i) {
      list += (i > 0 ? "," : "") + std::to_string(i + devices / 2);
    }
    const auto mesh = parse_mesh(axes, ""), to_mesh = parse_mesh(other, list);
    const Sharding from = random_sharding(random, *mesh, 3, kind.from_partial);
    const Sharding to = random_sharding(random, *to_mesh, 3, kind.to_partial);
    const SplitRule rules[] = {SplitRule::kCeilFlat, SplitRule::kCeilNested, SplitRule::kBalanced};
    // For large arrays, most of the price is for bytes. For small arrays, most of it is for
    // messages.
    const bool small = random() % 2 == 0;
    const Shape shape = kind.even ? (small ? Shape{512, 256, 64} : Shape{8192, 8192, 64})
                                  : (small ? Shape{509, 251, 61} : Shape{8191, 4099, 61});
    problem = *make_problem(shape, 4, from, to, rules[kind.even ? 0 : random() % 3]);
  }
  if (kind.node > 0) set_nodes(problem, kind.node);
  return problem;
}

/// Plans random problems of one kind and prints the times. Returns whether the longest time is at
/// most `limit` milliseconds.
bool random_problems(const Kind& kind, Device devices, double limit) {
  const unsigned problems = devices > 64 ? 12 : 40;
  std::vector<double> times;
  const char* longest = "";
  for (const Price& price : kPrices) {
    for (unsigned seed = 0; seed < problems; ++seed) {
      const double took = plan_ms(random_of(kind, devices, seed), price);
      if (times.empty() || took > *std::max_element(times.begin(), times.end())) {
        longest = price.name;
      }
      times.push_back(took);
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%7d %-28s %10.3f %10.3f  %-14s %6.0f\n", devices, kind.name, times[times.size() / 2],
              times.back(), longest, limit);
  return times.back() <= limit;
}

/// One parameter of a layer: its shape, and how tensor parallelism cuts it.
struct Parameter {
  Shape shape;
  const char* dims;
};

/// Time to plan a model: the source has 80 layers in 4 stages of 8 devices, the target has
/// dimension 0 of every parameter cut over 64 devices. Each parameter is planned by itself; then
/// senders are balanced over all of them.
double model_ms(const Price& price) {
  const std::vector<Parameter> layer = {
      {{8192, 8192}, "t,-"},  {{1024, 8192}, "t,-"},  {{1024, 8192}, "t,-"},
      {{8192, 8192}, "-,t"},  {{28672, 8192}, "t,-"}, {{28672, 8192}, "t,-"},
      {{8192, 28672}, "-,t"}, {{8192}, "-"},          {{8192}, "-"}};
  const auto to_mesh = parse_mesh("f=64", "");
  std::vector<Problem> problems;
  std::vector<Plan> plans;
  const double begin = now_ms();
  for (std::int64_t number = 0; number < 80; ++number) {
    std::string devices;
    for (std::int64_t i = 0; i < 8; ++i) {
      devices += (i > 0 ? "," : "") + std::to_string(number / 20 * 8 + i);
    }
    const auto mesh = parse_mesh("t=8", devices);
    for (const Parameter& parameter : layer) {
      const auto from = parse_sharding(*mesh, parameter.dims, "");
      const auto to = parse_sharding(*to_mesh, parameter.shape.size() == 1 ? "f" : "f,-", "");
      problems.push_back(*make_problem(parameter.shape, 2, *from, *to, SplitRule::kCeilFlat));
    }
  }
  share_devices(problems);
  for (const Problem& problem : problems) plans.push_back(planned(problem, price));
  std::vector<ArrayRoute> routes;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    routes.push_back(make_route(problems[i], plans[i]));
  }
  const JointPieces pieces = joint_pieces(routes);
  WEFT_CHECK(pieces.size() == problems.size());
  return now_ms() - begin;
}

}  // namespace

int main(int count, char** arguments) {
  const bool only_64 = count > 1 && std::string(arguments[1]) == "64";
  std::printf("%7s %-28s %10s %10s  %-14s %6s\n", "devices", "kind", "median ms", "longest ms",
              "at price", "limit");
  bool held = true;
  for (const Kind& kind : kKinds) held = random_problems(kind, 64, 1) && held;
  if (only_64) return held ? 0 : 1;
  for (const Kind& kind : kKinds) held = random_problems(kind, 4096, 50) && held;
  double longest = 0;
  for (const Price& price : kPrices) longest = std::max(longest, model_ms(price));
  std::printf("%7d %-28s %10s %10.3f  %-14s %6.0f\n", 64, "70B, 720 parameters", "", longest, "",
              1000.0);
  return held && longest <= 1000 ? 0 : 1;
}
