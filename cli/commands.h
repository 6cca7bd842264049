// SPDX-License-Identifier: Apache-2.0
// All verbs, in the order in which help shows them. Each verb has one function and one file.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

Subcommand calibrate_command();
Subcommand completions_command();
Subcommand diagnose_command();
Subcommand diff_command();
Subcommand export_command();
Subcommand gather_command();
Subcommand help_command();
Subcommand info_command();
Subcommand list_command();
Subcommand man_command();
Subcommand pack_command();
Subcommand pipeline_command();
Subcommand record_command();
Subcommand replay_command();
Subcommand report_command();
Subcommand reshard_command();
Subcommand testbed_command();
Subcommand verify_command();

inline std::vector<Subcommand> all_commands() {
  return {record_command(),    gather_command(),  info_command(),     diagnose_command(),
          replay_command(),    diff_command(),    report_command(),   export_command(),
          pack_command(),      reshard_command(), pipeline_command(), verify_command(),
          calibrate_command(), testbed_command(), list_command(),     completions_command(),
          man_command(),       help_command()};
}

/// The verb with this name; nullptr if there is none.
inline const Subcommand* find_verb(const std::vector<Subcommand>& commands,
                                   const std::string& name) {
  for (const Subcommand& command : commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

inline std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Subcommand& command : all_commands()) names.push_back(command.name);
  return names;
}

}  // namespace weft::cli
