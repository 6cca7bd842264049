// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/merge.h"

#include <gtest/gtest.h>

#include <random>

#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

/// The memory of each process: the arrays of its first device, then those of its second device, and
/// so on.
std::vector<naive::Memory> by_process(const std::vector<naive::Memory>& memory,
                                      const std::vector<std::int32_t>& process_of,
                                      const std::vector<Program>& merged) {
  std::vector<naive::Memory> all(merged.size());
  for (std::size_t device = 0; device < memory.size(); ++device) {
    naive::Memory& buffers = all[process_of[device]];
    buffers.insert(buffers.end(), memory[device].begin(), memory[device].end() - 1);
  }
  for (std::size_t i = 0; i < merged.size(); ++i) {
    all[i].emplace_back(static_cast<std::size_t>(merged[i].buffers.back()) / 4);
  }
  return all;
}

std::vector<naive::Memory> by_device(const std::vector<naive::Memory>& all,
                                     const std::vector<std::int32_t>& process_of,
                                     std::size_t ends) {
  std::vector<naive::Memory> memory;
  std::vector<std::size_t> taken(all.size(), 0);
  for (const std::int32_t process : process_of) {
    const auto first = all[process].begin() + static_cast<std::ptrdiff_t>(taken[process]);
    memory.emplace_back(first, first + static_cast<std::ptrdiff_t>(ends));
    taken[process] += ends;
  }
  return memory;
}

struct Made {
  std::vector<Program> programs, merged;
};

Made make(const std::vector<Array>& arrays, const std::vector<std::int32_t>& process_of,
          Bytes budget) {
  Made made;
  std::vector<std::vector<Program>> of_process(
      *std::max_element(process_of.begin(), process_of.end()) + 1);
  for (std::size_t device = 0; device < process_of.size(); ++device) {
    auto program = make_program(arrays, static_cast<Device>(device), {.budget = budget});
    if (!program) return {};
    made.programs.push_back(*program);
    of_process[process_of[device]].push_back(std::move(*program));
  }
  for (const auto& programs : of_process) {
    auto merged = merge_programs(programs, process_of);
    EXPECT_TRUE(merged) << merged.error().message;
    made.merged.push_back(std::move(*merged));
  }
  return made;
}

/// Renumbers arrays for naive::run(), in which sender and receiver have to use the same number.
std::vector<Program> with_numbers_of_devices(std::vector<Program> merged, std::int32_t arrays) {
  for (Program& program : merged) {
    for (Turn& turn : program.turns) {
      for (auto* list : {&turn.sends, &turn.receives}) {
        for (Message& message : *list) {
          for (Region& region : message.regions) region.array %= arrays;
        }
      }
    }
  }
  return merged;
}

/// Assigns devices to at most `most` processes; each process gets at least one device.
std::vector<std::int32_t> assigned(std::size_t devices, std::size_t most, std::mt19937& random) {
  const std::size_t processes = std::min(devices, most);
  std::vector<std::int32_t> process_of(devices);
  for (std::size_t i = 0; i < devices; ++i) {
    process_of[i] = static_cast<std::int32_t>(i < processes ? i : random() % processes);
  }
  std::shuffle(process_of.begin(), process_of.end(), random);
  return process_of;
}

TEST(Merge, AProcessDoesWhatItsDevicesWouldDo) {
  std::size_t run = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem =
        random_problem(seed, {.even = seed % 5 == 0, .other_mesh = seed % 3 == 0});
    if (elements(problem.shape) > 5'000) continue;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    PlannerOptions options;
    options.link.message = seed % 2 == 0 ? 0 : 2'000'000;
    const auto plan = make_plan(problem, options);
    ASSERT_TRUE(plan);
    const std::vector<Array> arrays{{&problem, &*plan, {}}};
    for (const Bytes budget : {0, 100}) {
      const auto process_of = assigned(problem.devices.size(), 1 + seed % 4, random);
      const Made made = make(arrays, process_of, budget);
      if (made.merged.empty()) continue;
      const auto memory = naive::fill(made.programs, arrays);
      for (const bool backwards : {false, true}) {
        auto all = by_process(memory, process_of, made.merged);
        ASSERT_EQ(naive::run(with_numbers_of_devices(made.merged, 1), all, backwards), "");
        ASSERT_EQ(naive::check(by_device(all, process_of, 2), arrays), "");
      }
      ++run;
    }
  }
  EXPECT_GT(run, 200u);
}

TEST(Merge, OneProcessHasNothingToSend) {
  const Problem problem = parsed("x=2,y=4", "8,8", "x,y", "-,x+y");
  const auto plan = make_plan(problem, {});
  const Made made = make({{&problem, &*plan, {}}}, std::vector<std::int32_t>(8, 0), 0);
  ASSERT_EQ(made.merged.size(), 1u);
  for (const Turn& turn : made.merged[0].turns) {
    EXPECT_TRUE(turn.sends.empty());
    EXPECT_TRUE(turn.receives.empty());
    EXPECT_GE(turn.moves.size(), 8u);
  }
}

TEST(Merge, SumsInsideAProcessAreRefused) {
  const Problem problem = parsed("x=4", "16", "-", "-", "x");
  const auto plan = make_plan(problem, {});
  ASSERT_TRUE(plan);
  std::vector<Program> programs;
  for (Device device = 0; device < 2; ++device) {
    programs.push_back(*make_program({{&problem, &*plan, {}}}, device, {}));
  }
  const auto merged = merge_programs(programs, {0, 0, 1, 1});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::reshard::execute
