// SPDX-License-Identifier: Apache-2.0
// Any bytes: an Error, or tables whose times stay between those of their rows and, beyond the last
// one, grow with bytes.
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
  const cost::LinkModel model(*tables, graph::Graph());
  WEFT_CHECK(model.transfer(tables->front().collective, tables->front().ranks, 1).has_value());
  return 0;
}
