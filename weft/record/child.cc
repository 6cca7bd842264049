// SPDX-License-Identifier: Apache-2.0
#include "weft/record/child.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::record {
namespace {

/// Signals that are passed on to the child.
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Blocks the signals that run_child() waits for. The destructor restores the former signal mask.
/// run_child() takes the signals one by one with sigwaitinfo(), which needs them to be blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&blocked_);
    sigaddset(&blocked_, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&blocked_, signal);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  const sigset_t& set() const { return blocked_; }

 private:
  sigset_t blocked_;
  sigset_t before_;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Starts the child; returns 0 or the errno. The child would inherit which signals this process
/// ignores or blocks, so all signals are reset to their defaults for the child.
int spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          pid_t& child) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGALRM);
  for (const int signal : kPassedOn) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::vector<char*> words = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  const int error =
      posix_spawnp(&child, words[0], nullptr, &attributes, words.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  const BlockedSignals signals;  // before the start, so that no SIGCHLD is missed
  pid_t child = -1;
  if (const int error = spawn(command, environment, child); error != 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("cannot run '{}': {}", command.front(), std::strerror(error)));
  }
  // sigwaitinfo() takes all these signals, including SIGCHLD at the end of the child. So no signal
  // handler runs while this process waits.
  for (;;) {
    siginfo_t signal{};
    if (sigwaitinfo(&signals.set(), &signal) < 0) continue;
    if (signal.si_signo != SIGCHLD) {
      // The terminal (SI_KERNEL) sends its signals to the whole foreground group, so the child has
      // them already. Pass on only signals that were sent to this process.
      if (signal.si_code != SI_KERNEL) ::kill(child, signal.si_signo);
      continue;
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

}  // namespace weft::record
