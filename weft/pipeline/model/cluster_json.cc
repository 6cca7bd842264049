// SPDX-License-Identifier: Apache-2.0
// Reads clusters from JSON: one object, a list of named objects, or the link tables of `weft
// calibrate`. A member may be a single number, which then holds for all devices or pairs. Otherwise
// it is a list with one number per device, or a matrix with one number per pair. Numbers are read
// as decimal text and scaled to integers, so that 0.1 us is exact.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"
#include "weft/base/utf8.h"
#include "weft/pipeline/model/cluster.h"
#include "weft/pipeline/model/cluster_table.h"

namespace weft::pipeline {
namespace {

/// The number times 10^digits; nullopt if the value is no number or does not fit into 64 bits.
std::optional<std::int64_t> scaled(const JsonValue& value, int digits) {
  return value.is_number() ? parse_scaled(value.text, digits) : std::nullopt;
}

/// Accepts 5 and 5.0, but not 5.5.
std::optional<std::int64_t> whole(const JsonValue& value) {
  const auto number = value.as_int();
  return number && static_cast<double>(*number) == value.as_double() ? number : std::nullopt;
}

tl::unexpected<Error> too_large(const char* what, const JsonValue& value) {
  // The JSON reader takes NaN for a number, because Python writes it.
  const char* why = value.text.ends_with("NaN") ? "not a number" : "too large";
  return bad_input(fmt::format("'{}' holds {}, which is {}", what, value.text, why));
}

/// Reads one number for all pairs, or one row per device. The diagonal stays 0.
Status read_matrix(const JsonValue& value, const char* what, int digits, std::int32_t devices,
                   std::vector<std::int64_t>& out) {
  const auto wrong = [&] {
    return bad_input(
        fmt::format("'{}' is neither a number nor {} rows of {} numbers", what, devices, devices));
  };
  const auto count = static_cast<std::size_t>(devices);
  out.assign(count * count, 0);
  const auto all = scaled(value, digits);
  if (!all && value.is_number()) return too_large(what, value);
  if (!all && value.items.size() != count) return wrong();
  for (std::size_t i = 0; i < count; ++i) {
    if (!all && value.items[i].items.size() != count) return wrong();
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const auto number = all ? all : scaled(value.items[i].items[j], digits);
      if (!number && value.items[i].items[j].is_number()) {
        return too_large(what, value.items[i].items[j]);
      }
      if (!number) return wrong();
      out[i * count + j] = *number;
    }
  }
  return {};
}

/// Reads one number for all devices, or a list with one number per device.
template <class T, class Read>
Status read_list(const JsonValue& value, const char* what, std::vector<T>& out, Read read) {
  const bool all = value.is_number();
  if (!all && value.items.size() != out.size()) {
    return bad_input(fmt::format(
        "'{}' is neither a number nor a list of {} numbers, one per device", what, out.size()));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const JsonValue& item = all ? value : value.items[i];
    const auto number = read(item);
    if (!number && item.is_number()) return too_large(what, item);
    if (!number) return bad_input(fmt::format("'{}' holds a value that is not a number", what));
    out[i] = *number;
  }
  return {};
}

Result<std::vector<std::int32_t>> read_side(const JsonValue& value) {
  std::vector<std::int32_t> side;
  const auto wrong = [] {
    return bad_input("'between' of a shared link must be two lists of device numbers");
  };
  if (!value.is_array() || value.items.empty()) return wrong();
  for (const JsonValue& item : value.items) {
    const auto device = whole(item);
    // check_cluster() checks later that the device exists. This limit only keeps the cast safe.
    if (!device || *device < 0 || *device > 1'000'000) return wrong();
    side.push_back(static_cast<std::int32_t>(*device));
  }
  std::sort(side.begin(), side.end());
  return side;
}

}  // namespace

Result<Cluster> read_cluster(const JsonValue& value) {
  const JsonValue* devices = value.find("devices");
  const auto count = devices ? whole(*devices) : std::nullopt;
  if (!count || *count < 1 || *count > Cluster::kMostDevices) {
    return bad_input(
        fmt::format("'devices' must be a whole number from 1 to {}", Cluster::kMostDevices));
  }
  Cluster cluster = uniform_cluster(static_cast<std::int32_t>(*count), 0);
  if (const JsonValue* name = value.find("name")) cluster.name = printable(name->text);
  const JsonValue* bandwidth = value.find("bandwidth");
  if (!bandwidth && *count > 1) return bad_input("'bandwidth' is missing");
  if (bandwidth) {
    WEFT_TRY(read_matrix(*bandwidth, "bandwidth", 0, cluster.devices, cluster.bandwidth));
  }
  if (const JsonValue* latency = value.find("latency_us")) {
    WEFT_TRY(read_matrix(*latency, "latency_us", 3, cluster.devices, cluster.latency));
  }
  if (const JsonValue* latency = value.find("latency_ns")) {
    WEFT_TRY(read_matrix(*latency, "latency_ns", 0, cluster.devices, cluster.latency));
  }
  if (const JsonValue* speed = value.find("speed")) {
    WEFT_TRY(read_list(*speed, "speed", cluster.speed,
                       [](const JsonValue& item) { return item.as_double(); }));
  }
  if (const JsonValue* memory = value.find("memory_gb")) {
    WEFT_TRY(read_list(*memory, "memory_gb", cluster.memory,
                       [](const JsonValue& item) { return scaled(item, 9); }));
  }
  if (const JsonValue* memory = value.find("memory_bytes")) {
    WEFT_TRY(read_list(*memory, "memory_bytes", cluster.memory,
                       [](const JsonValue& item) { return scaled(item, 0); }));
  }
  if (const JsonValue* shared = value.find("shared_links")) {
    if (!shared->is_array()) return bad_input("'shared_links' must be a list");
    for (const JsonValue& item : shared->items) {
      SharedLink link;
      const JsonValue* between = item.find("between");
      const JsonValue* rate = item.find("bytes_per_s");
      const auto bytes = rate ? scaled(*rate, 0) : std::nullopt;
      if (!between || between->items.size() != 2 || !bytes) {
        return bad_input(
            "a shared link must be {\"between\": [[devices], [devices]], \"bytes_per_s\": N}");
      }
      WEFT_ASSIGN(link.one, read_side(between->items[0]));
      WEFT_ASSIGN(link.other, read_side(between->items[1]));
      link.bandwidth = *bytes;
      cluster.shared.push_back(std::move(link));
    }
  }
  return cluster;
}

