// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/links.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/median.h"
#include "weft/trace/match/calls.h"

namespace weft::cost {
namespace {

/// The largest size must be at least this many times as large as the smallest size. Otherwise the
/// latency, which is the intercept of the line, would be an extrapolation that amplifies the noise.
constexpr double kWideRange = 8;

using graph::CollectiveKind;

/// If the sustained time is above this multiple of the isolated time, it is not used; see
/// expected_time().
constexpr double kPlausibleSustained = 1.1;
/// Upper limit of an extrapolated time in nanoseconds. It prevents overflow if a table is absurd.
constexpr double kLongest = 1e18;

}  // namespace

Nanos expected_time(Nanos alone, Nanos back_to_back) {
  // An isolated transfer finds empty buffers. A sustained transfer starts up while the one before
  // it still runs. A transfer in a running job has neither advantage, so the longer of the two
  // times is used. But only few calls measure the sustained time. If it is far above the isolated
  // median, one slow call has spoiled it.
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
    // Transfers of equal size become one point: their median. A median ignores single calls that
    // something else delayed.
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
      // If the sizes are too similar, they do not show the latency. Then the whole time counts as
      // bandwidth, which is most of the time of a large message.
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

std::optional<std::int32_t> LinkModel::nearest_table(CollectiveKind kind,
                                                     std::int32_t ranks) const {
  const auto distance = [&](std::int32_t other) {
    return std::abs(std::log(static_cast<double>(other) / ranks));
  };
  std::optional<std::int32_t> nearest;
  for (const LinkTable& t : tables_) {
    if (t.collective != kind) continue;
    if (!nearest || distance(t.ranks) < distance(*nearest)) nearest = t.ranks;
  }
  return nearest;
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
