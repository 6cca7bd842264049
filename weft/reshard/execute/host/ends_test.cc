// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/ends.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/host/run_all.h"
#include "weft/reshard/execute/host/threads.h"
#include "weft/reshard/execute/program/footprint.h"
#include "weft/reshard/execute/program/naive_cast.h"
#include "weft/reshard/execute/shared/shared_endpoints.h"
#include "weft/reshard/execute/tcp/tcp_endpoints.h"
#include "weft/reshard/layout/random_problem.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;
using naive::Bytestring;
using naive::kCasts;

/// Casts one number with the library.
template <class To, class From>
To cast_one(From value, const char* from, const char* to) {
  To result{};
  (*conversion(from, to))(reinterpret_cast<const std::byte*>(&value),
                          reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

TEST(Convert, RoundsToNearestAndSaturates) {
  const auto int8 = [](float value) { return cast_one<std::int8_t>(value, "f32", "i8"); };
  EXPECT_EQ(int8(-3.9f), -3);
  EXPECT_EQ(int8(1e9f), 127);
  EXPECT_EQ(int8(-std::numeric_limits<float>::infinity()), -128);
  EXPECT_EQ(int8(std::nanf("")), 0);
  EXPECT_EQ(cast_one<std::int64_t>(9.3e18, "f64", "i64"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast_one<std::uint8_t>(std::int32_t{-1}, "i32", "u8"), 255);
  EXPECT_EQ(cast_one<std::uint16_t>(1.00390625f, "f32", "bf16"),
            0x3F80);  // a tie goes to the even number
  EXPECT_EQ(cast_one<std::uint16_t>(1.01171875f, "f32", "bf16"), 0x3F82);
  EXPECT_EQ(cast_one<float>(std::uint16_t{0x3C01}, "f16", "f32"), 1.0009765625f);
  EXPECT_EQ(cast_one<std::uint8_t>(0.25f, "f32", "pred"), 1);
  EXPECT_EQ(cast_one<std::complex<double>>(2.5f, "f32", "c128"), std::complex<double>(2.5, 0));
  EXPECT_FALSE(conversion("c64", "f32"));
  EXPECT_FALSE(conversion("f32", "f8"));
}

/// A problem with a cast, its programs, and memory of all devices.
struct Planned {
  Planned(Problem given, const std::string& from, const std::string& to, Picos message,
          Bytes budget)
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
      sources.push_back(naive::cast_source(problem, program.self));
      EXPECT_EQ(end_bytes(program, 0), static_cast<Bytes>(sources.back().size()));
      targets.emplace_back(static_cast<std::size_t>(end_bytes(program, 1)), std::byte{0x5A});
    }
  }

  /// What is wrong with the targets. Empty if nothing is wrong.
  std::string check() const {
    for (const Program& program : programs) {
      const std::string wrong = naive::check_cast(problem, program.self, targets[program.self]);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  Buffers ends(std::size_t device) { return {sources[device].data(), targets[device].data()}; }
  /// `budget`: the expected limit of staging; 0: no limit.
  template <class Transports>
  void run_on(Transports& transports, Bytes budget = 0) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      threads.emplace_back([&, i] {
        const Bytestring before = sources[i];
        const auto done = execute(programs[i], ends(i), *transports[i]);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(sources[i], before);
        if (budget > 0) {
          EXPECT_LE(done->staging_peak, budget);
        }
      });
    }
  }

  Problem problem;
  Plan plan;
  std::vector<Program> programs;
  std::vector<Bytestring> sources, targets;
};

Problem some_problem(unsigned seed) {
  return random_problem(
      seed, {.even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0});
}

TEST(Ends, AreCastBetweenAnyLayouts) {
  int ran = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Problem problem = some_problem(seed);
    if (elements(problem.shape) > 3000 || problem.target.partial()) continue;
    const auto& [from, to] = kCasts[seed % std::size(kCasts)];
    Planned planned(std::move(problem), from, to, seed % 4 < 2 ? 0 : 2'000'000,
                    seed % 3 == 2 ? 5000 : 0);
    if (planned.programs.empty()) continue;
    ++ran;
    std::vector<Buffers> all;
    for (std::size_t i = 0; i < planned.programs.size(); ++i) all.push_back(planned.ends(i));
    ASSERT_TRUE(run_all(planned.programs, all));
    EXPECT_EQ(planned.check(), "") << seed << ", " << from << " to " << to;
    for (Bytestring& target : planned.targets)
      std::fill(target.begin(), target.end(), std::byte{0});
    auto transports = connect_threads(static_cast<Device>(planned.programs.size()), 10s);
    planned.run_on(transports);
    EXPECT_EQ(planned.check(), "") << seed << ", " << from << " to " << to;
  }
  EXPECT_GT(ran, 40);
}

