// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/threads.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "weft/base/parallel.h"
#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/host/run_all.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;

/// A problem with everything that is needed to run it.
struct Planned {
  explicit Planned(Problem given, Picos message = 0, Bytes budget = 0) : problem(std::move(given)) {
    PlannerOptions options;
    options.link.step = 0;
    options.link.message = message;
    plan = *make_plan(problem, options);
    arrays = {{&problem, &plan, {"u32", ""}}};
    for (Device device = 0; device < problem.source.devices(); ++device) {
      auto program = make_program(arrays, device, {.budget = budget});
      if (program) programs.push_back(std::move(*program));
    }
    if (!programs.empty()) memory = naive::fill(programs, arrays);
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  Buffers buffers(Device device) { return naive::ends_of(memory[device]); }
  std::vector<Buffers> all_buffers() {
    std::vector<Buffers> all;
    for (const Program& program : programs) all.push_back(buffers(program.self));
    return all;
  }

  Problem problem;
  Plan plan;
  std::vector<Array> arrays;
  std::vector<Program> programs;
  std::vector<naive::Memory> memory;
};

std::vector<Result<Usage>> run_threads(const std::vector<Program>& programs,
                                       const std::vector<Buffers>& buffers,
                                       std::chrono::milliseconds timeout) {
  auto transports = connect_threads(static_cast<Device>(programs.size()), timeout);
  std::vector<std::future<Result<Usage>>> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    runs.push_back(std::async(std::launch::async,
                              [&, i] { return execute(programs[i], buffers[i], *transports[i]); }));
  }
  std::vector<Result<Usage>> results;
  for (auto& run : runs) results.push_back(run.get());
  return results;
}

Problem some_problem(unsigned seed) {
  return random_problem(
      seed, {.even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0});
}

TEST(Threads, MoveRandomProblems) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    if (elements(some_problem(seed).shape) > 20'000) continue;
    Planned planned(some_problem(seed), seed % 4 < 2 ? 0 : 2'000'000);
    const auto results = run_threads(planned.programs, planned.all_buffers(), 10s);
    for (std::size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i]) << results[i].error().message;
      EXPECT_EQ(results[i]->staging_peak, planned.programs[i].buffers.back());
    }
    EXPECT_EQ(naive::check(planned.memory, planned.arrays), "") << seed;
  }
}

