// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/nccl/transport.h"

#include <gtest/gtest.h>

#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/nccl/fake.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute::nccl {
namespace {

using std::chrono::milliseconds;

using Ranks = std::vector<std::unique_ptr<Transport>>;

Ranks connected(int ranks, milliseconds timeout = std::chrono::seconds(20), bool notices = false) {
  fake::reset(notices);
  Ranks made;
  for (int rank = 0; rank < ranks; ++rank) {
    auto transport = connect_nccl(fake::nccl(), fake::gpu(), {}, rank, ranks, {timeout, nullptr});
    EXPECT_TRUE(transport) << transport.error().message;
    made.push_back(std::move(*transport));
  }
  return made;
}

struct Planned {
  Problem problem;
  Plan plan;
  Elements elements;

  Planned(Problem what, Picos message, Elements how = {"u32", "sum"})
      : problem(std::move(what)), elements(std::move(how)) {
    PlannerOptions options;
    options.link.message = message;
    plan = make_plan(problem, options).value();
  }
  std::vector<Array> arrays() const { return {{&problem, &plan, elements}}; }
  Result<std::vector<Program>> programs(Bytes budget) const {
    std::vector<Program> all;
    for (Device device = 0; device < problem.source.devices(); ++device) {
      WEFT_ASSIGN(Program program, make_program(arrays(), device, {.budget = budget}));
      all.push_back(std::move(program));
    }
    return all;
  }
};

std::vector<Result<Usage>> run(const std::vector<Program>& programs,
                               std::vector<naive::Memory>& memory, Ranks& ranks) {
  std::vector<Result<Usage>> results(programs.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (ranks[i] == nullptr) continue;  // this rank was lost
    threads.emplace_back(
        [&, i] { results[i] = execute(programs[i], naive::ends_of(memory[i]), *ranks[i]); });
  }
  threads.clear();
  return results;
}

TEST(Nccl, MovesRandomProblemsWithinTheBudget) {
  std::size_t run_at_all = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    const Planned planned(random_problem(seed, {.even = seed % 4 == 0, .partial = seed % 2 == 1}),
                          seed % 3 == 0 ? 2'000'000 : 0);
    const Device devices = planned.problem.source.devices();
    if (elements(planned.problem.shape) > 20'000 || devices > 12) continue;
    SCOPED_TRACE(seed);
    for (const Bytes budget : {0, 4000, 60}) {
      const auto programs = planned.programs(budget);
      if (!programs) continue;
      Ranks ranks = connected(devices);
      for (int again = 0; again < 2; ++again) {
        auto memory = naive::fill(*programs, planned.arrays());
        for (const auto& result : run(*programs, memory, ranks)) {
          ASSERT_TRUE(result) << result.error().message;
          if (budget > 0) {
            ASSERT_LE(result->staging_peak, budget);
          }
        }
        ASSERT_EQ(naive::check(memory, planned.arrays()), "");
        ++run_at_all;
      }
    }
  }
  EXPECT_GT(run_at_all, 80u);
  EXPECT_EQ(fake::allocated(), 0);
}

TEST(Nccl, ARoundIsOneGroupAndTwoLaunches) {
  const Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0);
  const auto programs = planned.programs(0);
  Ranks ranks = connected(4);
  auto memory = naive::fill(*programs, planned.arrays());
  for (const auto& result : run(*programs, memory, ranks)) {
    ASSERT_TRUE(result) << result.error().message;
    // Three quarters of a part are packed before they are sent. The data that arrives is contiguous
    // in the target.
    EXPECT_EQ(result->staging_peak, 3 * 16 * 16 * 4);
  }
  EXPECT_EQ(naive::check(memory, planned.arrays()), "");
  EXPECT_EQ(fake::groups(), 4);
  EXPECT_EQ(fake::launches(), 4) << "what arrives needs no unpacking";
}

TEST(Nccl, ContiguousDataIsSentFromItsBuffer) {
  const Planned planned(parsed("x=4", "64,64", "x,-", "-,-"), 0);
  const auto programs = planned.programs(0);
  Ranks ranks = connected(4);
  auto memory = naive::fill(*programs, planned.arrays());
  for (const auto& result : run(*programs, memory, ranks)) {
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->staging_peak, 0);
  }
  EXPECT_EQ(naive::check(memory, planned.arrays()), "");
  EXPECT_EQ(fake::groups(), 0) << "an all-gather is one collective of NCCL";
  EXPECT_EQ(fake::launches(), 0);
}

