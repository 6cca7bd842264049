// SPDX-License-Identifier: Apache-2.0
// All verbs, one function and one file each. The order is the one in which help shows them.
#pragma once

#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

Subcommand diagnose_command();
Subcommand diff_command();
Subcommand export_command();
Subcommand info_command();
Subcommand list_command();
Subcommand replay_command();
Subcommand report_command();

inline std::vector<Subcommand> all_commands() {
  return {info_command(),   diagnose_command(), replay_command(), diff_command(),
          report_command(), export_command(),   list_command()};
}

}  // namespace weft::cli
