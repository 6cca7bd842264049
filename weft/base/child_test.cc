// SPDX-License-Identifier: Apache-2.0
#include "weft/base/child.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

namespace weft {
namespace {

struct Seen {
  std::vector<std::string> out, err;
  Result<int> status = 0;
};

Seen run(const std::string& script, const std::function<bool(const Seen&)>& stop = {},
         std::chrono::milliseconds patience = std::chrono::milliseconds(5000)) {
  Seen seen;
  ChildWatch watch;
  watch.line = [&](std::string_view line, bool error) {
    (error ? seen.err : seen.out).emplace_back(line);
  };
  watch.stop = [&] { return stop && stop(seen); };
  watch.patience = patience;
  seen.status = run_child({"sh", "-c", script}, watch);
  return seen;
}

using Lines = std::vector<std::string>;

TEST(RunChild, ReportsLinesOfBothStreamsAndTheStatus) {
  const Seen seen = run("echo one; echo two >&2; printf three; exit 7");
  EXPECT_EQ(seen.out, (Lines{"one", "three"}));
  EXPECT_EQ(seen.err, Lines{"two"});
  EXPECT_EQ(seen.status, 7);
}

TEST(RunChild, ReadsMoreThanAPipeHolds) {
  const Seen seen = run("i=0; while [ $i -lt 20000 ]; do echo line$i; i=$((i+1)); done");
  ASSERT_EQ(seen.out.size(), 20000u);
  EXPECT_EQ(seen.out.back(), "line19999");
}

TEST(RunChild, StandardInputIsEmpty) { EXPECT_EQ(run("cat; echo end").out, Lines{"end"}); }

TEST(RunChild, MissingProgramIsAnError) {
  const auto status =
      run_child({"weft-no-such-program"}, {[](std::string_view, bool) {}, [] { return false; }});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(status.error().message.find("weft-no-such-program"), std::string::npos);
}

TEST(RunChild, SignalsCountFrom128) { EXPECT_EQ(run("kill -KILL $$").status, 128 + SIGKILL); }

bool ready(const Seen& seen) { return !seen.out.empty(); }

TEST(RunChild, GetsSigtermFirstAndMayCleanUp) {
  const Seen seen = run("trap 'echo tidy; exit 3' TERM; echo ready; sleep 100 & wait", ready);
  EXPECT_EQ(seen.out, (Lines{"ready", "tidy"}));
  EXPECT_EQ(seen.status, 3);
}

TEST(RunChild, IsKilledIfItIgnoresSigterm) {
  const Seen seen = run("trap '' TERM; echo ready; while :; do sleep 0.05; done", ready,
                        std::chrono::milliseconds(50));
  EXPECT_EQ(seen.status, 128 + SIGKILL);
}

/// Whether a process still runs. False for a process that has ended, even if its new parent has not
/// waited for it yet.
bool runs(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

TEST(RunChild, ProcessesThatItLeavesBehindAreKilled) {
  const Seen seen = run("sleep 100 & echo $!");
  ASSERT_EQ(seen.out.size(), 1u);
  EXPECT_EQ(seen.status, 0);
  // The process was killed, but may need a moment to end.
  for (int i = 0; i < 200 && runs(seen.out.front()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(runs(seen.out.front()));
}

}  // namespace
}  // namespace weft