namespace {

std::string_view name_of(const JsonValue& value) {
  const JsonValue* name = value.find("name");
  return name ? std::string_view(name->text) : std::string_view();
}

/// Selects the cluster named `wanted`. Without a name the file must hold exactly one cluster. A
/// name must match even if the file holds only one cluster, so that a typo is not ignored.
Result<Cluster> choose(const JsonValue& root, const std::string& file, std::string_view wanted) {
  const JsonValue* list = root.find("clusters");
  std::vector<const JsonValue*> clusters;
  if (list && !list->is_array()) return bad_input("'clusters' must be a list");
  if (list) {
    for (const JsonValue& item : list->items) clusters.push_back(&item);
  } else {
    clusters.push_back(&root);
  }
  if (clusters.empty()) return bad_input("the list 'clusters' is empty");
  if (clusters.size() == 1 && wanted.empty()) return read_cluster(*clusters.front());
  std::vector<std::string_view> names;
  for (const JsonValue* cluster : clusters) {
    names.push_back(name_of(*cluster));
    if (names.back() == wanted) return read_cluster(*cluster);
  }
  const std::string why = wanted.empty() ? "the file holds several clusters"
                                         : fmt::format("the file holds no cluster '{}'", wanted);
  return fail(ErrorCode::kUsage,
              fmt::format("{}; write {}#NAME with one of {}", why, file, fmt::join(names, ", ")));
}

Result<Cluster> read_any(std::string_view json, const std::string& file, std::string_view wanted) {
  WEFT_ASSIGN(const JsonValue root, parse_json(json, file));
  // A file of link tables is a list, or an object with the member 'collective'. A file of clusters
  // is an object without this member.
  const bool table = root.is_array() || root.find("collective");
  if (!table) return choose(root, file, wanted);
  WEFT_ASSIGN(const auto tables, cost::parse_links(json, file));
  return cluster_of(tables);
}

}  // namespace

Result<Cluster> parse_cluster(std::string_view json, const std::string& file,
                              std::string_view wanted) {
  Result<Cluster> cluster = read_any(json, file, wanted);
  Status checked = cluster ? check_cluster(*cluster) : Status(tl::unexpected(cluster.error()));
  if (!checked) {
    Error error = checked.error();
    if (error.file.empty()) error.file = file;
    return tl::unexpected(std::move(error));
  }
  if (cluster->name.empty()) cluster->name = file;
  return cluster;
}

Result<Cluster> cluster_of(const std::vector<cost::LinkTable>& tables) {
  const auto measured =
      std::find_if(tables.begin(), tables.end(),
                   [](const cost::LinkTable& table) { return !table.pairs.empty(); });
  if (measured == tables.end()) {
    return bad_input(
        "no link table has pairs; measure them with weft calibrate --collectives send_recv");
  }
  std::int32_t devices = 0;
  for (const cost::LinkPair& pair : measured->pairs) {
    devices = std::max({devices, pair.from + 1, pair.to + 1});
  }
  // Subtracting the smallest message removes the latency from the time of the largest one.
  const auto rate = [](const std::vector<cost::LinkRow>& rows) {
    const Nanos time =
        std::max<Nanos>(rows.back().time - (rows.size() > 1 ? rows.front().time : 0), 1);
    return static_cast<std::int64_t>(static_cast<double>(rows.back().bytes) * 1e9 /
                                     static_cast<double>(time));
  };
  Cluster cluster = uniform_cluster(devices, rate(measured->rows), measured->latency());
  cluster.name = measured->network;
  // The first pass writes each measured pair to the opposite direction, the second pass to its own
  // direction. So a measured direction wins, and an unmeasured one gets the value of its opposite.
  for (const bool forwards : {false, true}) {
    for (const cost::LinkPair& pair : measured->pairs) {
      if (pair.rows.empty() || pair.from == pair.to) continue;
      const std::size_t at = static_cast<std::size_t>(forwards ? pair.from : pair.to) * devices +
                             (forwards ? pair.to : pair.from);
      cluster.bandwidth[at] = rate(pair.rows);
      cluster.latency[at] = pair.rows.front().time;
    }
  }
  return cluster;
}

}  // namespace weft::pipeline