TEST(Nccl, CollectivesOfAllRanksUseNcclsCollectives) {
  struct Case {
    const char *shape, *from, *partial, *to;
    int collectives, groups;  // of each rank
  };
  for (const Case& one :
       {Case{"64,64", "-,x", "", "-,-", 1, 0}, Case{"64,64", "-,-", "x", "x,-", 1, 0},
        Case{"64,64", "-,-", "x", "-,x", 1, 0}, Case{"64,64", "-,-", "x", "-,-", 2, 0},
        Case{"63,61", "x,-", "", "-,-", 1, 0}, Case{"61,63", "-,-", "x", "-,x", 1, 0},
        // Some rank has no part, or its part is much smaller than those of other ranks.
        Case{"5,8", "x,-", "", "-,-", 0, 1}, Case{"9,8", "x,-", "", "-,-", 0, 1},
        Case{"64,64", "x,-", "", "-,x", 0, 1}}) {
    SCOPED_TRACE(std::string(one.shape) + " " + one.from + " to " + one.to);
    const Mesh mesh = parse_mesh("x=4", "").value();
    const Sharding from = parse_sharding(mesh, one.from, one.partial).value();
    const Sharding to = parse_sharding(mesh, one.to, "").value();
    const Planned planned(
        make_problem(parse_shape(one.shape).value(), 4, from, to, SplitRule::kCeilNested).value(),
        0);
    const auto programs = planned.programs(0);
    Ranks ranks = connected(4);
    auto memory = naive::fill(*programs, planned.arrays());
    for (const auto& result : run(*programs, memory, ranks)) {
      ASSERT_TRUE(result) << result.error().message;
    }
    EXPECT_EQ(naive::check(memory, planned.arrays()), "");
    EXPECT_EQ(fake::collectives(), 4 * one.collectives);
    EXPECT_LE(fake::groups(), 4 * one.groups);
  }
}

TEST(Nccl, ABudgetBoundsTheStagingOfMessages) {
  const Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0);
  const auto programs = planned.programs(1024);
  ASSERT_TRUE(programs);
  Ranks ranks = connected(4);
  auto memory = naive::fill(*programs, planned.arrays());
  for (const auto& result : run(*programs, memory, ranks)) {
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_LE(result->staging_peak, 1024);
  }
  EXPECT_EQ(naive::check(memory, planned.arrays()), "");
  EXPECT_GT(fake::groups(), 4);
}

void expect_all_fail(const std::vector<Result<Usage>>& results, const Ranks& ranks,
                     const std::string& why) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (ranks[i] == nullptr) continue;
    ASSERT_FALSE(results[i]) << i;
    EXPECT_EQ(results[i].error().code, ErrorCode::kPeerFailed);
    EXPECT_NE(results[i].error().message.find(why), std::string::npos)
        << results[i].error().message;
  }
}

TEST(Nccl, ALostRankIsAPermanentErrorOnAllOthers) {
  // In the change from 4 x 1 to 2 x 2 parts, ranks 0 and 2 exchange no messages. Rank 0 must notice
  // the loss of rank 2 nevertheless.
  for (const char* target : {"-,x", "x:(1)2,x:(2)2"}) {
    const Planned planned(parsed("x=4", "64,64", "x,-", target), 0);
    const auto programs = planned.programs(0);
    for (const bool notices : {false, true}) {
      Ranks ranks = connected(4, milliseconds(200), notices);
      auto memory = naive::fill(*programs, planned.arrays());
      for (const auto& result : run(*programs, memory, ranks)) ASSERT_TRUE(result);
      ranks[2].reset();
      const char* why = notices ? "a rank was lost" : "within 200 ms";
      expect_all_fail(run(*programs, memory, ranks), ranks, why);
      expect_all_fail(run(*programs, memory, ranks), ranks, why);
    }
  }
}

TEST(Nccl, AnotherProgramIsAnErrorOnAll) {
  const Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0);
  const Planned other(parsed("x=4", "64,64", "x,-", "-,-"), 0);
  auto programs = planned.programs(0);
  Ranks ranks = connected(4, milliseconds(500));
  (*programs)[1] = (*other.programs(0))[1];
  std::vector<naive::Memory> memory;
  for (const Program& program : *programs) {
    naive::Memory& buffers = memory.emplace_back();
    for (const Bytes bytes : program.buffers) buffers.emplace_back(bytes / 4, 0);
  }
  expect_all_fail(run(*programs, memory, ranks), ranks, "another program");
}

TEST(Nccl, ReductionsThatGpusLackAreRefusedBeforeAnythingMoves) {
  const Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0, {"c64", "max"});
  const auto programs = planned.programs(0);
  ASSERT_TRUE(programs);
  Ranks ranks = connected(4);
  auto memory = naive::fill(*programs, planned.arrays());
  for (const auto& result : run(*programs, memory, ranks)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  }
}

TEST(Nccl, AMissingLibraryIsNamed) {
  const auto missing = load_nccl("/nowhere/libnccl.so.2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(missing.error().file, "/nowhere/libnccl.so.2");
  EXPECT_FALSE(cuda::load_gpu("/nowhere/libweft-cuda.so"));
}

}  // namespace
}  // namespace weft::reshard::execute::nccl
