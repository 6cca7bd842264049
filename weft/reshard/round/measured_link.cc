// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/measured_link.h"

#include <algorithm>

namespace weft::reshard {
namespace {

using graph::CollectiveKind;

/// The table with the most ranks for this kind of collective. For send_recv, only tables of two
/// ranks count. nullptr if there is no such table.
const cost::LinkTable* pick(const std::vector<cost::LinkTable>& tables, CollectiveKind kind) {
  const cost::LinkTable* found = nullptr;
  const bool pair = kind == CollectiveKind::kSendRecv;
  for (const cost::LinkTable& table : tables) {
    if (table.collective != kind || (pair && table.ranks != 2)) continue;
    if (!found || table.ranks > found->ranks) found = &table;
  }
  return found;
}

}  // namespace

Result<Link> link_of(const std::vector<cost::LinkTable>& tables) {
  const cost::LinkTable* table = pick(tables, CollectiveKind::kAllToAll);
  if (!table) table = pick(tables, CollectiveKind::kSendRecv);
  if (!table) {
    return fail(ErrorCode::kUsage,
                "the link table has neither all_to_all nor send_recv of two ranks; measure them "
                "with weft calibrate --collectives all_to_all,send_recv");
  }
  Link link;
  link.step = table->latency() * 1000;
  link.bandwidth = 1;
  for (const cost::LinkRow& row : table->rows) {
    // `row.bytes` is the whole buffer of a rank. In an all-to-all, a rank keeps one share of the
    // buffer and receives the other shares.
    const bool all = table->collective == CollectiveKind::kAllToAll;
    const Bytes received = all ? row.bytes / table->ranks * (table->ranks - 1) : row.bytes;
    const double rate = static_cast<double>(received) / static_cast<double>(row.time) * 1e9;
    link.bandwidth = std::max(link.bandwidth, static_cast<std::int64_t>(rate));
  }
  return link;
}

}  // namespace weft::reshard
