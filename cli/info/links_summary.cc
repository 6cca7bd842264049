// SPDX-License-Identifier: Apache-2.0
#include "cli/info/links_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/shell/format.h"
#include "weft/base/json/writer.h"
#include "weft/base/median.h"
#include "weft/report/page/links_page.h"

namespace weft::cli {
namespace {

/// A link is listed as slow if its bandwidth is below this fraction of the best bandwidth.
constexpr double kUnequal = 0.8;
constexpr std::size_t kPairsShown = 6;

/// Returns the bandwidth in megabytes per second: the bytes of the array divided by the time, for
/// the largest size. Smaller sizes can exceed the rate of the link, because the buffers of a rate
/// limiter absorb them.
double bandwidth_of(const std::vector<cost::LinkRow>& rows) {
  return static_cast<double>(rows.back().bytes) * 1e3 / static_cast<double>(rows.back().time);
}

std::size_t count_hosts(const cost::LinkTable& table) {
  return std::set<std::string>(table.hosts.begin(), table.hosts.end()).size();
}

std::string bandwidth(double megabytes) {
  return format_bytes(static_cast<Bytes>(megabytes * 1e6)) + "/s";
}

/// A line with the slowest pairs of ranks, slowest first; empty if all links are about equal. Only
/// links between hosts count, since pairs on one host do not use the network.
std::string slow_pairs(const cost::LinkTable& table) {
  std::vector<std::pair<double, const cost::LinkPair*>> pairs;
  double best = 0;
  for (const cost::LinkPair& pair : table.pairs) {
    pairs.emplace_back(bandwidth_of(pair.rows), &pair);
    if (!pair.same_host) best = std::max(best, pairs.back().first);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> slow;
  for (const auto& [own, pair] : pairs) {
    if (pair->same_host || own > kUnequal * best || slow.size() == kPairsShown) continue;
    slow.push_back(fmt::format("{} and {} at {}", pair->from, pair->to, bandwidth(own)));
  }
  if (slow.empty()) return {};
  return fmt::format("unequal links: best {}; ranks {}", bandwidth(best), fmt::join(slow, ", "));
}

}  // namespace

double typical_spread(const std::vector<cost::LinkRow>& rows) {
  std::vector<double> shares;
  for (const cost::LinkRow& row : rows) {
    shares.push_back(static_cast<double>(row.spread) / static_cast<double>(row.alone));
  }
  return median(shares);
}

bool all_are_links(const std::vector<std::string>& inputs) {
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), cost::is_links);
}

std::string links_text(const std::vector<cost::LinkTable>& tables, const Terminal& terminal) {
  const auto width = static_cast<std::size_t>(terminal.columns);
  std::string out;
  const std::vector<std::string> facts = report::link_facts(tables.front());
  if (!facts.empty()) out += wrapped(fmt::format("{}", fmt::join(facts, ", ")), width, 2);
  Table page({{"collective", Align::kLeft},
              {"ranks"},
              {"sizes"},
              {"up to"},
              {"latency"},
              {"bandwidth"},
              {"spread"}});
  for (const cost::LinkTable& table : tables) {
    const bool is_known = table.rows.front().spread > 0;
    page.add_row({std::string(cost::link_collective_name(table.collective)),
                  std::to_string(table.ranks), std::to_string(table.rows.size()),
                  format_bytes(table.rows.back().bytes), format_time(table.latency()),
                  bandwidth(bandwidth_of(table.rows)),
                  is_known ? fmt::format("{:.0f}%", 100 * typical_spread(table.rows)) : "-"});
  }
  out += page.print(terminal);
  for (const cost::LinkTable& table : tables) {
    const std::string slow = slow_pairs(table);
    if (!slow.empty()) out += wrapped(slow, width, 2);
  }
  return out;
}

void write_links_summary(JsonWriter& json, const std::vector<cost::LinkTable>& tables) {
  json.begin_array();
  for (const cost::LinkTable& table : tables) {
    json.begin_object();
    json.field("collective", cost::link_collective_name(table.collective));
    json.field("ranks", table.ranks);
    json.field("network", table.network).field("backend", table.backend);
    json.field("library", table.library).field("date", table.date);
    json.field("hosts", count_hosts(table));
    json.field("sizes", table.rows.size());
    json.field("least_bytes", table.rows.front().bytes);
    json.field("most_bytes", table.rows.back().bytes);
    json.field("latency_us", static_cast<double>(table.latency()) / 1e3);
    json.field("mb_per_s", bandwidth_of(table.rows));
    json.field("spread", typical_spread(table.rows));
    json.key("pairs").begin_array();
    for (const cost::LinkPair& pair : table.pairs) {
      json.begin_object().field("from", pair.from).field("to", pair.to);
      json.field("same_host", pair.same_host);
      json.field("latency_us", static_cast<double>(pair.rows.front().time) / 1e3);
      json.field("mb_per_s", bandwidth_of(pair.rows)).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace weft::cli
