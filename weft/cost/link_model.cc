// SPDX-License-Identifier: Apache-2.0
// Combines what link tables and a recording say about the time of transfers. A table knows the
// shape of the curve, from the smallest to the largest message. The recording knows how fast the
// network was when the job ran. The speed of a network changes from hour to hour, and the ranks may
// have had other places when the table was measured. So the model keeps the shape of the table and
// moves its level towards the recorded transfers.
//
// How far it moves follows from the scatter of both sources. Let r be the mean of log(recorded time
// / table time), s the relative standard deviation of the recorded transfers, and t that of the
// samples in the table. Then the level moves by w * r with w = t^2 / (t^2 + s^2), so each source
// counts by the inverse of its variance. A recording lasts a second and a table half a minute, so s
// also contains the drift of a network over minutes. If r is so large that scatter cannot explain
// it, the table was measured under other conditions. The excess is added to t^2, so the recording
// decides.
#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/median.h"
#include "weft/cost/links.h"

namespace weft::cost {
namespace {

/// The largest size must be at least this many times as large as the smallest size. Otherwise the
/// latency, which is the intercept of the line, would be an extrapolation that amplifies the noise.
constexpr double kWideRange = 8;
/// Lower limit of the relative standard deviation of recorded times, and of that of the times in a
/// link table. A few samples may agree by chance.
constexpr double kLeastScatter = 0.02;
/// The relative standard deviation that is assumed if there are too few samples to compute it.
constexpr double kUsualScatter = 0.1;
constexpr std::size_t kEnoughSamples = 3;
/// A recording covers a second or so. Over minutes, the speed of a network drifts by about this
/// relative standard deviation: equal runs of the jobs in bench/data/h200-settings differ by 5 to
/// 20 % of the time of their exposed transfers.
constexpr double kDrift = 0.08;
/// If recorded times differ from the times in a table by more than this many standard deviations,
/// scatter is not the reason.
constexpr double kPlausibleDistance = 4;
/// The interquartile range of a normal distribution is this many standard deviations wide.
constexpr double kQuartileWidth = 1.349;
/// The minimum of some thirty samples is about this many standard deviations below their median.
constexpr double kMinimumDistance = 2;
/// Relative standard error of a time for every doubling of the size beyond the largest size with
/// evidence. In ten link tables of NCCL, the time per byte of messages from 8 MiB on changes by 4 %
/// (root mean square) if the size doubles, and by 7 % if the doubling from 4 to 8 MiB counts as
/// well.
constexpr double kErrorPerDoubling = 0.05;
constexpr double kLongestTransfer = 1e18;  ///< prevents overflow

using graph::CollectiveKind;

double square(double x) { return x * x; }

Nanos bounded(double time) { return std::llround(std::min(time, kLongestTransfer)); }

double doublings_beyond(Bytes bytes, Bytes largest) {
  return bytes > largest && largest > 0
             ? std::log2(static_cast<double>(bytes) / static_cast<double>(largest))
             : 0;
}

/// Returns the relative standard deviation of the samples of one row, or 0 if it is unknown.
double scatter_of(const LinkRow& row) {
  if (row.alone <= 0) return 0;
  const auto median = static_cast<double>(row.alone);
  if (row.spread > 0) return static_cast<double>(row.spread) / median / kQuartileWidth;
  if (row.shortest <= 0 || row.shortest > row.alone) return 0;
  return static_cast<double>(row.alone - row.shortest) / median / kMinimumDistance;
}

/// Returns the median scatter of the rows for messages of at least `smallest` bytes, or
/// kUsualScatter if it is unknown. The times of smaller messages scatter for other reasons.
double scatter_of(const LinkTable& table, Bytes smallest) {
  std::vector<double> scatter;
  for (const LinkRow& row : table.rows) {
    const double own = scatter_of(row);
    if (own > 0 && (row.bytes >= smallest || &row == &table.rows.back())) scatter.push_back(own);
  }
  return scatter.empty() ? kUsualScatter : median(scatter);
}

struct Moments {
  double mean = 0, deviation = kUsualScatter;
};
/// Returns the mean and the standard deviation of values with weights.
Moments moments_of(const std::vector<std::pair<double, double>>& weighted) {
  double sum = 0, weights = 0, squares = 0;
  for (const auto& [value, weight] : weighted) sum += weight * value, weights += weight;
  Moments moments{weights > 0 ? sum / weights : 0, kUsualScatter};
  for (const auto& [value, weight] : weighted) squares += weight * square(value - moments.mean);
  if (weighted.size() >= kEnoughSamples && weights > 0) {
    moments.deviation = std::max(kLeastScatter, std::sqrt(squares / weights));
  }
  return moments;
}

}  // namespace

LinkModel::LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording)
    : tables_(std::move(measured)) {
  std::map<std::pair<CollectiveKind, std::int32_t>, std::vector<Sample>> seen;
  for (const graph::Collective& c : recording.collectives) {
    if (c.transfer == graph::kNoId || c.bytes <= 0 || c.arrivals.size() < 2) continue;
    const Nanos time = c.alone >= 0 ? c.alone : recording.ops.recorded_duration[c.transfer];
    if (time <= 0) continue;
    seen[{c.kind, c.ranks}].push_back({c.bytes, static_cast<double>(time)});
  }
  for (const auto& [key, samples] : seen) {
    lines_.push_back(fit(key.first, key.second, samples));
    if (const LinkTable* t = table(key.first, key.second)) {
      levels_.push_back(compare(*t, samples));
    }
  }
}

