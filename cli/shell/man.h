// SPDX-License-Identifier: Apache-2.0
// Makes man pages in roff from the list of verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

/// The man page weft(1).
std::string program_page(const std::vector<Subcommand>& commands);
/// The man page weft-VERB(1) or weft-VERB-SUB-VERB(1).
std::string verb_page(const Subcommand& command);

}  // namespace weft::cli
