// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared/shared.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/program/footprint.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/execute/shared/shared_endpoints.h"
#include "weft/reshard/layout/random_problem.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;

struct Planned {
  Planned(Problem what, Picos message, const ProgramOptions& run = {}, Elements how = {"u32", ""})
      : problem(std::move(what)), options(run), elements(how) {
    PlannerOptions prices;
    prices.link.step = 0;
    prices.link.message = message;
    auto found = make_plan_for(problem, prices, options);
    if (!found) return;
    plan = std::move(*found);
    for (Device device = 0; device < problem.source.devices(); ++device) {
      auto program = make_program(arrays(), device, options);
      if (program) programs.push_back(std::move(*program));
    }
    if (static_cast<Device>(programs.size()) < problem.source.devices()) programs.clear();
  }
  std::vector<Array> arrays() const { return {{&problem, &plan, elements}}; }

  Problem problem;
  ProgramOptions options;
  Elements elements;
  Plan plan;
  std::vector<Program> programs;
};

/// Runs the programs on all endpoints that are not null.
std::vector<Result<Usage>> run(const std::vector<Program>& programs,
                               std::vector<naive::Memory>& memory, SharedEndpoints& ends) {
  std::vector<Result<Usage>> results(programs.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (ends[i] == nullptr) continue;
    threads.emplace_back(
        [&, i] { results[i] = execute(programs[i], naive::ends_of(memory[i]), *ends[i]); });
  }
  threads.clear();
  return results;
}

TEST(Shared, MovesRandomProblemsWithinTheBudgetAndInPlace) {
  int runs = 0;
  Device devices = 0;
  SharedEndpoints ends;
  for (unsigned seed = 0; seed < 240; ++seed) {
    const Bytes budgets[] = {0, 100, 3000};
    const ProgramOptions how{.budget = budgets[seed % 3], .in_place = seed % 4 > 1};
    Planned planned(random_problem(seed, {.partial = seed % 2 == 1, .other_mesh = seed % 5 == 0}),
                    seed % 4 < 2 ? 0 : 2'000'000, how);
    if (planned.programs.empty()) continue;
    SCOPED_TRACE(seed);
    // Small chunks and a small area, so that the area is often full.
    const SharedOptions options{seed % 3 == 0 ? 16 : 200, 30s};
    if (seed % 6 == 0 || devices != planned.problem.source.devices()) {
      devices = planned.problem.source.devices();
      ends = connect_shared_endpoints(devices, options, 4096);
    }
    auto memory = naive::fill(planned.programs, planned.arrays());
    for (const auto& result : run(planned.programs, memory, ends)) {
      ASSERT_TRUE(result) << result.error().message;
      if (how.budget > 0) {
        EXPECT_LE(result->staging_peak, how.budget);
      }
    }
    ASSERT_EQ(naive::check(memory, planned.arrays(), how.in_place), "");
    ++runs;
  }
  EXPECT_GT(runs, 120);
}

TEST(Shared, MovesMegabytesRepeatedly) {
  for (const char* target : {"-,x", "-,-", "x,-"}) {
    for (const bool summands : {false, true}) {
      Problem problem =
          parsed("x=4", "512,1024", summands ? "-,-" : "x,-", target, summands ? "x" : "");
      Planned planned(std::move(problem), 0);
      auto ends = connect_shared_endpoints(4);
      auto memory = naive::fill(planned.programs, planned.arrays());
      for (int again = 0; again < 3; ++again) {
        for (const auto& result : run(planned.programs, memory, ends)) {
          ASSERT_TRUE(result) << result.error().message;
          EXPECT_LE(result->staging_peak, kSharedArea);
        }
        ASSERT_EQ(naive::check(memory, planned.arrays()), "");
      }
    }
  }
}

TEST(Shared, DataForAllReceiversIsPackedOnce) {
  Planned planned(parsed("x=4", "64,64", "x,-", "-,-"), 0);
  auto ends = connect_shared_endpoints(4);
  auto memory = naive::fill(planned.programs, planned.arrays());
  for (const auto& result : run(planned.programs, memory, ends)) {
    ASSERT_TRUE(result);
    EXPECT_EQ(result->staging_peak, 16 * 64 * 4);
  }
}

void expect_failure(SharedEndpoints& ends, ErrorCode code) {
  Planned planned(parsed("x=4", "64,64", "x,-", "-,x"), 0);
  auto memory = naive::fill(planned.programs, planned.arrays());
  const auto start = std::chrono::steady_clock::now();
  const auto results = run(planned.programs, memory, ends);
  const auto again = run(planned.programs, memory, ends);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == nullptr) continue;
    ASSERT_FALSE(results[i]);
    EXPECT_EQ(results[i].error().code, code) << results[i].error().message;
    ASSERT_FALSE(again[i]);
    EXPECT_EQ(again[i].error().message, results[i].error().message);
  }
}

