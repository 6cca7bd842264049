// SPDX-License-Identifier: Apache-2.0
// Feeds any bytes to the reader of link tables. It must return an Error, or tables with these
// properties: for sizes up to the last row, times lie between the shortest and the longest time of
// the rows; beyond the last row, times grow in proportion to bytes; and tables that are written and
// read again give the same times.
#include <algorithm>
#include <cstdint>

#include "weft/base/check.h"
#include "weft/cost/links.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto tables = cost::parse_links({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!tables) return 0;
  WEFT_CHECK(!tables->empty());
  for (const cost::LinkTable& table : *tables) {
    WEFT_CHECK(!table.rows.empty() && table.ranks > 0);
    Nanos least = table.rows.front().time, most = least;
    for (const cost::LinkRow& row : table.rows) {
      least = std::min(least, row.time);
      most = std::max(most, row.time);
    }
    for (const cost::LinkRow& row : table.rows) {
      for (const Bytes bytes : {row.bytes - 1, row.bytes, row.bytes / 2}) {
        const Nanos time = table.time(bytes);
        WEFT_CHECK(time >= least && time <= most);
      }
    }
    const cost::LinkRow& last = table.rows.back();
    if (last.bytes < INT64_MAX / 2) WEFT_CHECK(table.time(last.bytes * 2) == last.time * 2);
  }
  const auto again = cost::parse_links(cost::write_links(*tables), "fuzz");
  WEFT_CHECK(again && again->size() == tables->size());
  for (std::size_t i = 0; i < tables->size(); ++i) {
    const auto &before = (*tables)[i], &after = (*again)[i];
    WEFT_CHECK(before.collective == after.collective && before.ranks == after.ranks);
    WEFT_CHECK(before.rows.size() == after.rows.size() &&
               before.pairs.size() == after.pairs.size());
    for (std::size_t k = 0; k < before.rows.size(); ++k) {
      WEFT_CHECK(before.time(before.rows[k].bytes) == after.time(before.rows[k].bytes));
    }
  }
  const cost::LinkModel model(*tables, graph::Graph());
  WEFT_CHECK(model.transfer(tables->front().collective, tables->front().ranks, 1).has_value());
  return 0;
}
