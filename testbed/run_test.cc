// SPDX-License-Identifier: Apache-2.0
// These tests use jobs on one GPU, because such jobs need neither namespaces nor root. The tests in
// tests/testbed use hosts in namespaces.
#include "testbed/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "testbed/enter.h"
#include "testbed/tagged_line.h"
#include "weft/base/line_splitter.h"

namespace weft::testbed {
namespace {

struct Ran {
  Result<Outcome> outcome;
  std::vector<std::string> lines;
};

Ran run(const std::string& script, RunOptions options = {}) {
  Cluster cluster = *parse_cluster(R"({"kind": "one-gpu", "mps": false, "hosts": 3})", "gpu.json");
  const Job job = *plan_job(cluster, {.command = {"/bin/sh", "-c", script}});
  Ran ran;
  options.line = [&](const std::string& label, bool is_error, std::string_view line) {
    ran.lines.push_back(label + (is_error ? "! " : "| ") + std::string(line));
  };
  ran.outcome = run_job(cluster, job, options);
  std::sort(ran.lines.begin(), ran.lines.end());
  return ran;
}

TEST(Run, LinesCarryTheRankThatWroteThem) {
  const Ran ran = run("echo $RANK of $WORLD_SIZE; [ $RANK != 1 ] || printf 'no end' >&2");
  ASSERT_TRUE(ran.outcome);
  EXPECT_EQ(ran.outcome->status, 0);
  EXPECT_EQ(ran.lines,
            (std::vector<std::string>{"r0| 0 of 3", "r1! no end", "r1| 1 of 3", "r2| 2 of 3"}));
}

TEST(Run, FirstFailureIsTheStatusAndEndsTheOthers) {
  const Ran ran = run("[ $RANK != 1 ] || exit 7; sleep 600", {.grace = kMillisecond});
  ASSERT_TRUE(ran.outcome);
  EXPECT_EQ(ran.outcome->status, 7);
  EXPECT_EQ(ran.outcome->failed, "r1");
}

TEST(Run, RankKilledByASignalFailsAsInAShell) {
  const Ran ran = run("[ $RANK != 2 ] || kill -9 $$; sleep 600", {.grace = kMillisecond});
  EXPECT_EQ(ran.outcome->status, 137);
}

TEST(Run, CommandThatDoesNotExistEndsWith127) {
  const Ran ran = run("exec /does/not/exist");
  EXPECT_EQ(ran.outcome->status, 127);
}

TEST(Run, InterruptEndsAllRanksAndIsNoFailure) {
  int asked = 0;
  const Ran ran = run("sleep 600", {.interrupts = [&] { return ++asked > 1 ? 1 : 0; }});
  ASSERT_TRUE(ran.outcome);
  EXPECT_EQ(ran.outcome->status, 0);
}

TEST(Run, SecondInterruptKillsRanksThatIgnoreSigterm) {
  int asked = 0;
  const Ran ran =
      run("trap '' TERM; sleep 600; sleep 600", {.interrupts = [&] { return asked++; }});
  ASSERT_TRUE(ran.outcome);
}

TEST(Run, ProcessesThatARankLeavesBehindAreKilled) {
  const Ran ran = run("sleep 600 & echo done");
  ASSERT_TRUE(ran.outcome);
  EXPECT_EQ(ran.lines.size(), 3u);
}

TEST(Lines, AreCompleteEvenIfTheyArriveInPieces) {
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  for (const char* piece : {"a", "b\n", "\ncd\ne", "f"}) splitter.add(piece, take);
  splitter.finish(take);
  splitter.finish(take);
  EXPECT_EQ(lines, (std::vector<std::string>{"ab", "", "cd", "ef"}));
}

TEST(Lines, OfMpirunNameTheirRank) {
  const TaggedLine line = parse_tag("[1,12]<stderr>:oh [1,2]<stdout>:");
  EXPECT_EQ(line.label, "r12");
  EXPECT_TRUE(line.is_error);
  EXPECT_EQ(line.text, "oh [1,2]<stdout>:");
  for (const char* other :
       {"", "[1,2]", "[1,x]<stdout>:a", "[12]<stdout>:a", "a [1,2]<stdout>:b"}) {
    EXPECT_EQ(parse_tag(other).label, "") << other;
    EXPECT_EQ(parse_tag(other).text, other);
  }
}

TEST(Clock, CorrectClocksNeedNoVariables) {
  EXPECT_TRUE(clock_environment({}, "")->empty());
  EXPECT_TRUE(clock_environment({}, "/lib/probe.so")->empty());
}

TEST(Clock, IsAddedToWhatIsPreloaded) {
  const auto set = clock_environment({-50 * kMillisecond, 50'000}, "/lib/probe.so");
  if (!set) GTEST_SKIP() << set.error().text();
  EXPECT_TRUE(set->at("LD_PRELOAD").starts_with("/lib/probe.so:/"));
  EXPECT_TRUE(set->at("LD_PRELOAD").ends_with("/libfaketimeMT.so.1"));
  EXPECT_EQ(set->at("FAKETIME"), "-0.050000000 x1.000050000");
  EXPECT_EQ(set->at("FAKETIME_DONT_FAKE_MONOTONIC"), "1");
}

TEST(Clock, ProcessesThatMoveToAnotherHostGetItsClock) {
  const auto set = clock_environment({}, "/x/libfaketimeMT.so.1");
  EXPECT_EQ(set->at("FAKETIME"), "+0.000000000");
  EXPECT_FALSE(set->contains("LD_PRELOAD"));
}

TEST(Environment, UserOverridesDefaultsAndStyleOverridesUser) {
  ::setenv("WEFT_TEST_A", "user", 1);
  const auto all = merged_environment({{"WEFT_TEST_B", "style"}},
                                      {{"WEFT_TEST_A", "default"}, {"WEFT_TEST_C", "default"}});
  const auto has = [&](const char* entry) {
    return std::find(all.begin(), all.end(), entry) != all.end();
  };
  EXPECT_TRUE(has("WEFT_TEST_A=user"));
  EXPECT_TRUE(has("WEFT_TEST_B=style"));
  EXPECT_TRUE(has("WEFT_TEST_C=default"));
}

}  // namespace
}  // namespace weft::testbed
