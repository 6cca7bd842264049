// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a question that long work asks itself, so that what is known can still be told; and a
// short patience with work that does not ask.
#pragma once

#include "cli/exit_codes.h"
#include "cli/shell/terminal.h"

namespace weft::cli {

/// From now on the first SIGINT or SIGTERM sets interrupted(). Work that does not end within 300 ms
/// of it, or a second signal, ends the process at once; the progress line is erased then.
/// A reader of our output that goes away is no reason for noise: SIGPIPE is ignored.
void install_signal_handlers(const Terminal& stderr_terminal);

bool interrupted();
/// How many signals have come.
int interrupt_count();

/// While one lives, a first signal is given all the time that the work takes to end: it has other
/// processes to end before. The signal of that number ends the process at once all the same.
class PatientInterrupt {
 public:
  explicit PatientInterrupt(int last_signal = 2);
  ~PatientInterrupt();
  PatientInterrupt(const PatientInterrupt&) = delete;
  PatientInterrupt& operator=(const PatientInterrupt&) = delete;
};

/// 130 after Ctrl-C, 143 after SIGTERM.
ExitCode interrupt_code();

}  // namespace weft::cli
