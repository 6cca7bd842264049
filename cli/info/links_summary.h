// SPDX-License-Identifier: Apache-2.0
// Link tables in a few lines, or as JSON: what `weft calibrate` measured and `weft info` finds in a
// file.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/cost/links.h"

namespace weft {
class JsonWriter;
}

namespace weft::cli {

/// Whether there are inputs and each is a file of link tables.
bool all_are_links(const std::vector<std::string>& inputs);

/// Where they come from, then a line a curve: its sizes, latency, highest bandwidth and spread;
/// then the pairs of ranks that are slowest, where links differ.
std::string links_text(const std::vector<cost::LinkTable>& tables, const Terminal& terminal);
/// The same as a value: a list of tables.
void write_links_summary(JsonWriter& json, const std::vector<cost::LinkTable>& tables);

}  // namespace weft::cli
