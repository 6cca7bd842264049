// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/program.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/joint.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

namespace fs = std::filesystem;

Plan planned(const Problem& problem, Picos message, bool direct = false) {
  PlannerOptions options;
  options.link.step = 0;
  options.link.message = message;
  options.direct = direct;
  auto plan = make_plan(problem, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

/// Makes the programs of all devices. Returns no programs if the budget is too small.
std::vector<Program> programs_for(const std::vector<Array>& arrays, Bytes budget) {
  std::vector<Program> programs;
  for (Device device = 0; device < arrays[0].problem->source.devices(); ++device) {
    auto program = make_program(arrays, device, {.budget = budget});
    if (!program) {
      EXPECT_EQ(program.error().code, ErrorCode::kInfeasible);
      EXPECT_GT(budget, 0) << program.error().message;
      EXPECT_TRUE(programs.empty()) << "a budget that is too small is so on all devices";
      return {};
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

Bytes longest_message(const Program& program) {
  Bytes longest = 0;
  for (const Turn& turn : program.turns) {
    for (const auto* list : {&turn.sends, &turn.receives}) {
      for (const Message& message : *list) longest = std::max(longest, message.bytes);
    }
  }
  return longest;
}

void expect_right(const std::vector<Array>& arrays, Bytes budget) {
  const std::vector<Program> programs = programs_for(arrays, budget);
  if (programs.empty()) return;
  for (const Program& program : programs) {
    if (budget > 0) {
      EXPECT_LE(program.buffers.back() + 4 * longest_message(program), budget);
    }
    const auto again = make_program(arrays, program.self, {.budget = budget});
    EXPECT_EQ(again->buffers, program.buffers);
  }
  for (const bool backwards : {false, true}) {
    std::vector<naive::Memory> memory = naive::fill(programs, arrays);
    ASSERT_EQ(naive::run(programs, memory, backwards), "");
    ASSERT_EQ(naive::check(memory, arrays), "");
  }
}

Array array_of(const Problem& problem, const Plan& plan) { return {&problem, &plan, {}}; }

TEST(Program, MovesRandomProblemsWithinAnyBudget) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomShape kind{
        .even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0};
    const Problem problem = random_problem(seed, kind);
    if (elements(problem.shape) > 20'000) continue;
    SCOPED_TRACE(seed);
    for (const Picos message : {0, 2'000'000}) {
      const Plan plan = planned(problem, message);
      const std::vector<Array> arrays{array_of(problem, plan)};
      for (const Bytes budget : {0, 16, 100, 1000}) expect_right(arrays, budget);
    }
  }
}

TEST(Program, MovesManyArraysAtOnce) {
  // The arrays have the same devices but different shapes and plans.
  std::vector<Problem> problems{
      parsed("x=2,y=4", "8,8", "x,y", "-,x+y"), parsed("x=2,y=4", "9,7", "x,-", "y,x"),
      parsed("x=2,y=4", "5", "-", "x"), parsed("x=2,y=4", "16,3", "-,-", "y,-", "x"),
      parsed("x=2,y=4", "16,3", "x,-", "-,-", "", "y")};
  for (const Picos message : {0, 2'000'000}) {
    std::vector<Plan> plans;
    std::vector<Array> arrays;
    for (const Problem& problem : problems) plans.push_back(planned(problem, message));
    for (std::size_t i = 0; i < problems.size(); ++i) {
      arrays.push_back(array_of(problems[i], plans[i]));
    }
    for (const Bytes budget : {0, 64, 4000}) expect_right(arrays, budget);
  }
}

TEST(Program, MovesManyArraysWithSendersChosenTogether) {
  std::vector<Problem> problems;
  for (const char* shape : {"64,64", "4,4", "64,64", "4,4", "64,64", "4,4"}) {
    problems.push_back(parsed("x=2,y=4", shape, "x,-", "-,-"));
  }
  for (unsigned seed = 0; seed < 5; ++seed) {
    problems.push_back(random_problem(seed, {.partial = true, .other_mesh = true}));
  }
  share_devices(problems);
  std::vector<Plan> plans;
  std::vector<Array> arrays;
  for (const Problem& problem : problems) plans.push_back(planned(problem, 0));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    arrays.push_back(array_of(problems[i], plans[i]));
  }
  expect_right(arrays, 0);
  expect_right(arrays, 4000);
}

TEST(Program, ASliceIsNotCopiedBeforeTheLastRound) {
  // Rows are sliced, and then columns are exchanged. Messages are read directly from the source.
  const Problem problem = parsed("x=2,y=2", "8,8", "-,y", "x,y");
  const Plan plan = planned(problem, 0);
  const auto program = make_program({array_of(problem, plan)}, 3, {});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->buffers, (std::vector<Bytes>{128, 64, 0}));
  ASSERT_EQ(program->turns.size(), 1u);
  ASSERT_EQ(program->turns[0].moves.size(), 1u);
  EXPECT_EQ(program->turns[0].moves[0].from.bytes(), 64);
  EXPECT_TRUE(program->turns[0].moves[0].from.dense());
}

TEST(Program, GathersAndAllReducesNeedNoStaging) {
  // The first plan has three rounds, and each doubles the data of every device. The second plan is
  // a reduce-scatter followed by a gather.
  const Problem gather = parsed("x=8", "64", "x", "-");
  const Plan doubling = planned(gather, 2'000'000);
  const auto gathers = make_program({array_of(gather, doubling)}, 5, {});
  ASSERT_TRUE(gathers);
  EXPECT_EQ(gathers->turns.size(), 3u);
  EXPECT_EQ(gathers->buffers.back(), 0);
  const Problem sum = parsed("x=4", "16", "-", "-", "x");
  const Plan scattered = planned(sum, 0);
  const auto reduces = make_program({array_of(sum, scattered)}, 2, {});
  ASSERT_TRUE(reduces);
  EXPECT_EQ(reduces->turns.size(), 2u);
  EXPECT_EQ(reduces->buffers.back(), 0);
}

TEST(Program, MessagesAreOrderedByDistance) {
  const Problem problem = parsed("x=5", "10", "x", "-");
  const Plan plan = planned(problem, 0, true);
  const auto program = make_program({array_of(problem, plan)}, 3, {});
  ASSERT_TRUE(program);
  std::vector<Device> to, from;
  for (const Message& message : program->turns[0].sends) to.push_back(message.peer);
  for (const Message& message : program->turns[0].receives) from.push_back(message.peer);
  EXPECT_EQ(to, (std::vector<Device>{4, 0, 1, 2}));
  EXPECT_EQ(from, (std::vector<Device>{2, 1, 0, 4}));
}

TEST(Program, EqualStripsAreOneRegion) {
  Problem problem;
  problem.shape = {64, 64};
  problem.devices = {0, 1, 2, 3};
  const BlockCyclic rows{{4, 64}, {4, 1}, {0, 0}, true}, columns{{64, 4}, {1, 4}, {0, 0}, true};
  problem.source = layout_of(problem.shape, rows, 4);
  problem.target = layout_of(problem.shape, columns, 4);
  const Plan plan = planned(problem, 0);
  const auto program = make_program({array_of(problem, plan)}, 1, {});
  ASSERT_TRUE(program);
  for (const Message& message : program->turns[0].sends) {
    EXPECT_EQ(message.bytes, 16 * 16 * 4);
    EXPECT_EQ(message.regions.size(), 1u);
  }
  expect_right({array_of(problem, plan)}, 0);
  expect_right({array_of(problem, plan)}, 400);
}

TEST(Program, IfStagingDoesNotFitTheBudgetThePlanIsDirect) {
  // Without a budget, rows become columns in two rounds of one message, and all of a device's data
  // is staged between the rounds.
  const Problem problem = parsed("x=2,y=2", "8,8", "x+y,-", "-,x+y");
  PlannerOptions options;
  options.link.step = 0;
  options.link.message = 2'000'000;
  const auto free = make_plan_within(problem, options, 0);
  const auto tight = make_plan_within(problem, options, 32);
  ASSERT_TRUE(free && tight);
  EXPECT_EQ(staged_bytes({array_of(problem, *free)}), 64);
  EXPECT_EQ(staged_bytes({array_of(problem, *tight)}), 0);
  const auto refused = make_program({array_of(problem, *free)}, 0, {.budget = 32});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(refused.error().message.find("at least 80"), std::string::npos);
  EXPECT_TRUE(make_program({array_of(problem, *tight)}, 0, {.budget = 32}));
}

/// The number after "allow at least".
Bytes told_budget(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kInfeasible);
  const std::string words = "allow at least ";
  const std::size_t at = error.message.find(words);
  return at == std::string::npos ? 0 : std::stoll(error.message.substr(at + words.size()));
}

TEST(Program, IfSummandsDoNotFitTheErrorTellsAboutTheLeastBudgetThatIsEnough) {
  int refused = 0;
  const auto expect_told = [&](const Problem& problem, Bytes budget, Picos message) {
    PlannerOptions options;
    options.link.message = message;
    const auto fits = [&](Bytes allowed) {
      const auto plan = make_plan_within(problem, options, allowed);
      if (!plan) return false;
      for (Device device = 0; device < problem.source.devices(); ++device) {
        EXPECT_TRUE(make_program({array_of(problem, *plan)}, device, {.budget = allowed}));
      }
      return true;
    };
    if (fits(budget)) return;
    EXPECT_TRUE(problem.target.partial());
    ++refused;
    const Bytes told = told_budget(make_plan_within(problem, options, budget).error());
    EXPECT_TRUE(fits(told)) << told;
    Bytes least = budget + 1;
    while (!fits(least)) ++least;
    EXPECT_LE(told, least + least / 32 + 1);
  };
  // Summands of 7 x 4 elements move from ten devices to four devices. 48 bytes are enough. One plan
  // would need only 44 bytes, but with a budget of 44 bytes the search does not find this plan.
  const auto ten = parse_mesh("x=2,y=5", ""), four = parse_mesh("x=4", "");
  ASSERT_TRUE(ten && four);
  for (const char* summands : {"x+y", "y", "x"}) {
    const auto problem = make_problem({7, 4}, 4, *parse_sharding(*ten, "-,-", summands),
                                      *parse_sharding(*four, "-,-", "x"), SplitRule::kCeilNested);
    ASSERT_TRUE(problem);
    for (const Bytes budget : {8, 20, 40}) expect_told(*problem, budget, 3'000'000);
  }
  for (unsigned seed = 1; seed < 120; seed += 2) {
    SCOPED_TRACE(seed);
    const Problem problem = random_problem(seed, {.partial = true, .other_mesh = seed % 3 == 0});
    for (const Bytes budget : {20, 100}) expect_told(problem, budget, 20'000'000);
  }
  EXPECT_GT(refused, 0);
}

TEST(Program, ProgramsFitAnyBudgetAndSmallerBudgetsAreNeverFaster) {
  // Messages are expensive here, so that plans prefer to stage data between rounds.
  for (unsigned seed = 0; seed < 15; ++seed) {
    const Problem problem = random_problem(seed, {.even = true, .other_mesh = seed % 3 == 0});
    if (elements(problem.shape) * problem.item_size > 50'000'000) continue;  // too many messages
    PlannerOptions options;
    options.link.step = 0;
    options.link.message = 20'000'000;
    Picos before = 0;
    for (const Bytes budget : {0, 100'000, 10'000, 1'000, 100}) {
      const auto plan = make_plan_within(problem, options, budget);
      ASSERT_TRUE(plan);
      EXPECT_TRUE(make_program({array_of(problem, *plan)}, 0, {.budget = budget})) << seed;
      EXPECT_GE(plan->time, before) << seed;
      before = plan->time;
    }
  }
}

TEST(Program, ABudgetIsAcceptedIfSomePlanFits) {
  // If messages are expensive, the cheapest plan stages data and needs a larger budget. The direct
  // plan needs staging memory for four elements only.
  const char* const specs[] = {"-", "x", "y", "x+y", "y+x"};
  PlannerOptions options;
  options.link.step = 0;
  options.link.message = 2'000'000;
  int planned = 0;
  for (const char* rows : specs) {
    for (const char* columns : specs) {
      for (const char* to_rows : specs) {
        for (const char* to_columns : specs) {
          const std::string from = std::string(rows) + "," + columns;
          const std::string to = std::string(to_rows) + "," + to_columns;
          const auto overlap = [](const std::string& a, const std::string& b) {
            return (a.find('x') != a.npos && b.find('x') != b.npos) ||
                   (a.find('y') != a.npos && b.find('y') != b.npos);
          };
          if (overlap(rows, columns) || overlap(to_rows, to_columns)) continue;
          const Problem problem = parsed("x=4,y=4", "512,96", from.c_str(), to.c_str());
          for (const Bytes budget : {16, 100, 1000, 4000}) {
            const auto plan = make_plan_within(problem, options, budget);
            ASSERT_TRUE(plan) << from << " -> " << to;
            const auto program = make_program({array_of(problem, *plan)}, 5, {.budget = budget});
            EXPECT_TRUE(program) << from << " -> " << to << ": " << program.error().message;
            ++planned;
          }
        }
      }
    }
  }
  EXPECT_GT(planned, 400);
}

TEST(Program, ASmallerBudgetTakesLongerBecauseMessagesAreCut) {
  const Problem problem = parsed("x=4", "1024,64", "x,-", "-,x");
  PlannerOptions options;
  const auto time = [&](Bytes budget) { return make_plan_within(problem, options, budget)->time; };
  // There are three messages of 16 KiB. They move all at once, or 4 KiB at a time.
  EXPECT_EQ(time(0), 10'000'000 + 3 * 16384 * 40);
  EXPECT_EQ(time(1 << 20), time(0));
  EXPECT_EQ(time(8 << 10), 12 * 10'000'000 + 3 * 16384 * 40);
  options.link.step = 0;
  options.link.message = 1'000'000;
  EXPECT_EQ(time(8 << 10), 24 * 1'000'000 + 3 * 16384 * 40);
}

TEST(Program, ABudgetOfOneByteIsEnoughIfNothingMoves) {
  const Problem slice = parsed("x=4", "16,4", "-,-", "x,-");
  const auto plan = make_plan_within(slice, {}, 1);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(make_program({array_of(slice, *plan)}, 0, {.budget = 1}));
  const Problem gather = parsed("x=4", "16,4", "x,-", "-,-");
  const auto refused = make_plan_within(gather, {}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "the budget is too small for four messages of one element each; allow at least 16 bytes");
}

TEST(Program, IfABudgetMakesTooManyMessagesTheErrorTellsOneThatDoesNot) {
  const Problem problem = parsed("x=2", "2000000000,2", "x,-", "-,x");
  const auto plan = make_plan_within(problem, {}, 4096);
  ASSERT_TRUE(plan);
  const auto program = make_program({array_of(problem, *plan)}, 0, {.budget = 4096});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kInfeasible);
  const std::string& told = program.error().message;
  EXPECT_NE(told.find("into 7812500 messages; allow at least 7632"), std::string::npos) << told;
}

TEST(Program, DifferentPlansHaveDifferentFingerprints) {
  const Problem a = parsed("x=4", "16,4", "x,-", "-,x"), b = parsed("x=4", "16,4", "-,x", "x,-");
  const Plan plan_a = planned(a, 0), plan_b = planned(b, 0);
  const auto first = make_program({array_of(a, plan_a)}, 0, {});
  EXPECT_EQ(first->fingerprint, make_program({array_of(a, plan_a)}, 3, {})->fingerprint);
  EXPECT_NE(first->fingerprint, make_program({array_of(b, plan_b)}, 0, {})->fingerprint);
  EXPECT_NE(first->fingerprint,
            make_program({array_of(a, plan_a)}, 0, {.budget = 4096})->fingerprint);
}

TEST(Program, SharedCasesAreRight) {
  const fs::path path = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "reshard" / "cases.json";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared cases are not beside this checkout";
  auto cases = read_cases(path.string());
  ASSERT_TRUE(cases) << cases.error().text();
  std::size_t run = 0;
  for (Case& item : *cases) {
    if (!item.problem) continue;
    Problem& problem = *item.problem;
    const std::int64_t work = elements(problem.shape) * problem.source.devices();
    if (work > 40'000) continue;
    problem.item_size = sizeof(naive::Number);
    SCOPED_TRACE(item.id);
    const Plan plan = planned(problem, run % 2 == 0 ? 0 : 2'000'000);
    expect_right({array_of(problem, plan)}, 0);
    expect_right({array_of(problem, plan)}, 400);
    ++run;
  }
  EXPECT_GT(run, 300u);
}

}  // namespace
}  // namespace weft::reshard::execute
