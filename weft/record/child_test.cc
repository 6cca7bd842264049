// SPDX-License-Identifier: Apache-2.0
#include "weft/record/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace weft::record {
namespace {

const std::vector<std::string> kPath = {"PATH=/usr/bin:/bin"};

Result<int> shell(const std::string& script) { return run_child({"sh", "-c", script}, kPath); }

TEST(Child, ExitStatusComesThrough) {
  EXPECT_EQ(shell("exit 0"), 0);
  EXPECT_EQ(shell("exit 7"), 7);
}

TEST(Child, SignalThatEndedItGivesTheStatusOfShells) { EXPECT_EQ(shell("kill -9 $$"), 128 + 9); }

TEST(Child, SeesOnlyTheGivenEnvironment) {
  EXPECT_EQ(run_child({"sh", "-c", "test \"$A\" = b && test -z \"$HOME\""}, {"A=b"}), 0);
}

TEST(Child, CommandThatDoesNotExistIsAnError) {
  const auto result = run_child({"/no/such/command"}, kPath);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "cannot run '/no/such/command': No such file or directory");
}

TEST(Child, StartsWithDefaultSignalHandling) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(shell("kill -PIPE $$"), 128 + SIGPIPE);
  ::signal(SIGPIPE, before);
}

TEST(Child, SignalsSentToTheParentReachIt) {
  const auto ready = std::filesystem::temp_directory_path() /
                     ("weft-child-" + std::to_string(::getpid()) + ".ready");
  // Block the signal in all threads. Otherwise the thread that sends it would also handle it.
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  std::thread sender([&] {
    while (!std::filesystem::exists(ready)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(::getpid(), SIGTERM);
  });
  EXPECT_EQ(shell("trap 'exit 42' TERM; : > " + ready.string() + "; while :; do sleep 0.01; done"),
            42);
  sender.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::filesystem::remove(ready);
}

}  // namespace
}  // namespace weft::record
