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

/// How much the times of single calls vary. The spread of a size is the width of the range that
/// holds the middle half of its calls, divided by their median time. Returns the median of the
/// spreads of all sizes; 0 if no spreads were measured.
double typical_spread(const std::vector<cost::LinkRow>& rows);
/// Whether there is at least one input and all inputs are files of link tables.
bool all_are_links(const std::vector<std::string>& inputs);

/// The text starts with the origin of the tables. Then it has one line per table, with the sizes,
/// latency, bandwidth and spread. If some links are slower than others, it ends with the slowest
/// pairs of ranks.
std::string links_text(const std::vector<cost::LinkTable>& tables, const Terminal& terminal);
/// Writes the facts of links_text() as a JSON array with one object per table.
void write_links_summary(JsonWriter& json, const std::vector<cost::LinkTable>& tables);

}  // namespace weft::cli