TEST(Ends, AreCastOverTcpAndThroughSharedMemory) {
  auto tcp = connect_tcp(4);
  auto shared = connect_shared_endpoints(4);
  for (const auto& [from, to] : kCasts) {
    for (const bool partial : {false, true}) {
      const Problem problem = partial ? parsed("x=2,y=2", "12,10", "y,-", "-,y", "x")
                                      : parsed("x=2,y=2", "12,10", "x,y", "-,x");
      for (const bool over_tcp : {false, true}) {
        Planned planned(problem, from, to, 0, 0);
        ASSERT_EQ(planned.programs.size(), 4u);
        over_tcp ? planned.run_on(tcp) : planned.run_on(shared);
        EXPECT_EQ(planned.check(), "") << from << " to " << to;
      }
    }
  }
}

TEST(Ends, TheWireTypeIsTheNarrowerOneExceptForSummands) {
  const auto item = [](const char* from, const char* to, bool partial) {
    const Planned planned(
        partial ? parsed("x=4", "16,16", "-,-", "-,x", "x") : parsed("x=4", "16,16", "x,-", "-,x"),
        from, to, 0, 0);
    Bytes bytes = 0;
    for (const Message& message : planned.programs.at(0).turns.at(0).receives)
      bytes += message.bytes;
    return bytes / (3 * 4 * (partial ? 16 : 4));  // each of three other devices sends four columns
  };
  EXPECT_EQ(item("f32", "bf16", false), 2);
  EXPECT_EQ(item("bf16", "f32", false), 2);
  EXPECT_EQ(item("bf16", "f64", true), 2);
  EXPECT_EQ(item("f32", "bf16", true), 4);
}

TEST(Ends, SourcesAreCastWhileTheyAreReadWithinTheBudget) {
  // Each device has 64 elements, which are 128 bytes as bf16. So the budget has room only for
  // messages.
  Planned narrow(parsed("x=4", "16,16", "x,-", "-,x"), "f32", "bf16", 0, 32);
  ASSERT_EQ(narrow.programs.size(), 4u);
  EXPECT_EQ(cast_bytes(narrow.programs[0]), 0);
  EXPECT_EQ(narrow.programs[0].message_budget, 32);
  const auto found = footprint(narrow.problem, narrow.plan, {.budget = 32});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->staging, 0);
  EXPECT_EQ(found->live, 64 * 4 + 64 * 2 + 32);
  auto threads = connect_threads(4, 10s);
  auto tcp = connect_tcp(4);
  auto shared = connect_shared_endpoints(4);
  const auto run_on = [&](auto& transports) {
    for (Bytestring& target : narrow.targets) std::fill(target.begin(), target.end(), std::byte{0});
    narrow.run_on(transports, 32);
    EXPECT_EQ(narrow.check(), "");
  };
  run_on(threads);
  run_on(shared);
  run_on(tcp);
}

