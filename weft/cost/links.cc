// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/links.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/json_document.h"
#include "weft/base/median.h"
#include "weft/trace/calls.h"

namespace weft::cost {
namespace {

using graph::CollectiveKind;

constexpr double kPlausibleSustained = 1.1;
/// Nanoseconds; an absurd table must not overflow.
constexpr double kLongest = 1e18;

std::optional<CollectiveKind> kind_of(std::string_view name) {
  if (name == "all_reduce") return CollectiveKind::kAllReduce;
  if (name == "all_gather") return CollectiveKind::kAllGather;
  if (name == "reduce_scatter") return CollectiveKind::kReduceScatter;
  if (name == "broadcast") return CollectiveKind::kBroadcast;
  if (name == "reduce") return CollectiveKind::kReduce;
  if (name == "all_to_all") return CollectiveKind::kAllToAll;
  if (name == "send_recv") return CollectiveKind::kSendRecv;
  return std::nullopt;
}

tl::unexpected<Error> bad_table(const std::string& name, const std::string& what) {
  return fail(ErrorCode::kBadInput,
              what + "; a link table has collective, ranks and rows of bytes and median_us", name);
}

Result<LinkTable> parse_table(const JsonValue& value, const std::string& name) {
  if (!value.is_object()) return bad_table(name, "this is no link table");
  LinkTable table;
  const JsonValue* collective = value.find("collective");
  if (!collective || !collective->is_string()) return bad_table(name, "'collective' is missing");
  const auto kind = kind_of(collective->text);
  if (!kind) return bad_table(name, "unknown collective '" + collective->text + "'");
  table.collective = *kind;
  const JsonValue* ranks = value.find("ranks");
  const auto count = ranks ? ranks->as_int() : std::nullopt;
  if (!count || *count < 1 || *count > (1 << 24)) {
    return bad_table(name, "'ranks' is not a number of ranks");
  }
  table.ranks = static_cast<std::int32_t>(*count);
  if (const JsonValue* network = value.find("network")) table.network = network->text;
  const JsonValue* rows = value.find("rows");
  if (!rows || !rows->is_array() || rows->items.empty()) return bad_table(name, "'rows' is empty");
  for (const JsonValue& item : rows->items) {
    const JsonValue* bytes = item.find("bytes");
    const JsonValue* median = item.find("median_us");
    const auto size = bytes ? bytes->as_int() : std::nullopt;
    const auto time = median ? median->as_double() : std::nullopt;
    if (!size || *size <= 0 || !time || !(*time > 0) || *time > 1e12) {
      return bad_table(name, "a row lacks a positive 'bytes' or 'median_us'");
    }
    // An isolated transfer profits from empty buffers, a sustained one from overlapped start-up;
    // one in a running job does neither. A sustained time far above the median of the isolated ones
    // is a single slow call among few.
    const JsonValue* back_to_back = item.find("back_to_back_us");
    const double sustained = back_to_back ? back_to_back->as_double().value_or(0) : 0;
    const bool plausible = sustained > *time && sustained <= kPlausibleSustained * *time;
    table.rows.push_back({*size, std::llround((plausible ? sustained : *time) * 1e3)});
  }
  std::sort(table.rows.begin(), table.rows.end(),
            [](const LinkRow& a, const LinkRow& b) { return a.bytes < b.bytes; });
  return table;
}

}  // namespace

Nanos LinkTable::time(Bytes bytes) const {
  if (bytes <= rows.front().bytes) return rows.front().time;
  if (bytes >= rows.back().bytes) {
    const double time = static_cast<double>(rows.back().time) * static_cast<double>(bytes) /
                        static_cast<double>(rows.back().bytes);
    return std::llround(std::min(time, kLongest));
  }
  const auto above = std::upper_bound(rows.begin(), rows.end(), bytes,
                                      [](Bytes b, const LinkRow& row) { return b < row.bytes; });
  const LinkRow &hi = *above, &lo = *std::prev(above);
  const double share =
      static_cast<double>(bytes - lo.bytes) / static_cast<double>(hi.bytes - lo.bytes);
  return lo.time + std::llround(share * static_cast<double>(hi.time - lo.time));
}

Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue document, parse_json(text, name));
  std::vector<LinkTable> tables;
  if (document.is_array()) {
    for (const JsonValue& item : document.items) {
      WEFT_ASSIGN(LinkTable table, parse_table(item, name));
      tables.push_back(std::move(table));
    }
    if (tables.empty()) return bad_table(name, "the list is empty");
  } else {
    WEFT_ASSIGN(LinkTable table, parse_table(document, name));
    tables.push_back(std::move(table));
  }
  return tables;
}

Result<std::vector<LinkTable>> read_links(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_links(text, path);
}

LinkModel::LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording)
    : tables_(std::move(measured)) {
  std::map<std::pair<CollectiveKind, std::int32_t>, std::vector<std::pair<double, double>>> seen;
  for (const graph::Collective& c : recording.collectives) {
    if (c.transfer == graph::kNoId || c.bytes <= 0 || c.arrivals.size() < 2) continue;
    const Nanos time = recording.ops.recorded_duration[c.transfer];
    if (time <= 0) continue;
    seen[{c.kind, c.ranks}].emplace_back(static_cast<double>(c.bytes), static_cast<double>(time));
  }
  for (auto& [key, points] : seen) {
    // Equal sizes are one point, their median; slopes between sizes then say latency and bandwidth.
    std::map<double, std::vector<double>> by_size;
    for (const auto& [bytes, time] : points) by_size[bytes].push_back(time);
    std::vector<std::pair<double, double>> curve;
    for (auto& [bytes, times] : by_size) curve.emplace_back(bytes, median(times));
    Line line{key.first, key.second, 0, 0};
    std::vector<double> slopes;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      for (std::size_t j = i + 1; j < curve.size(); ++j) {
        slopes.push_back((curve[j].second - curve[i].second) / (curve[j].first - curve[i].first));
      }
    }
    if (!slopes.empty()) line.ns_per_byte = std::max(0.0, median(slopes));
    if (line.ns_per_byte == 0) {
      // One size only: all of it counts as bandwidth, which a large message mostly is.
      line.ns_per_byte = curve.back().second / curve.back().first;
    } else {
      std::vector<double> rest;
      for (const auto& [bytes, time] : curve) rest.push_back(time - line.ns_per_byte * bytes);
      line.latency_ns = std::max(0.0, median(rest));
    }
    lines_.push_back(line);
  }
}

const LinkTable* LinkModel::table(CollectiveKind kind, std::int32_t ranks) const {
  for (const LinkTable& t : tables_) {
    if (t.collective == kind && t.ranks == ranks) return &t;
  }
  return nullptr;
}

bool LinkModel::has_table(CollectiveKind kind, std::int32_t ranks) const {
  return table(kind, ranks) != nullptr;
}

std::optional<LinkModel::Estimate> LinkModel::transfer(CollectiveKind kind, std::int32_t ranks,
                                                       Bytes bytes) const {
  if (const LinkTable* t = table(kind, ranks)) {
    const Nanos time = t->time(bytes);
    return Estimate{time, std::min(time, t->latency()), true};
  }
  for (const Line& line : lines_) {
    if (line.kind != kind || line.ranks != ranks) continue;
    const double time = line.latency_ns + line.ns_per_byte * static_cast<double>(bytes);
    return Estimate{std::llround(time), std::llround(line.latency_ns), false};
  }
  return std::nullopt;
}

}  // namespace weft::cost