LinkModel::Line LinkModel::fit(CollectiveKind kind, std::int32_t ranks,
                               const std::vector<Sample>& samples) {
  // Transfers of equal size become one point: their median. A median ignores single calls that
  // something else delayed.
  std::map<Bytes, std::vector<double>> by_size;
  for (const auto& [bytes, time] : samples) by_size[bytes].push_back(time);
  std::vector<std::pair<double, double>> curve;
  for (auto& [bytes, times] : by_size) curve.emplace_back(bytes, median(times));
  Line line;
  line.kind = kind;
  line.ranks = ranks;
  line.smallest = by_size.begin()->first;
  line.largest = by_size.rbegin()->first;
  line.time_of_smallest = curve.front().second;
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
  std::vector<std::pair<double, double>> residuals;
  for (const auto& [bytes, time] : samples) {
    const double expected = line.latency_ns + line.ns_per_byte * static_cast<double>(bytes);
    if (expected > 0) residuals.emplace_back(std::log(time / expected), time);
  }
  line.error = std::hypot(moments_of(residuals).deviation, kDrift);
  return line;
}

LinkModel::Level LinkModel::compare(const LinkTable& table, const std::vector<Sample>& samples) {
  std::vector<std::pair<double, double>> logs;
  Bytes smallest = samples.front().bytes;
  for (const auto& [bytes, time] : samples) {
    const auto expected = static_cast<double>(table.time(bytes));
    if (expected <= 0) continue;
    logs.emplace_back(std::log(time / expected), expected);
    smallest = std::min(smallest, bytes);
  }
  Level level{table.collective, table.ranks, 1, kUsualScatter};
  if (logs.empty()) return level;
  const auto [distance, deviation] = moments_of(logs);
  const double recorded = square(deviation) + square(kDrift);
  double tabled = square(std::max(kLeastScatter, scatter_of(table, smallest)));
  const double plausible = square(kPlausibleDistance) * (recorded + tabled);
  tabled += std::max(0.0, square(distance) - plausible);
  const double share = tabled / (tabled + recorded);
  level.factor = std::exp(share * distance);
  level.error = std::sqrt(tabled * recorded / (tabled + recorded));
  return level;
}

/// Returns the level for a table. If no transfer was recorded to which the table applies, the level
/// of a table of the same collective counts, because both depend on the same network.
LinkModel::Level LinkModel::level_of(const LinkTable& table) const {
  const Level* best = nullptr;
  for (const Level& level : levels_) {
    if (level.kind != table.collective) continue;
    if (!best || level.ranks == table.ranks) best = &level;
  }
  if (!best) return {table.collective, table.ranks, 1, kUsualScatter};
  Level level = *best;
  if (level.ranks != table.ranks) level.error = std::hypot(level.error, kUsualScatter);
  return level;
}

const LinkTable* LinkModel::table(CollectiveKind kind, std::int32_t ranks) const {
  for (const LinkTable& t : tables_) {
    if (t.collective == kind && t.ranks == ranks) return &t;
  }
  return nullptr;
}

const LinkModel::Line* LinkModel::line(CollectiveKind kind, std::int32_t ranks) const {
  for (const Line& l : lines_) {
    if (l.kind == kind && l.ranks == ranks) return &l;
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
  Estimate estimate;
  if (const LinkTable* t = table(kind, ranks)) {
    const Level level = level_of(*t);
    estimate.time = bounded(static_cast<double>(t->time(bytes)) * level.factor);
    estimate.latency =
        std::min(estimate.time, bounded(static_cast<double>(t->latency()) * level.factor));
    estimate.measured = true;
    estimate.longest = estimate.time;
    estimate.error =
        std::hypot(level.error, kErrorPerDoubling * doublings_beyond(bytes, t->rows.back().bytes));
    return estimate;
  }
  const Line* l = line(kind, ranks);
  if (!l) return std::nullopt;
  estimate.time = bounded(l->latency_ns + l->ns_per_byte * static_cast<double>(bytes));
  estimate.latency = std::min(estimate.time, bounded(l->latency_ns));
  estimate.error = std::hypot(l->error, kErrorPerDoubling * doublings_beyond(bytes, l->largest));
  // The recording does not show the latency of smaller messages than those it contains. But a
  // smaller message never takes longer than a larger one.
  estimate.longest = estimate.time;
  if (bytes < l->smallest) estimate.longest = std::max(estimate.time, bounded(l->time_of_smallest));
  return estimate;
}

Bytes LinkModel::smallest_known(CollectiveKind kind, std::int32_t ranks) const {
  if (const LinkTable* t = table(kind, ranks)) return t->rows.front().bytes;
  const Line* l = line(kind, ranks);
  return l ? l->smallest : -1;
}

}  // namespace weft::cost
