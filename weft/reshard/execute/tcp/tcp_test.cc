// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/tcp/tcp.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/execute/tcp/tcp_endpoints.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

using std::chrono::milliseconds;

struct Planned {
  Problem problem;
  Plan plan;
  Elements elements;

  Planned(Problem what, Picos message, Elements how = {})
      : problem(std::move(what)), elements(how) {
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
                               std::vector<naive::Memory>& memory,
                               std::vector<std::unique_ptr<TcpTransport>>& endpoints) {
  std::vector<Result<Usage>> results(programs.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = execute(programs[i], naive::ends_of(memory[i]), *endpoints[i]); });
  }
  threads.clear();
  return results;
}

TEST(Tcp, MovesRandomProblemsWithinTheBudget) {
  std::size_t run_at_all = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Planned planned(random_problem(seed, {.even = seed % 4 == 0, .partial = seed % 2 == 1}),
                    seed % 3 == 0 ? 2'000'000 : 0, {"u32", "sum"});
    const auto devices = static_cast<std::size_t>(planned.problem.source.devices());
    if (elements(planned.problem.shape) > 20'000 || devices > 12) continue;
    SCOPED_TRACE(seed);
    auto endpoints = connect_tcp(devices);
    for (const Bytes budget : {0, 2000}) {
      const auto programs = planned.programs(budget);
      if (!programs) continue;
      auto memory = naive::fill(*programs, planned.arrays());
      for (const auto& result : run(*programs, memory, endpoints)) {
        ASSERT_TRUE(result) << result.error().message;
        if (budget > 0) {
          EXPECT_LE(result->staging_peak, budget);
        }
      }
      ASSERT_EQ(naive::check(memory, planned.arrays()), "");
      ++run_at_all;
    }
  }
  EXPECT_GT(run_at_all, 40u);
}

TEST(Tcp, MovesMegabytesInLongAndShortRuns) {
  for (const char* target : {"-,x", "-,-", "x,-"}) {
    Planned planned(parsed("x=4", "512,1024", "x,-", target), 0);
    const auto programs = planned.programs(0);
    auto endpoints = connect_tcp(4);
    auto memory = naive::fill(*programs, planned.arrays());
    for (int again = 0; again < 3; ++again) {
      for (const auto& result : run(*programs, memory, endpoints)) {
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_LE(result->staging_peak, 6 * (256 << 10));
      }
    }
    ASSERT_EQ(naive::check(memory, planned.arrays()), "");
  }
}

/// Runs programs on all endpoints that are not null, and expects the same error from all of them.
void expect_failure(std::vector<std::unique_ptr<TcpTransport>>& endpoints, ErrorCode code,
                    milliseconds within) {
  Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0);
  const auto programs = planned.programs(0);
  auto memory = naive::fill(*programs, planned.arrays());
  const auto start = std::chrono::steady_clock::now();
  std::vector<Result<Usage>> results(4);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    if (endpoints[i] == nullptr) continue;
    threads.emplace_back([&, i] {
      results[i] = execute((*programs)[i], naive::ends_of(memory[i]), *endpoints[i]);
      if (results[i]) return;
      const auto again = execute((*programs)[i], naive::ends_of(memory[i]), *endpoints[i]);
      EXPECT_FALSE(again);
      EXPECT_EQ(again.error().message, results[i].error().message);
    });
  }
  threads.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - start, within);
  for (std::size_t i = 0; i < 4; ++i) {
    if (endpoints[i] == nullptr) continue;
    ASSERT_FALSE(results[i]);
    EXPECT_EQ(results[i].error().code, code) << results[i].error().message;
  }
}

TEST(Tcp, AProcessThatEndsIsAnErrorEverywhereAtOnce) {
  auto endpoints = connect_tcp(4);
  endpoints[2].reset();
  expect_failure(endpoints, ErrorCode::kPeerFailed, std::chrono::seconds(60));
}

TEST(Tcp, ASilentProcessIsAnErrorEverywhereAfterTheTimeout) {
  auto endpoints = connect_tcp(4);
  const auto silent = std::move(endpoints[1]);
  for (const auto& endpoint : endpoints) {
    if (endpoint) endpoint->set_patience({milliseconds(300), {}});
  }
  expect_failure(endpoints, ErrorCode::kPeerFailed, std::chrono::seconds(60));
}

TEST(Tcp, WaitingCanBeCancelled) {
  auto endpoints = connect_tcp(4);
  const auto silent = std::move(endpoints[1]);
  for (const auto& endpoint : endpoints) {
    if (endpoint) endpoint->set_patience({std::chrono::minutes(10), [] { return true; }});
  }
  expect_failure(endpoints, ErrorCode::kCancelled, std::chrono::seconds(60));
}

TEST(Tcp, AnotherProgramIsAnErrorEverywhere) {
  Planned one(parsed("x=2", "8,8", "x,-", "-,x"), 0);
  Planned other(parsed("x=2", "8,8", "x,-", "-,-"), 0);
  auto endpoints = connect_tcp(2);
  const auto first = one.programs(0), second = other.programs(0);
  auto memory = naive::fill(*first, one.arrays());
  auto others = naive::fill(*second, other.arrays());
  memory[1] = others[1];
  const std::vector<Program> mixed{(*first)[0], (*second)[1]};
  for (const auto& result : run(mixed, memory, endpoints)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kPeerFailed);
  }
}

}  // namespace
}  // namespace weft::reshard::execute
