// SPDX-License-Identifier: Apache-2.0
// Turns output lines into tables. Rank 0 prints one JSON object per line, each after the mark
// "weft-calibrate ". A "start" line gives the facts that all tables share. A "sample" line has
// times for one curve (collective, group size, pair of ranks) and one message size. take() adds
// these times to the Samples of this curve and size. The ranks measure all sizes several times, in
// passes, so the samples of one size come from the whole run. tables() computes medians and
// quartiles from all Samples. It may be called at any time, so an interrupted calibration still
// gives a table.
#include "weft/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/json/document.h"
#include "weft/base/median.h"

namespace weft::cost {
namespace {

constexpr std::string_view kMark = "weft-calibrate ";
constexpr std::int64_t kProtocol = 1;
constexpr std::int64_t kMostMeasuredRanks = 1 << 24;
constexpr double kLongestMeasuredMicros = 1e12;

std::int64_t whole(const JsonValue& event, std::string_view name, std::int64_t missing = -1) {
  const JsonValue* value = event.find(name);
  return value ? value->as_int().value_or(missing) : missing;
}

std::string text(const JsonValue& event, std::string_view name) {
  const JsonValue* value = event.find(name);
  return value ? value->text : std::string();
}

std::vector<std::string> texts(const JsonValue& event, std::string_view name) {
  std::vector<std::string> found;
  const JsonValue* list = event.find(name);
  for (std::size_t i = 0; list && i < list->items.size(); ++i) found.push_back(list->items[i].text);
  return found;
}

/// Converts a time in microseconds to nanoseconds. Returns 0 if it is missing or not plausible.
Nanos time_of(const JsonValue* micros) {
  const double time = micros ? micros->as_double().value_or(0) : 0;
  return time > 0 && time <= kLongestMeasuredMicros ? std::llround(time * 1e3) : 0;
}

}  // namespace

bool Calibration::take(std::string_view line) {
  // Search for the mark, because launchers such as mpirun put "[1,0]<stdout>:" before it.
  const std::size_t mark = line.find(kMark);
  if (mark == line.npos) return false;
  const auto event = parse_json(line.substr(mark + kMark.size()), "a line of rank 0");
  const std::string kind = event ? text(*event, "event") : std::string();
  bool understood = true;
  if (kind == "start") {
    understood = take_start(*event);
  } else if (kind == "sample") {
    understood = take_sample(*event);
  } else if (kind == "end") {
    ended_ = true;
    cut_ = texts(*event, "cut");
  } else if (kind == "elsewhere") {
    elsewhere_ = true;
  } else if (kind == "lacking") {
    lacking_.push_back(text(*event, "collective"));
  } else if (kind == "error") {
    failure_ = Failure{text(*event, "kind"), text(*event, "what")};
  } else {
    understood = false;
  }
  if (!understood) ++broken_lines_;
  return true;
}

bool Calibration::take_start(const JsonValue& event) {
  if (whole(event, "protocol") != kProtocol) return false;
  facts_.hosts = texts(event, "hosts");
  facts_.dtype = text(event, "dtype");
  facts_.backend = text(event, "backend");
  facts_.library = text(event, "library");
  facts_.device = text(event, "device");
  progress_.passes = whole(event, "passes");
  return started();
}

bool Calibration::take_sample(const JsonValue& event) {
  const std::string collective = text(event, "collective");
  const auto kind = link_collective(collective);
  const std::int64_t ranks = whole(event, "ranks"), bytes = whole(event, "bytes");
  const std::int64_t from = whole(event, "from"), to = whole(event, "to");
  const JsonValue* alone = event.find("alone_us");
  const auto world = static_cast<std::int64_t>(facts_.hosts.size());
  // tables() looks up hosts by `from` and `to`, so ranks beyond the world size are refused here.
  if (!kind || ranks < 2 || ranks > kMostMeasuredRanks || bytes <= 0 || !alone || from >= world ||
      to >= world) {
    return false;
  }
  std::vector<Nanos> times;
  for (const JsonValue& item : alone->items) {
    if (const Nanos time = time_of(&item); time > 0) times.push_back(time);
  }
  if (times.empty()) return false;
  Curve key;
  key.collective = *kind;
  key.ranks = static_cast<std::int32_t>(ranks);
  key.from = static_cast<std::int32_t>(std::max<std::int64_t>(from, -1));
  key.to = static_cast<std::int32_t>(std::max<std::int64_t>(to, -1));
  Samples& samples = samples_of(key, bytes);
  samples.alone.insert(samples.alone.end(), times.begin(), times.end());
  if (const Nanos time = time_of(event.find("back_to_back_us"))) {
    samples.back_to_back.push_back(time);
  }
  if (const Nanos time = time_of(event.find("two_at_once_us"))) samples.two_at_once.push_back(time);
  progress_.collective = collective;
  progress_.bytes = bytes;
  progress_.pass = whole(event, "number");
  const JsonValue* left = event.find("left_s");
  progress_.seconds_left = left ? left->as_double().value_or(0) : 0;
  return true;
}

Calibration::Samples& Calibration::samples_of(const Curve& key, Bytes bytes) {
  auto curve = std::find_if(curves_.begin(), curves_.end(), [&](const Curve& c) {
    return c.collective == key.collective && c.ranks == key.ranks && c.from == key.from &&
           c.to == key.to;
  });
  if (curve == curves_.end()) curve = curves_.insert(curve, key);
  auto found = std::lower_bound(curve->samples.begin(), curve->samples.end(), bytes,
                                [](const Samples& s, Bytes size) { return s.bytes < size; });
  if (found == curve->samples.end() || found->bytes != bytes) {
    found = curve->samples.insert(found, {bytes, {}, {}, {}});
  }
  return *found;
}

std::vector<LinkRow> Calibration::rows_of(const Curve& curve) {
  std::vector<LinkRow> rows;
  for (const Samples& samples : curve.samples) {
    std::vector<Nanos> alone = samples.alone;
    LinkRow row;
    row.bytes = samples.bytes;
    row.alone = median(alone);
    row.shortest = *std::min_element(alone.begin(), alone.end());
    const Nanos high = quantile(alone, 0.75);
    row.spread = high - quantile(alone, 0.25);
    row.back_to_back = median(samples.back_to_back);
    row.two_at_once = median(samples.two_at_once);
    row.calls = static_cast<std::int64_t>(alone.size());
    row.time = expected_time(row.alone, row.back_to_back);
    rows.push_back(row);
  }
  return rows;
}

namespace {

/// Returns one row for each size. Each field of a row is the median over the pairs. So `spread` is
/// the usual spread within one pair. (The spread between pairs would mostly show that the pairs use
/// different links.)
std::vector<LinkRow> medians_over_pairs(const std::vector<LinkPair>& pairs) {
  const bool several_hosts =
      std::any_of(pairs.begin(), pairs.end(), [](const LinkPair& pair) { return !pair.same_host; });
  std::map<Bytes, std::vector<LinkRow>> by_size;
  for (const LinkPair& pair : pairs) {
    // The table is about the network, and messages within a host do not use the network.
    if (several_hosts && pair.same_host) continue;
    for (const LinkRow& row : pair.rows) by_size[row.bytes].push_back(row);
  }
  std::vector<LinkRow> rows;
  for (auto& [bytes, same_size] : by_size) {
    LinkRow row;
    row.bytes = bytes;
    const auto median_of = [&](Nanos LinkRow::*field) {
      std::vector<Nanos> values;
      for (const LinkRow& each : same_size) values.push_back(each.*field);
      return median(values);
    };
    row.alone = median_of(&LinkRow::alone);
    row.shortest = median_of(&LinkRow::shortest);
    row.spread = median_of(&LinkRow::spread);
    row.back_to_back = median_of(&LinkRow::back_to_back);
    row.time = expected_time(row.alone, row.back_to_back);
    for (const LinkRow& each : same_size) row.calls += each.calls;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::vector<LinkTable> Calibration::tables() const {
  std::vector<LinkTable> tables;
  for (const Curve& curve : curves_) {
    const bool is_pair = curve.from >= 0 && curve.to >= 0;
    // All pairs share one table. Its place in the list is the place of the first measured pair.
    auto table = std::find_if(tables.begin(), tables.end(), [&](const LinkTable& t) {
      return is_pair && t.collective == curve.collective && !t.pairs.empty();
    });
    if (table == tables.end()) {
      table = tables.insert(table, facts_);
      table->collective = curve.collective;
      table->ranks = curve.ranks;
    }
    if (is_pair) {
      const auto host = [&](std::int32_t rank) {
        return facts_.hosts[static_cast<std::size_t>(rank)];
      };
      table->pairs.push_back(
          {curve.from, curve.to, host(curve.from) == host(curve.to), rows_of(curve)});
    } else {
      table->rows = rows_of(curve);
    }
  }
  for (LinkTable& table : tables) {
    if (!table.pairs.empty()) table.rows = medians_over_pairs(table.pairs);
  }
  return tables;
}

}  // namespace weft::cost
