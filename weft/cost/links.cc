// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/links.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/median.h"
#include "weft/trace/match/calls.h"

namespace weft::cost {
namespace {

/// A line through sizes that differ by less hits the axis anywhere.
constexpr double kWideRange = 8;

using graph::CollectiveKind;

constexpr double kPlausibleSustained = 1.1;
/// Nanoseconds; an absurd table must not overflow.
constexpr double kLongest = 1e18;

}  // namespace

Nanos expected_time(Nanos alone, Nanos back_to_back) {
  // An isolated transfer profits from empty buffers, a sustained one from overlapped start-up; one
  // in a running job does neither. A sustained time far above the median of the isolated ones is a
  // single slow call among few.
  const bool plausible =
      back_to_back > alone &&
      static_cast<double>(back_to_back) <= kPlausibleSustained * static_cast<double>(alone);
  return plausible ? back_to_back : alone;
}

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

LinkModel::LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording)
    : tables_(std::move(measured)) {
  std::map<std::pair<CollectiveKind, std::int32_t>, std::vector<std::pair<double, double>>> seen;
  for (const graph::Collective& c : recording.collectives) {
    if (c.transfer == graph::kNoId || c.bytes <= 0 || c.arrivals.size() < 2) continue;
    const Nanos time = c.alone >= 0 ? c.alone : recording.ops.recorded_duration[c.transfer];
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
    if (line.ns_per_byte == 0 || curve.back().first < kWideRange * curve.front().first) {
      // Sizes that are too much alike do not tell latency: all of it counts as bandwidth, which a
      // large message mostly is.
      double bytes = 0, time = 0;
      for (const auto& [size, taken] : curve) bytes += size, time += taken;
      line.ns_per_byte = time / bytes;
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
