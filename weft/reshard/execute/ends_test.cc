// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/ends.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <thread>

#include "weft/reshard/execute/convert.h"
#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/footprint.h"
#include "weft/reshard/execute/naive_run.h"
#include "weft/reshard/execute/run_all.h"
#include "weft/reshard/execute/shared_ends.h"
#include "weft/reshard/execute/tcp_ends.h"
#include "weft/reshard/execute/threads.h"
#include "weft/reshard/random_problem.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;
using Bytestring = std::vector<std::byte>;

/// One number of a type as another, by way of the library.
template <class To, class From>
To cast_one(From value, const char* from, const char* to) {
  To result{};
  (*conversion(from, to))(reinterpret_cast<const std::byte*>(&value),
                          reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

TEST(Convert, RoundsToTheNearestAndHoldsWhatDoesNotFit) {
  const auto int8 = [](float value) { return cast_one<std::int8_t>(value, "f32", "i8"); };
  EXPECT_EQ(int8(-3.9f), -3);
  EXPECT_EQ(int8(1e9f), 127);
  EXPECT_EQ(int8(-std::numeric_limits<float>::infinity()), -128);
  EXPECT_EQ(int8(std::nanf("")), 0);
  EXPECT_EQ(cast_one<std::int64_t>(9.3e18, "f64", "i64"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast_one<std::uint8_t>(std::int32_t{-1}, "i32", "u8"), 255);
  EXPECT_EQ(cast_one<std::uint16_t>(1.00390625f, "f32", "bf16"), 0x3F80);  // half way, to the even
  EXPECT_EQ(cast_one<std::uint16_t>(1.01171875f, "f32", "bf16"), 0x3F82);
  EXPECT_EQ(cast_one<float>(std::uint16_t{0x3C01}, "f16", "f32"), 1.0009765625f);
  EXPECT_EQ(cast_one<std::uint8_t>(0.25f, "f32", "pred"), 1);
  EXPECT_EQ(cast_one<std::complex<double>>(2.5f, "f32", "c128"), std::complex<double>(2.5, 0));
  EXPECT_FALSE(conversion("c64", "f32"));
  EXPECT_FALSE(conversion("f32", "f8"));
}

/// A problem with a cast, its programs, and memory of all devices.
struct Job {
  Job(Problem given, const std::string& from, const std::string& to, Picos message, Bytes budget)
      : problem(std::move(given)) {
    EXPECT_TRUE(set_types(problem, from, to));
    PlannerOptions prices;
    prices.link.step = 0;
    prices.link.message = message;
    auto found = make_plan_within(problem, prices, budget);
    if (!found) return;
    plan = std::move(*found);
    for (Device device = 0; device < problem.source.devices(); ++device) {
      auto program = make_program({{&problem, &plan, {}}}, device, {.budget = budget});
      if (!program) {
        programs.clear();
        return;
      }
      programs.push_back(std::move(*program));
    }
    for (const Program& program : programs) {
      sources.emplace_back(static_cast<std::size_t>(end_bytes(program, 0)));
      targets.emplace_back(static_cast<std::size_t>(end_bytes(program, 1)), std::byte{0x5A});
      fill(program.self);
    }
  }

  /// Small numbers, so that sums of any type are exact.
  static double number_of(std::size_t summand, std::size_t element) {
    return static_cast<double>((element * 7 + summand * 3) % 23);
  }
  void fill(Device device) {
    const Layout& layout = problem.source;
    const Convert as_source = *conversion("f64", problem.cast->from);
    std::size_t at = 0;
    naive::for_each_held(layout, device, [&](std::size_t element) {
      double number = 0;
      for (std::size_t k = 0; k < layout.group_of_summand.size(); ++k) {
        if (layout.group_of_summand[k] == layout.group[device]) number += number_of(k, element);
      }
      if (!layout.partial()) number = number_of(0, element);
      as_source(reinterpret_cast<std::byte*>(&number),
                sources[device].data() + at++ * problem.cast->from_size, 1);
    });
  }
  /// What is wrong with the targets.
  std::string check() const {
    const Convert as_target = *conversion("f64", problem.cast->to);
    for (const Program& program : programs) {
      std::size_t at = 0;
      std::string wrong;
      naive::for_each_held(problem.target, program.self, [&](std::size_t element) {
        double number = number_of(0, element);
        for (std::size_t k = 1; problem.source.partial() && k < summands(); ++k) {
          number += number_of(k, element);
        }
        Bytestring wanted(static_cast<std::size_t>(problem.cast->to_size));
        as_target(reinterpret_cast<std::byte*>(&number), wanted.data(), 1);
        const auto* found = targets[program.self].data() + at++ * wanted.size();
        if (!std::equal(wanted.begin(), wanted.end(), found)) {
          wrong = "device " + std::to_string(program.self) + ", element " + std::to_string(element);
        }
      });
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
  std::size_t summands() const { return problem.source.group_of_summand.size(); }

  Buffers ends(std::size_t device) { return {sources[device].data(), targets[device].data()}; }
  template <class Transports>
  void run_on(Transports& transports) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      threads.emplace_back([&, i] {
        const Bytestring before = sources[i];
        const auto done = execute(programs[i], ends(i), *transports[i]);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(sources[i], before);
      });
    }
  }

  Problem problem;
  Plan plan;
  std::vector<Program> programs;
  std::vector<Bytestring> sources, targets;
};

constexpr std::pair<const char*, const char*> kCasts[] = {
    {"f32", "bf16"}, {"bf16", "f32"}, {"f16", "bf16"}, {"f64", "f32"},
    {"i64", "i32"},  {"u8", "f64"},   {"f32", "c128"}, {"i32", "f16"}};

Problem some_problem(unsigned seed) {
  return random_problem(
      seed, {.even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0});
}

TEST(Ends, AreCastOnTheWayWhateverTheLayouts) {
  int ran = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Problem problem = some_problem(seed);
    if (elements(problem.shape) > 3000 || problem.target.partial()) continue;
    const auto& [from, to] = kCasts[seed % std::size(kCasts)];
    Job job(std::move(problem), from, to, seed % 4 < 2 ? 0 : 2'000'000, seed % 3 == 2 ? 5000 : 0);
    if (job.programs.empty()) continue;
    ++ran;
    std::vector<Buffers> all;
    for (std::size_t i = 0; i < job.programs.size(); ++i) all.push_back(job.ends(i));
    ASSERT_TRUE(run_all(job.programs, all));
    EXPECT_EQ(job.check(), "") << seed << ", " << from << " to " << to;
    for (Bytestring& target : job.targets) std::fill(target.begin(), target.end(), std::byte{0});
    auto transports = connect_threads(static_cast<Device>(job.programs.size()), 10s);
    job.run_on(transports);
    EXPECT_EQ(job.check(), "") << seed << ", " << from << " to " << to;
  }
  EXPECT_GT(ran, 40);
}

TEST(Ends, AreCastOverTcpAndThroughSharedMemory) {
  auto tcp = connect_tcp(4);
  auto shared = connect_neighbours(4);
  for (const auto& [from, to] : kCasts) {
    for (const bool partial : {false, true}) {
      const Problem problem = partial ? parsed("x=2,y=2", "12,10", "y,-", "-,y", "x")
                                      : parsed("x=2,y=2", "12,10", "x,y", "-,x");
      for (const bool over_tcp : {false, true}) {
        Job job(problem, from, to, 0, 0);
        ASSERT_EQ(job.programs.size(), 4u);
        over_tcp ? job.run_on(tcp) : job.run_on(shared);
        EXPECT_EQ(job.check(), "") << from << " to " << to;
      }
    }
  }
}

TEST(Ends, TheNarrowerTypeTravelsAndSummandsAsTheyAre) {
  const auto item = [](const char* from, const char* to, bool partial) {
    const Job job(
        partial ? parsed("x=4", "16,16", "-,-", "-,x", "x") : parsed("x=4", "16,16", "x,-", "-,x"),
        from, to, 0, 0);
    Bytes bytes = 0;
    for (const Message& message : job.programs.at(0).turns.at(0).receives) bytes += message.bytes;
    return bytes / (3 * 4 * (partial ? 16 : 4));  // from three others, of four columns
  };
  EXPECT_EQ(item("f32", "bf16", false), 2);
  EXPECT_EQ(item("bf16", "f32", false), 2);
  EXPECT_EQ(item("bf16", "f64", true), 2);
  EXPECT_EQ(item("f32", "bf16", true), 4);
}

TEST(Ends, StagingOfCastsCountsForTheBudgetAndTheFootprint) {
  // 64 elements a device as bf16 beside the source in f32.
  Job narrow(parsed("x=4", "16,16", "x,-", "-,x"), "f32", "bf16", 0, 0);
  EXPECT_EQ(cast_bytes(narrow.programs.at(0)), 128);
  EXPECT_EQ(footprint(narrow.problem, narrow.plan, {})->staging, 128);
  Job wide(parsed("x=4", "16,16", "x,-", "-,x"), "bf16", "f32", 0, 0);
  EXPECT_EQ(cast_bytes(wide.programs.at(0)), 0);
  const auto tight = make_program({{&narrow.problem, &narrow.plan, {}}}, 0, {.budget = 130});
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, ErrorCode::kInfeasible);
  const auto enough = make_program({{&narrow.problem, &narrow.plan, {}}}, 0, {.budget = 160});
  ASSERT_TRUE(enough);
  EXPECT_EQ(enough->message_budget, 32);
}

}  // namespace
}  // namespace weft::reshard::execute