TEST(Threads, ATransportRunsProgramAfterProgram) {
  Planned first(parsed("x=4", "64", "x", "-")), second(parsed("x=4", "16,16", "x,-", "-,x"));
  auto transports = connect_threads(4, 10s);
  std::vector<std::thread> threads;
  for (Device device = 0; device < 4; ++device) {
    threads.emplace_back([&, device] {
      for (int i = 0; i < 20; ++i) {
        for (Planned* planned : {&first, &second}) {
          const auto done =
              execute(planned->programs[device], planned->buffers(device), *transports[device]);
          EXPECT_TRUE(done) << done.error().message;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(naive::check(first.memory, first.arrays), "");
  EXPECT_EQ(naive::check(second.memory, second.arrays), "");
}

TEST(Threads, AMissingDeviceIsAnErrorOnAllOthers) {
  Planned planned(parsed("x=4", "64", "x", "-"),
                  2'000'000);  // some devices have no messages for the missing device
  auto transports = connect_threads(4, 200ms);
  std::vector<std::future<Result<Usage>>> runs;
  for (Device device = 0; device < 3; ++device) {
    runs.push_back(std::async(std::launch::async, [&, device] {
      return execute(planned.programs[device], planned.buffers(device), *transports[device]);
    }));
  }
  for (auto& run : runs) {
    const auto result = run.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kPeerFailed);
  }
  // A device that comes late also gets the error.
  EXPECT_FALSE(execute(planned.programs[3], planned.buffers(3), *transports[3]));
}

TEST(Threads, ADeviceThatIsGoneIsNoticedAtOnce) {
  Planned planned(parsed("x=4", "64,4", "x,-", "-,x"));
  auto transports = connect_threads(4, 60s);
  transports[2].reset();
  std::vector<std::future<Result<Usage>>> runs;
  for (const Device device : {0, 1, 3}) {
    runs.push_back(std::async(std::launch::async, [&, device] {
      return execute(planned.programs[device], planned.buffers(device), *transports[device]);
    }));
  }
  for (auto& run : runs) EXPECT_FALSE(run.get());
}

TEST(Threads, DifferentProgramsAreAnErrorOnAll) {
  Planned one(parsed("x=4", "64,4", "x,-", "-,x")), other(parsed("x=4", "64,4", "x,-", "-,-"));
  std::vector<Program> programs = one.programs;
  programs[1] = other.programs[1];
  std::vector<Buffers> buffers = one.all_buffers();
  buffers[1] = other.buffers(1);
  for (const auto& result : run_threads(programs, buffers, 10s)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kPeerFailed);
  }
}

TEST(RunAll, MovesRandomProblemsOnAnyNumberOfThreads) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    if (elements(some_problem(seed).shape) > 20'000) continue;
    Planned planned(some_problem(seed), seed % 4 < 2 ? 0 : 2'000'000, seed % 3 == 0 ? 4000 : 0);
    if (planned.programs.empty()) continue;
    set_max_threads(1 + seed % 3);
    const auto usage = run_all(planned.programs, planned.all_buffers());
    set_max_threads(0);
    ASSERT_TRUE(usage) << usage.error().message;
    EXPECT_EQ(naive::check(planned.memory, planned.arrays), "") << seed;
  }
}

TEST(RunAll, DividesLargeCopies) {
  Planned planned(parsed("x=2", "1500,1003", "x,-", "-,x"));
  set_max_threads(3);
  ASSERT_TRUE(run_all(planned.programs, planned.all_buffers()));
  set_max_threads(0);
  EXPECT_EQ(naive::check(planned.memory, planned.arrays), "");
  Planned whole(parsed("x=2", "1000003", "x", "-"));
  ASSERT_TRUE(run_all(whole.programs, whole.all_buffers()));
  EXPECT_EQ(naive::check(whole.memory, whole.arrays), "");
}

TEST(RunAll, RefusesProgramsThatDoNotBelongTogether) {
  Planned one(parsed("x=4", "64,4", "x,-", "-,x")), other(parsed("x=4", "64,4", "x,-", "-,-"));
  std::vector<Program> programs = one.programs;
  programs[1] = other.programs[1];
  std::vector<Buffers> buffers = one.all_buffers();
  buffers[1] = other.buffers(1);
  EXPECT_FALSE(run_all(programs, buffers));
  buffers = one.all_buffers();
  buffers[2][1] = nullptr;
  const auto lacking = run_all(one.programs, buffers);
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().code, ErrorCode::kUsage);
}

TEST(Execute, AveragesAreDividedAtTheEnd) {
  Problem problem = parsed("x=4", "8", "-", "-", "x");
  problem.reduction = "avg";
  const Plan plan = *make_plan(problem, {});
  std::vector<Array> arrays{{&problem, &plan, {"f32", ""}}};
  std::vector<Program> programs;
  std::vector<std::vector<float>> source(4, std::vector<float>(8)), target = source;
  std::vector<Buffers> buffers;
  for (Device device = 0; device < 4; ++device) {
    programs.push_back(*make_program(arrays, device, {}));
    std::fill(source[device].begin(), source[device].end(), static_cast<float>(device));
    buffers.push_back({reinterpret_cast<std::byte*>(source[device].data()),
                       reinterpret_cast<std::byte*>(target[device].data())});
  }
  ASSERT_TRUE(run_all(programs, buffers));
  for (const auto& numbers : target) EXPECT_EQ(numbers, std::vector<float>(8, 1.5f));
}

}  // namespace
}  // namespace weft::reshard::execute
