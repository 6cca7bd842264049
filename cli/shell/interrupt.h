// SPDX-License-Identifier: Apache-2.0
// Handles Ctrl-C and SIGTERM. Long computations call interrupted() regularly and stop by
// themselves, so that a verb can still print a partial result. If the process has not ended after a
// short timeout, it is ended.
#pragma once

#include "cli/exit_codes.h"
#include "cli/shell/terminal.h"

namespace weft::cli {

/// From this call on, the first SIGINT or SIGTERM makes interrupted() true. If the process has not
/// ended 300 ms later, or if a second signal comes, it ends at once and erases its progress line.
/// SIGPIPE is ignored: if the reader of the output goes away, write() fails instead.
void install_signal_handlers(const Terminal& stderr_terminal);

/// Whether SIGINT or SIGTERM has come.
bool interrupted();
/// How many of these signals have come.
int interrupt_count();

/// While such an object exists, the process does not end 300 ms after the first signal, because the
/// verb must end other processes or clean up first. When `last_signal` signals have come, the
/// process still ends at once.
class NoExitTimeout {
 public:
  explicit NoExitTimeout(int last_signal = 2);
  ~NoExitTimeout();
  NoExitTimeout(const NoExitTimeout&) = delete;
  NoExitTimeout& operator=(const NoExitTimeout&) = delete;
};

/// The exit status after a signal: 130 after Ctrl-C, 143 after SIGTERM.
ExitCode interrupt_code();

}  // namespace weft::cli
