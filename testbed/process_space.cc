// SPDX-License-Identifier: Apache-2.0
// unshare(CLONE_NEWPID) does not move this process: it only decides in which namespace its next
// children start. So make() and fork() switch to the namespace, start one child and switch back.
// The first child inside is the init process of the namespace ("keeper"). When it ends, the kernel
// kills all others. It waits on a pipe, so that it also ends if this process is killed.
#include "testbed/process_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::testbed {
namespace {

/// The code of the keeper. It waits for the end of the pipe. Orphans of the namespace become its
/// children; because it ignores SIGCHLD, the kernel removes them when they end. It ignores Ctrl-C
/// and SIGTERM, because Weft decides when the ranks end.
[[noreturn]] void keep(int lifeline) {
  ::setsid();
  ::signal(SIGCHLD, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  char byte = 0;
  while (::read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

Result<ProcessSpace> ProcessSpace::make() {
  ProcessSpace space;
  int pipe[2] = {-1, -1};
  const auto give_up = [&](const char* what) {
    const int reason = errno;
    if (pipe[0] >= 0) ::close(pipe[0]);
    return fail(ErrorCode::kUnavailable, fmt::format("cannot {}: {}", what, std::strerror(reason)));
  };
  space.outside_ = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (space.outside_ < 0 || ::pipe2(pipe, O_CLOEXEC) != 0) return give_up("open a pipe");
  space.lifeline_ = pipe[1];
  if (::unshare(CLONE_NEWPID) != 0) return give_up("make a process namespace");
  space.keeper_ = ::fork();
  if (space.keeper_ == 0) {
    ::close(pipe[1]);
    keep(pipe[0]);
  }
  ::setns(space.outside_, CLONE_NEWPID);  // later children, such as ip and tc, start outside again
  if (space.keeper_ < 0) return give_up("start a process");
  ::close(pipe[0]);
  pipe[0] = -1;
  const std::string path = fmt::format("/proc/{}/ns/pid", space.keeper_);
  space.inside_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space.inside_ < 0) return give_up("open the process namespace");
  return space;
}

ProcessSpace::ProcessSpace(ProcessSpace&& other) noexcept { *this = std::move(other); }

ProcessSpace& ProcessSpace::operator=(ProcessSpace&& other) noexcept {
  std::swap(keeper_, other.keeper_);
  std::swap(lifeline_, other.lifeline_);
  std::swap(inside_, other.inside_);
  std::swap(outside_, other.outside_);
  return *this;
}

pid_t ProcessSpace::fork() const {
  if (::setns(inside_, CLONE_NEWPID) != 0) return -1;
  const pid_t child = ::fork();
  if (child != 0) ::setns(outside_, CLONE_NEWPID);
  return child;
}

void ProcessSpace::end() {
  if (lifeline_ >= 0) ::close(lifeline_);
  if (keeper_ > 0) {
    ::kill(keeper_, SIGKILL);
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (inside_ >= 0) ::close(inside_);
  if (outside_ >= 0) ::close(outside_);
  lifeline_ = keeper_ = inside_ = outside_ = -1;
}

}  // namespace weft::testbed
