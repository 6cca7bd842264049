// SPDX-License-Identifier: Apache-2.0
// Makes the page of link tables. It shows curves of time and bandwidth over the message size, and a
// table of rank pairs.
#pragma once

#include <string>
#include <vector>

#include "weft/cost/links.h"

namespace weft::report {

/// `files` are the paths as the user gave them; the page shows them in its title and its commands.
/// Neither `tables` nor `files` may be empty. The facts at the top of the page are those of the
/// first table.
std::string make_links_page(const std::vector<cost::LinkTable>& tables,
                            const std::vector<std::string>& files, const std::string& version);

/// Says where a table comes from: network, number of ranks and hosts, backend, library, device and
/// date. The result has one string per fact. Unknown facts are left out. `weft info` prints the
/// same list.
std::vector<std::string> link_facts(const cost::LinkTable& table);

}  // namespace weft::report
