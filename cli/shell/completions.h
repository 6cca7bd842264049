// SPDX-License-Identifier: Apache-2.0
// Makes completion scripts for shells from the list of verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

std::string bash_completions(const std::vector<Subcommand>& commands);
std::string fish_completions(const std::vector<Subcommand>& commands);
std::string zsh_completions(const std::vector<Subcommand>& commands);

}  // namespace weft::cli