TEST(Ends, StagingOfSumsThatAreCastCountsForTheBudgetAndTheFootprint) {
  // Each device stages 64 sums as f32, in addition to its target in bf16.
  Planned sums(parsed("x=4", "16,16", "-,-", "-,x", "x"), "f32", "bf16", 0, 0);
  EXPECT_EQ(cast_bytes(sums.programs.at(0)), 256);
  EXPECT_EQ(footprint(sums.problem, sums.plan, {})->staging, 256);
  Planned wide(parsed("x=4", "16,16", "x,-", "-,x"), "bf16", "f32", 0, 0);
  EXPECT_EQ(cast_bytes(wide.programs.at(0)), 0);
  const auto enough = make_program({{&sums.problem, &sums.plan, {}}}, 0, {.budget = 288});
  ASSERT_TRUE(enough);
  EXPECT_FALSE(enough->elements[0].by_slabs);
  EXPECT_EQ(enough->message_budget, 32);
  const auto slabs = make_program({{&sums.problem, &sums.plan, {}}}, 0, {.budget = 64});
  ASSERT_TRUE(slabs);
  EXPECT_TRUE(slabs->elements[0].by_slabs);
  EXPECT_EQ(slabs->buffers.back(), 32);  // two rows of four sums
  EXPECT_EQ(slabs->turns.size(), 8u);
  EXPECT_EQ(slabs->message_budget, 32);
  const auto tight = make_program({{&sums.problem, &sums.plan, {}}}, 0, {.budget = 19});
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(tight.error().message.find("allow at least 20 bytes"), std::string::npos);
}

TEST(Ends, SumsAreAddedUpSlabBySlabIfTheBudgetIsSmall) {
  int ran = 0, by_slabs = 0;
  for (unsigned seed = 1; seed < 480; seed += 2) {
    Problem problem = some_problem(seed);
    if (elements(problem.shape) > 3000 || problem.target.partial()) continue;
    problem.reduction = problem.source.partial() ? "sum" : "";
    const auto& [from, to] = kCasts[seed % 4 == 1 ? 0 : 3];  // f32 to bf16, f64 to f32
    const Bytes budget = seed % 8 < 4 ? 44 : 100;
    Planned planned(std::move(problem), from, to, seed % 4 < 2 ? 0 : 2'000'000, budget);
    ASSERT_FALSE(planned.programs.empty()) << seed;
    ++ran;
    by_slabs += planned.programs[0].elements[0].by_slabs;
    std::vector<Buffers> all;
    for (std::size_t i = 0; i < planned.programs.size(); ++i) all.push_back(planned.ends(i));
    ASSERT_TRUE(run_all(planned.programs, all));
    EXPECT_EQ(planned.check(), "") << seed;
    for (Bytestring& target : planned.targets)
      std::fill(target.begin(), target.end(), std::byte{0});
    auto transports = connect_threads(static_cast<Device>(planned.programs.size()), 10s);
    planned.run_on(transports, budget);
    EXPECT_EQ(planned.check(), "") << seed;
  }
  EXPECT_GT(ran, 60);
  EXPECT_GT(by_slabs, 10);
}

TEST(Ends, AveragesAreDividedBeforeTheyAreCast) {
  Problem problem = parsed("x=4", "16,16", "-,-", "-,x", "x");
  problem.reduction = "avg";
  Planned planned(std::move(problem), "f32", "bf16", 0, 64);
  ASSERT_EQ(planned.programs.size(), 4u);
  EXPECT_TRUE(planned.programs[0].elements[0].by_slabs);
  std::vector<Buffers> all;
  for (std::size_t i = 0; i < 4; ++i) all.push_back(planned.ends(i));
  ASSERT_TRUE(run_all(planned.programs, all));
  const Convert as_wide = *conversion("bf16", "f64"), as_target = *conversion("f64", "bf16");
  for (std::size_t row = 0; row < 16; ++row) {
    double wanted = 0, found = 0, rounded = 0;
    for (std::size_t k = 0; k < 4; ++k) wanted += naive::small_number(k, row * 16) / 4;
    std::byte bytes[2];
    as_target(reinterpret_cast<const std::byte*>(&wanted), bytes, 1);
    as_wide(bytes, reinterpret_cast<std::byte*>(&rounded), 1);
    as_wide(planned.targets[0].data() + row * 4 * 2, reinterpret_cast<std::byte*>(&found), 1);
    EXPECT_EQ(found, rounded) << row;
  }
}

}  // namespace
}  // namespace weft::reshard::execute
