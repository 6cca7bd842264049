// SPDX-License-Identifier: Apache-2.0
// Summaries of link tables, as text or JSON. `weft calibrate` prints them after a measurement, and
// `weft info` and `weft report` use them for files of link tables.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/cost/links.h"

namespace weft {
class JsonWriter;
}

namespace weft::cli {

/// Whether there is at least one input and all inputs are files of link tables.
bool all_are_links(const std::vector<std::string>& inputs);

/// First the origin of the tables; then one line per table with its sizes, latency, bandwidth and
/// spread; then the slowest pairs of ranks, if some links are slower than others.
std::string links_text(const std::vector<cost::LinkTable>& tables, const Terminal& terminal);
/// Writes the same as a JSON array with one object per table.
void write_links_summary(JsonWriter& json, const std::vector<cost::LinkTable>& tables);

}  // namespace weft::cli
