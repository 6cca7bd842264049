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

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Signals are taken one by one rather than by handlers, so blocked meanwhile; as before at the
/// end.
class TakenSignals {
 public:
  TakenSignals() {
    sigemptyset(&taken_);
    sigaddset(&taken_, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&taken_, signal);
    pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  }
  ~TakenSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;

  const sigset_t& set() const { return taken_; }

 private:
  sigset_t taken_;
  sigset_t before_;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// The child must not inherit what we ignore or block.
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
  const TakenSignals signals;
  pid_t child = -1;
  if (const int error = spawn(command, environment, child); error != 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("cannot run '{}': {}", command.front(), std::strerror(error)));
  }
  for (;;) {
    siginfo_t signal{};
    if (sigwaitinfo(&signals.set(), &signal) < 0) continue;
    if (signal.si_signo != SIGCHLD) {
      // The terminal tells its whole foreground group; only what was meant for us is passed on.
      if (signal.si_code != SI_KERNEL) ::kill(child, signal.si_signo);
      continue;
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

}  // namespace weft::record
