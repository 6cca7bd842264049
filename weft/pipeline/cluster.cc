// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "weft/base/decimal.h"
#include "weft/base/file.h"

namespace weft::pipeline {
namespace {

/// What a kind of device is joined with inside a host, one direction, and holds.
struct DeviceKind {
  std::string_view name;
  std::int64_t nvlink;  ///< 0: has none
  std::int64_t pcie;
  Bytes memory;
};

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr DeviceKind kDeviceKinds[] = {{"gb200", 900 * kGiga, 50 * kGiga, 186 * kGiga},
                                       {"b200", 900 * kGiga, 50 * kGiga, 180 * kGiga},
                                       {"h200", 450 * kGiga, 50 * kGiga, 141 * kGiga},
                                       {"h100", 450 * kGiga, 50 * kGiga, 80 * kGiga},
                                       {"h800", 200 * kGiga, 50 * kGiga, 80 * kGiga},
                                       {"a100", 300 * kGiga, 25 * kGiga, 80 * kGiga},
                                       {"a800", 200 * kGiga, 25 * kGiga, 80 * kGiga},
                                       {"v100", 150 * kGiga, 12 * kGiga, 32 * kGiga},
                                       {"p100", 80 * kGiga, 12 * kGiga, 16 * kGiga},
                                       {"l40s", 0, 25 * kGiga, 48 * kGiga},
                                       {"l4", 0, 25 * kGiga, 24 * kGiga},
                                       {"a10", 0, 25 * kGiga, 24 * kGiga},
                                       {"t4", 0, 12 * kGiga, 16 * kGiga},
                                       {"rtx3090", 0, 25 * kGiga, 24 * kGiga},
                                       {"rtx4090", 0, 25 * kGiga, 24 * kGiga}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// What the words of a description add up to.
struct Draft {
  std::int64_t per_host = 0, hosts = 1, inside = 0, between = 0;
  const DeviceKind* kind = nullptr;
  bool pcie = false;
  Bytes memory = 0;
  Nanos latency = 0;
};

/// "8x", "8" before "devices" or "hosts".
std::optional<std::int64_t> count_of(std::string_view word) {
  if (word.ends_with('x')) word.remove_suffix(1);
  const auto count = parse_int(word);
  return count && *count > 0 && *count <= Cluster::kMostDevices ? count : std::nullopt;
}

bool take_part(Draft& draft, std::string_view part) {
  const std::vector<std::string_view> words = split(part, ' ');
  if (const auto rate = parse_link_rate(part)) {
    (draft.per_host > 0 && (draft.kind || draft.inside > 0) ? draft.between : draft.inside) = *rate;
    return true;
  }
  const std::string whole = lower(part);
  if (words.size() == 1 && whole.ends_with("us")) {
    const auto latency = parse_scaled(part.substr(0, part.size() - 2), 3);
    if (latency) draft.latency = *latency;
    return latency && *latency >= 0;
  }
  if (words.size() == 1 && whole.ends_with("gb")) {
    const auto memory = parse_scaled(part.substr(0, part.size() - 2), 9);
    if (memory) draft.memory = *memory;
    return memory && *memory > 0;
  }
  const auto count = count_of(words.front());
  if (!count || words.size() < 2) return false;
  const std::string second = lower(words[1]);
  if (second.starts_with("host") || second.starts_with("node")) {
    draft.hosts = *count;
    return words.size() == 2;
  }
  draft.per_host = *count;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = lower(words[i]);
    const auto kind = std::find_if(std::begin(kDeviceKinds), std::end(kDeviceKinds),
                                   [&](const DeviceKind& known) { return known.name == word; });
    if (kind != std::end(kDeviceKinds))
      draft.kind = kind;
    else if (word == "pcie")
      draft.pcie = true;
    else if (word != "nvlink" && word != "nvswitch" && !word.starts_with("device") &&
             !word.starts_with("gpu"))
      return false;
  }
  return true;
}

std::vector<std::int32_t> numbers(std::int64_t first, std::int64_t last) {
  std::vector<std::int32_t> list;
  for (std::int64_t i = first; i < last; ++i) list.push_back(static_cast<std::int32_t>(i));
  return list;
}

}  // namespace

std::optional<std::int64_t> parse_link_rate(std::string_view text) {
  std::string squeezed;
  for (const char c : text) {
    if (c != ' ') squeezed += c;
  }
  std::string_view number = squeezed;
  const bool a_second = number.ends_with("/s") || number.ends_with("ps");
  if (a_second) number.remove_suffix(2);
  bool bits = false;
  if (number.ends_with("bit") || number.ends_with("bits")) {
    bits = true;
    number.remove_suffix(number.ends_with('s') ? 4 : 3);
  } else if (number.ends_with('b')) {
    bits = true;
    number.remove_suffix(1);
  } else if (number.ends_with('B')) {
    if (!a_second) return std::nullopt;  // a size
    number.remove_suffix(1);
  } else if (a_second) {
    return std::nullopt;
  }
  const bool plain = number.size() == squeezed.size();
  int digits = 0;
  if (!plain && !number.empty()) {
    const std::size_t place = std::string_view("KMGT").find(
        static_cast<char>(std::toupper(static_cast<unsigned char>(number.back()))));
    if (place != std::string_view::npos) {
      digits = 3 * (static_cast<int>(place) + 1);
      number.remove_suffix(1);
    }
  }
  // Counts of devices are plain numbers, too; a plain rate has an exponent or a decimal point.
  if (plain && number.find_first_of("eE.") == std::string_view::npos) return std::nullopt;
  const auto rate = parse_scaled(number, digits);
  if (!rate || *rate < (bits ? 8 : 1)) return std::nullopt;
  return bits ? *rate / 8 : *rate;
}

Cluster uniform_cluster(std::int32_t devices, std::int64_t bandwidth, Nanos latency) {
  Cluster cluster;
  cluster.devices = devices;
  const std::size_t count = static_cast<std::size_t>(devices) * devices;
  cluster.bandwidth.assign(count, bandwidth);
  cluster.latency.assign(count, latency);
  for (std::int32_t i = 0; i < devices; ++i) {
    cluster.bandwidth[static_cast<std::size_t>(i) * devices + i] = 0;
    cluster.latency[static_cast<std::size_t>(i) * devices + i] = 0;
  }
  cluster.speed.assign(devices, 1.0);
  cluster.memory.assign(devices, 0);
  return cluster;
}

Result<Cluster> describe_cluster(std::string_view text) {
  Draft draft;
  bool understood = true;
  for (const std::string_view part : split(text, ',')) understood &= take_part(draft, part);
  const std::int64_t count = draft.per_host * draft.hosts;
  if (draft.kind && draft.inside == 0) {
    draft.inside = draft.pcie || draft.kind->nvlink == 0 ? draft.kind->pcie : draft.kind->nvlink;
  }
  if (draft.hosts > 1 && draft.between == 0 && !draft.kind) std::swap(draft.between, draft.inside);
  const bool alone = draft.per_host == 1;
  if (!understood || count < 1 || count > Cluster::kMostDevices || (draft.inside == 0 && !alone) ||
      (draft.hosts > 1 && draft.between == 0)) {
    return fail(ErrorCode::kUsage,
                fmt::format("'{}' describes no cluster, and there is no such file; write "
                            "'8x H100 nvlink, 4 hosts, 400Gb' or '4 devices, 12.5GB/s'",
                            text));
  }
  Cluster cluster = uniform_cluster(static_cast<std::int32_t>(count), draft.inside, draft.latency);
  cluster.name = text;
  const Bytes memory = draft.memory > 0 ? draft.memory : draft.kind ? draft.kind->memory : 0;
  cluster.memory.assign(count, memory);
  if (draft.hosts == 1) return cluster;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      if (i / draft.per_host != j / draft.per_host)
        cluster.bandwidth[i * count + j] = draft.between;
    }
  }
  if (alone) return cluster;
  for (std::int64_t first = 0; first < count; first += draft.per_host) {
    SharedLink nic;
    nic.one = numbers(first, first + draft.per_host);
    nic.other = numbers(0, first);
    const auto rest = numbers(first + draft.per_host, count);
    nic.other.insert(nic.other.end(), rest.begin(), rest.end());
    nic.bandwidth = draft.between;
    cluster.shared.push_back(std::move(nic));
    if (draft.hosts == 2) break;  // the second NIC carries just what the first does
  }
  return cluster;
}

