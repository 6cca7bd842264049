// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/in_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <random>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/host/run_all.h"
#include "weft/reshard/execute/host/threads.h"
#include "weft/reshard/execute/program/budget.h"
#include "weft/reshard/execute/program/footprint.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/execute/program/shuffle.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/layout/random_problem.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST(Shuffle, RunsAnyPermutation) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    // Transpose the first two dimensions of an array.
    const std::int64_t rows = 1 + random() % 6, columns = 1 + random() % 6, run = 1 + random() % 3;
    const Bytes item = 4;
    const Region from{
        0, 0, 0, item, {{rows, columns * run * item}, {columns, run * item}, {run, item}}};
    const Region to{0, 0, 0, item, {{rows, run * item}, {columns, rows * run * item}, {run, item}}};
    std::vector<std::uint32_t> buffer(static_cast<std::size_t>(rows * columns * run)), expected;
    for (auto& number : buffer) number = static_cast<std::uint32_t>(random());
    expected = buffer;
    const auto read = naive::numbers_in(from), write = naive::numbers_in(to);
    for (std::size_t i = 0; i < read.size(); ++i) expected[write[i]] = buffer[read[i]];
    const std::vector<Shuffle> moves{{{from}, {to}}};
    std::vector<std::byte> marks(static_cast<std::size_t>(mark_bytes(moves)));
    shuffle(moves, {reinterpret_cast<std::byte*>(buffer.data())}, marks.data());
    EXPECT_EQ(buffer, expected);
  }
}

