// SPDX-License-Identifier: Apache-2.0
// How long does planning take? Random types over meshes of 64 and 4,096 devices at three prices,
// and all parameters of a model of 70 billion from tensor and pipeline parallelism (8 x 4) to
// shards over 64 devices. Bars: 1 ms a plan at 64 devices, 50 ms at 4,096, 1 s for the model; the
// longest is held to them. Processor time, the median of five, since the machine may be busy.
// `reshard_planning 64` leaves out what has more devices. Exit status: 0 the bars hold, 1 they do
// not.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "weft/reshard/joint.h"
#include "weft/reshard/planner.h"
#include "weft/reshard/random_problem.h"

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

Plan planned(const Problem& problem, const Price& price) {
  PlannerOptions options;
  options.link.step = price.step;
  options.link.message = price.message;
  auto plan = make_plan(problem, options);
  WEFT_CHECK(plan.has_value());
  return std::move(*plan);
}

double plan_ms(const Problem& problem, const Price& price) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const double begin = now_ms();
    planned(problem, price);
    times.push_back(now_ms() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Whether the longest is within the bar.
bool random_types(const char* axes, const Price& price, bool partial, double bar) {
  constexpr unsigned kProblems = 25;
  const auto mesh = parse_mesh(axes, "");
  std::vector<double> times;
  for (unsigned seed = 0; seed < kProblems; ++seed) {
    std::mt19937 random(seed);
    const Sharding from = random_sharding(random, *mesh, 3, partial);
    const Sharding to = random_sharding(random, *mesh, 3, false);
    const auto problem = make_problem({8192, 8192, 64}, 4, from, to, SplitRule::kCeilFlat);
    times.push_back(plan_ms(*problem, price));
  }
  std::sort(times.begin(), times.end());
  const double median = times[kProblems / 2];
  std::printf("%-26s %-14s %-9s %10.3f %10.3f %8.0f\n", axes, price.name, partial ? "partial" : "",
              median, times.back(), bar);
  return times.back() <= bar;
}

/// One parameter: its shape, and what cuts it under tensor parallelism.
struct Parameter {
  Shape shape;
  const char* dims;
};

/// 80 layers over 4 stages of 8 devices, then dimension 0 over 64 devices: each planned, then all
/// senders balanced together.
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
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    passages.push_back(make_passage(problems[i], plans[i]));
  }
  const JointPieces pieces = joint_pieces(passages);
  WEFT_CHECK(pieces.size() == problems.size());
  return now_ms() - begin;
}

}  // namespace

int main(int count, char** arguments) {
  const bool only_64 = count > 1 && std::string(arguments[1]) == "64";
  const Price prices[] = {
      {"volume", 0, 0}, {"10us a step", 10'000'000, 0}, {"2us a message", 0, 2'000'000}};
  std::printf("%-26s %-14s %-9s %10s %10s %8s\n", "mesh", "price", "", "median ms", "longest ms",
              "bar ms");
  bool held = true;
  for (const Price& price : prices) {
    for (const char* axes : {"x=8,y=8", "x=4,y=4,z=4", "a=2,b=2,c=2,d=2,e=2,f=2"}) {
      held = random_types(axes, price, false, 1) && held;
    }
    held = random_types("x=8,y=8", price, true, 1) && held;
    if (only_64) continue;
    held = random_types("x=64,y=64", price, false, 50) && held;
    held = random_types("x=16,y=16,z=16", price, false, 50) && held;
    held = random_types("x=64,y=64", price, true, 50) && held;
    const double model = model_ms(price);
    std::printf("%-26s %-14s %-9s %10.3f %10s %8.0f\n", "70B, 720 parameters", price.name, "",
                model, "", 1000.0);
    held = model <= 1000 && held;
  }
  return held ? 0 : 1;
}