TEST(Shared, ADeviceThatHasDetachedIsAnErrorEverywhereAtOnce) {
  SharedEndpoints ends = connect_shared_endpoints(4);
  ends[2].reset();
  expect_failure(ends, ErrorCode::kPeerFailed);
}

TEST(Shared, ASilentDeviceIsAnErrorEverywhereAfterTheTimeout) {
  SharedEndpoints ends = connect_shared_endpoints(4, {.timeout = 300ms});
  const auto silent = std::move(ends[1]);
  expect_failure(ends, ErrorCode::kPeerFailed);
}

TEST(Shared, WaitingCanBeCancelled) {
  SharedEndpoints ends = connect_shared_endpoints(2);
  const auto silent = std::move(ends[1]);
  ends[0]->set_patience(60s, [] { return true; });
  Planned planned(parsed("x=2", "8,8", "x,-", "-,x"), 0);
  auto memory = naive::fill(planned.programs, planned.arrays());
  const auto result = execute(planned.programs[0], naive::ends_of(memory[0]), *ends[0]);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(Shared, AnotherProgramIsAnErrorEverywhere) {
  Planned one(parsed("x=2", "8,8", "x,-", "-,x"), 0), other(parsed("x=2", "8,8", "x,-", "-,-"), 0);
  SharedEndpoints ends = connect_shared_endpoints(2);
  auto memory = naive::fill(one.programs, one.arrays());
  memory[1] = naive::fill(other.programs, other.arrays())[1];
  for (const auto& result : run({one.programs[0], other.programs[1]}, memory, ends)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kPeerFailed);
  }
}

/// For a child process: runs programs until one fails. Exits with 0 if the reason is a lost peer.
[[noreturn]] void run_until_error(SharedSegment segment, Device self, const Planned& planned) {
  const auto end = connect_shared(std::move(segment), self, {.timeout = 20s});
  auto memory = naive::fill(planned.programs, planned.arrays())[self];
  for (;;) {
    const auto result = execute(planned.programs[self], naive::ends_of(memory), *end);
    if (!result) _exit(result.error().code == ErrorCode::kPeerFailed ? 0 : 1);
  }
}

TEST(Shared, AKilledProcessIsAnErrorOnEverySurvivorBeforeTheTimeout) {
  const Planned planned(parsed("x=4", "512,512", "x,-", "-,x"), 0);
  SharedSegment first = *make_shared_segment(4);
  std::vector<pid_t> processes;
  for (Device self = 0; self < 4; ++self) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) run_until_error(*SharedSegment::join(first.name(), 4), self, planned);
    processes.push_back(process);
  }
  std::this_thread::sleep_for(300ms);
  const auto start = std::chrono::steady_clock::now();
  kill(processes[2], SIGKILL);
  // Wait for the killed process last, so that it is a zombie while the other processes notice that
  // it has ended.
  for (const Device self : {0, 1, 3, 2}) {
    int status = 0;
    ASSERT_EQ(waitpid(processes[self], &status, 0), processes[self]);
    if (self == 2) {
      EXPECT_TRUE(WIFSIGNALED(status));
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << self << ": " << status;
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
}

TEST(SharedSegment, IsNotFoundByAnotherNameOrNumberOfDevices) {
  SharedSegment first = *SharedSegment::create(3, 4096);
  EXPECT_FALSE(SharedSegment::join(first.name() + "0", 3));
  EXPECT_FALSE(SharedSegment::join(first.name(), 2));
  EXPECT_TRUE(SharedSegment::join(first.name(), 3));
  first.make_private();
  const auto late = SharedSegment::join(first.name(), 3);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
}

TEST(SharedSegment, ASleeperIsWokenOnceAndOnlyByWhatItWaitsFor) {
  using WaitFor = SharedSegment::WaitFor;
  const SharedSegment segment = *SharedSegment::create(2, 4096);
  const std::uint32_t wake_count = segment.announce_sleep(1, WaitFor::kEntries);
  segment.wake(1, WaitFor::kSpaceOrEntries);
  EXPECT_FALSE(segment.sleep(1, wake_count, 1ms));
  segment.wake(1, WaitFor::kEntries);
  EXPECT_TRUE(segment.sleep(1, wake_count, 10s));
  // The device is awake now, so the next wake() has no effect.
  segment.wake(1, WaitFor::kEntries);
  EXPECT_EQ(segment.announce_sleep(1, WaitFor::kSpaceOrEntries), wake_count + 1);
  segment.wake(1, WaitFor::kSpaceOrEntries);
  EXPECT_TRUE(segment.sleep(1, wake_count + 1, 10s));
}

TEST(SharedSegment, MissingMemoryIsAnErrorAndNoCrash) {
  const auto huge = SharedSegment::create(1000, Bytes{1} << 40);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace weft::reshard::execute