Status check_cluster(const Cluster& cluster) {
  const auto count = static_cast<std::size_t>(cluster.devices);
  const auto bad = [&](std::string what) { return fail(ErrorCode::kBadInput, std::move(what)); };
  if (cluster.devices < 1 || cluster.devices > Cluster::kMostDevices)
    return bad("it has no devices");
  if (cluster.bandwidth.size() != count * count || cluster.latency.size() != count * count ||
      cluster.speed.size() != count || cluster.memory.size() != count) {
    return bad("its lists are not as long as it has devices");
  }
  for (std::size_t i = 0; i < count * count; ++i) {
    if (cluster.bandwidth[i] < 0 || cluster.latency[i] < 0) {
      return bad("a bandwidth or latency is negative");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!(cluster.speed[i] > 0) || cluster.memory[i] < 0) {
      return bad(fmt::format("device {} has no speed above 0, or a negative memory", i));
    }
  }
  for (const SharedLink& link : cluster.shared) {
    if (link.bandwidth < 1) return bad("a shared link has no bandwidth");
    for (const auto* side : {&link.one, &link.other}) {
      for (const std::int32_t device : *side) {
        if (device < 0 || device >= cluster.devices) {
          return bad(fmt::format("a shared link names device {}, which is not there", device));
        }
      }
    }
  }
  // A pipeline sends both ways, so a link that carries one way only joins nothing.
  std::vector<bool> reached(count, false);
  std::vector<std::int32_t> open{0};
  reached[0] = true;
  while (!open.empty()) {
    const std::int32_t from = open.back();
    open.pop_back();
    for (std::int32_t to = 0; to < cluster.devices; ++to) {
      if (reached[to] || cluster.bandwidth_of(from, to) == 0 || cluster.bandwidth_of(to, from) == 0)
        continue;
      reached[to] = true;
      open.push_back(to);
    }
  }
  const auto lost = std::find(reached.begin(), reached.end(), false);
  if (lost != reached.end()) {
    return fail(ErrorCode::kInfeasible,
                fmt::format("the cluster is not connected: nothing joins device 0 and device {}, "
                            "directly or through others",
                            lost - reached.begin()));
  }
  return {};
}

Result<Cluster> open_cluster(const std::string& text) {
  const std::size_t hash = text.rfind('#');
  const std::string file = text.substr(0, hash);
  if (!std::filesystem::exists(file)) {
    if (text.ends_with(".json")) return fail(ErrorCode::kNotFound, "there is no such file", text);
    WEFT_ASSIGN(Cluster cluster, describe_cluster(text));
    return cluster;
  }
  WEFT_ASSIGN(const std::string content, read_file(file));
  return parse_cluster(
      content, file,
      hash == std::string::npos ? std::string_view() : std::string_view(text).substr(hash + 1));
}

}  // namespace weft::pipeline