/// Makes the programs of all devices. Returns no programs if this is impossible.
std::vector<Program> programs_for(const std::vector<Array>& arrays, Bytes budget) {
  std::vector<Program> programs;
  for (Device device = 0; device < arrays[0].problem->source.devices(); ++device) {
    auto program = make_program(arrays, device, {.budget = budget, .in_place = true});
    if (!program) {
      EXPECT_EQ(program.error().code, ErrorCode::kInfeasible);
      return {};
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

std::vector<Buffers> buffers_of(std::vector<naive::Memory>& memory) {
  std::vector<Buffers> all;
  for (naive::Memory& mine : memory) all.push_back(naive::ends_of(mine));
  return all;
}

/// Runs the programs naively, by run_all(), and on threads.
void expect_right(const std::vector<Array>& arrays, const std::vector<Program>& programs,
                  Bytes budget) {
  for (const bool backwards : {false, true}) {
    std::vector<naive::Memory> memory = naive::fill(programs, arrays);
    ASSERT_EQ(naive::run(programs, memory, backwards), "");
    ASSERT_EQ(naive::check(memory, arrays, true), "");
  }
  std::vector<naive::Memory> memory = naive::fill(programs, arrays);
  const auto done = run_all(programs, buffers_of(memory));
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(naive::check(memory, arrays, true), "");
  memory = naive::fill(programs, arrays);
  const std::vector<Buffers> buffers = buffers_of(memory);
  auto transports = connect_threads(static_cast<Device>(programs.size()), 10s);
  std::vector<std::future<Result<Usage>>> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    runs.push_back(std::async(std::launch::async,
                              [&, i] { return execute(programs[i], buffers[i], *transports[i]); }));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto usage = runs[i].get();
    ASSERT_TRUE(usage) << usage.error().message;
    if (budget > 0) {
      EXPECT_LE(usage->staging_peak, budget);
    }
  }
  ASSERT_EQ(naive::check(memory, arrays, true), "");
}

/// Expects that no buffer is larger than the largest source or target of any device.
void expect_small(const Problem& problem, const std::vector<Program>& programs) {
  Bytes largest = 0;
  for (const Program& program : programs) {
    largest = std::max({largest, bytes_of(problem.source, program.self, problem.item_size),
                        bytes_of(problem.target, program.self, problem.item_size)});
  }
  for (const Program& program : programs) {
    EXPECT_LE(program.buffers[0], largest);
    EXPECT_EQ(program.buffers[1], 0);
  }
}

TEST(InPlace, RandomProblemsNeedNoMoreThanTheLargerOfSourceAndTarget) {
  int possible = 0, refused = 0;
  for (unsigned seed = 0; seed < 90; ++seed) {
    const RandomShape kind{
        .even = seed % 3 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 5 == 0};
    const Problem problem = random_problem(seed, kind);
    if (problem.target.partial() || elements(problem.shape) > 5'000) continue;
    SCOPED_TRACE(seed);
    PlannerOptions options;
    options.link.step = 0;
    options.link.message = seed % 4 < 2 ? 0 : 2'000'000;
    const auto plan = make_plan_in_place(problem, options);
    if (!plan) {
      ++refused;
      continue;
    }
    const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
    for (const Bytes budget : {0, 300}) {
      const std::vector<Program> programs = programs_for(arrays, budget);
      if (programs.empty()) {
        EXPECT_GT(budget, 0);
        continue;
      }
      expect_small(problem, programs);
      expect_right(arrays, programs, budget);
    }
    ++possible;
  }
  EXPECT_GT(possible, 3 * refused);
}

TEST(InPlace, EachKindOfRoundWorks) {
  struct Kind {
    const char *from, *to, *partial;
  };
  for (const Kind& kind : {Kind{"-,-", "x,y", ""}, Kind{"x,y", "-,-", ""}, Kind{"x,-", "-,x", ""},
                           Kind{"x+y,-", "y+x,-", ""}, Kind{"-,-", "y,-", "y"},
                           Kind{"-,-", "-,-", "x"}, Kind{"x+y,-", "-,x+y", ""}}) {
    const Problem problem = parsed("x=2,y=4", "16,24", kind.from, kind.to, kind.partial);
    const auto plan = make_plan_in_place(problem, {});
    ASSERT_TRUE(plan) << kind.from << " to " << kind.to << ": " << plan.error().message;
    const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
    const std::vector<Program> programs = programs_for(arrays, 0);
    ASSERT_FALSE(programs.empty());
    expect_small(problem, programs);
    expect_right(arrays, programs, 0);
  }
}

TEST(InPlace, LargeExchangesStayWithinTheBudget) {
  const Problem problem = parsed("x=4", "256,512", "x,-", "-,x");
  const auto plan = make_plan_in_place(problem, {});
  ASSERT_TRUE(plan);
  const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
  const std::vector<Program> programs = programs_for(arrays, 8192);
  ASSERT_EQ(programs.size(), 4u);
  EXPECT_EQ(programs[0].buffers[0], 64 * 512 * 4);
  EXPECT_LE(programs[0].buffers.back(), 8192);
  std::vector<naive::Memory> memory = naive::fill(programs, arrays);
  const std::vector<Buffers> buffers = buffers_of(memory);
  auto transports = connect_threads(4, 10s);
  std::vector<std::future<Result<Usage>>> runs;
  for (std::size_t i = 0; i < 4; ++i) {
    runs.push_back(std::async(std::launch::async,
                              [&, i] { return execute(programs[i], buffers[i], *transports[i]); }));
  }
  for (auto& run : runs) {
    const auto usage = run.get();
    ASSERT_TRUE(usage);
    EXPECT_LE(usage->staging_peak, 8192);
  }
  EXPECT_EQ(naive::check(memory, arrays, true), "");
}

/// The number after "allow at least". 0 if there is no such number.
Bytes told_budget(const std::string& message) {
  const std::string words = "allow at least ";
  const std::size_t at = message.find(words);
  return at == std::string::npos ? 0 : std::stoll(message.substr(at + words.size()));
}

TEST(InPlace, TheBudgetThatAnErrorSuggestsIsEnough) {
  int told = 0, kept = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem =
        random_problem(seed, {.even = seed % 2 == 0, .partial = seed % 3 == 0, .other_mesh = true});
    if (problem.target.partial() || elements(problem.shape) > 5'000) continue;
    for (const Bytes budget : {64, 200, 1000}) {
      auto plan = make_plan_in_place(problem, {}, budget);
      if (!plan) {
        const Bytes enough = told_budget(plan.error().message);
        if (enough == 0) break;
        ++told;
        EXPECT_GT(enough, budget);
        plan = make_plan_in_place(problem, {}, enough);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_FALSE(programs_for({{&problem, &*plan, {"u32", "sum"}}}, enough).empty());
        continue;
      }
      ++kept;
      const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
      const std::vector<Program> programs = programs_for(arrays, budget);
      ASSERT_FALSE(programs.empty());
      expect_small(problem, programs);
      expect_right(arrays, programs, budget);
    }
  }
  EXPECT_GT(told, 20);
  EXPECT_GT(kept, 20);
}

TEST(InPlace, IfTheBudgetIsTooSmallTwoBuffersAreUsedWithinIt) {
  // The marks of 65,536 elements (one bit per element) do not fit into the budget. A plan of
  // several rounds would need staging, which does not fit either.
  const Problem problem = parsed("x=2,y=2", "512,512", "x+y,-", "-,x+y");
  PlannerOptions prices;
  prices.link.message = 200'000'000;
  const ProgramOptions how{4096, true};
  const auto plan = make_plan_for(problem, prices, how);
  ASSERT_TRUE(plan);
  const auto found = footprint(problem, *plan, how);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->in_place);
  EXPECT_LE(found->staging + found->messages, 4096);
  EXPECT_GT(told_budget(found->reason), 4096);
}

TEST(InPlace, SummandsHaveTheTypeOfTheProblem) {
  Problem problem = parsed("x=4", "64", "-", "x", "x");
  problem.reduction = "sum";
  ASSERT_TRUE(set_types(problem, "f64", "f64"));
  for (const bool in_place : {false, true}) {
    const ProgramOptions how{4096, in_place};
    const auto plan = make_plan_for(problem, {}, how);
    ASSERT_TRUE(plan);
    const auto found = footprint(problem, *plan, how);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->in_place, in_place);
  }
}

TEST(InPlace, SaysIfTwoBuffersAreNeeded) {
  const Problem problem = parsed("x=4", "16,2", "x,-", "-,-", "", "x");
  const auto plan = make_plan_in_place(problem, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(plan.error().message.find("separate buffers for source and target"), std::string::npos);
}

TEST(InPlace, SharedCasesAreRight) {
  const fs::path path = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "reshard" / "cases.json";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared cases are not beside this checkout";
  auto cases = read_cases(path.string());
  ASSERT_TRUE(cases) << cases.error().text();
  int possible = 0, refused = 0;
  for (Case& item : *cases) {
    if (!item.problem || item.problem->target.partial()) continue;
    Problem& problem = *item.problem;
    if (elements(problem.shape) * problem.source.devices() > 6'000) continue;
    problem.item_size = sizeof(naive::Number);
    SCOPED_TRACE(item.id);
    const auto plan = make_plan_in_place(problem, {});
    if (!plan) {
      ++refused;
      continue;
    }
    const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
    const std::vector<Program> programs = programs_for(arrays, 0);
    ASSERT_FALSE(programs.empty());
    expect_small(problem, programs);
    std::vector<naive::Memory> memory = naive::fill(programs, arrays);
    const auto done = run_all(programs, buffers_of(memory));
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(naive::check(memory, arrays, true), "");
    ++possible;
  }
  RecordProperty("need_both_ends", refused);
  EXPECT_GT(possible, 10 * refused);
}

}  // namespace
}  // namespace weft::reshard::execute
