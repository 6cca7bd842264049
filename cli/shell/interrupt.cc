// SPDX-License-Identifier: Apache-2.0
// Ends the process after signals. The first signal starts a timer (unless a NoExitTimeout exists).
// When the timer fires, or when the last accepted signal comes, end_now() calls _exit(), because a
// signal handler must not run destructors.
#include "cli/shell/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "cli/shell/progress.h"

namespace weft::cli {
namespace {

constexpr long kTimeoutNanos = 300'000'000;

// Signal handlers can share data with the program only through global variables.
std::atomic<int> g_signal{0};
std::atomic<int> g_signals{0};
std::atomic<int> g_last_signal{2};
std::atomic<bool> g_erases_line{false};
std::atomic<bool> g_has_no_timeout{false};
timer_t g_timeout{};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void write_error(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// The handlers call only functions that POSIX allows in signal handlers.
extern "C" void end_now(int) {
  if (g_erases_line) write_error(kEraseLine);
  write_error("weft: interrupted\n");
  ::_exit(static_cast<int>(interrupt_code()));
}

extern "C" void on_interrupt(int signal) {
  g_signal = signal;
  if (++g_signals >= g_last_signal) end_now(signal);
  if (g_has_no_timeout) return;
  itimerspec timeout{};
  timeout.it_value.tv_nsec = kTimeoutNanos;
  ::timer_settime(g_timeout, 0, &timeout, nullptr);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers(const Terminal& stderr_terminal) {
  g_erases_line = stderr_terminal.is_terminal;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  ::timer_create(CLOCK_MONOTONIC, &event, &g_timeout);
  handle(SIGALRM, end_now);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return g_signal != 0; }
int interrupt_count() { return g_signals; }

NoExitTimeout::NoExitTimeout(int last_signal) {
  g_has_no_timeout = true;
  g_last_signal = last_signal;
}
NoExitTimeout::~NoExitTimeout() {
  g_has_no_timeout = false;
  g_last_signal = 2;
}

ExitCode interrupt_code() {
  return g_signal == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted;
}

}  // namespace weft::cli
