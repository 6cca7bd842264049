// SPDX-License-Identifier: Apache-2.0
// Link tables as a page: curves of time and bandwidth by size, and the pairs of ranks.
#pragma once

#include <string>
#include <vector>

#include "weft/cost/links.h"

namespace weft::report {

/// `files` are as the user gave them; `tables` is not empty.
std::string make_links_page(const std::vector<cost::LinkTable>& tables,
                            const std::vector<std::string>& files, const std::string& version);

/// Where tables come from, one fact each: network, ranks and hosts, library, date. The command
/// tells the same.
std::vector<std::string> link_facts(const cost::LinkTable& table);

}  // namespace weft::report
