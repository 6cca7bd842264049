// SPDX-License-Identifier: Apache-2.0
// Checks clusters, and decides whether the value of `--cluster` is a description or the name of a
// file. cluster_description.cc reads descriptions, and cluster_json.cc reads files.
#include "weft/pipeline/model/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "weft/base/file.h"

namespace weft::pipeline {
namespace {

/// Limits for the speed of a device. With a speed outside of these limits, times in whole
/// nanoseconds would be too imprecise or would overflow.
constexpr double kSlowest = 1e-6, kFastest = 1e6;

}  // namespace

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

Status check_cluster(const Cluster& cluster) {
  const auto count = static_cast<std::size_t>(cluster.devices);
  const auto bad = [&](std::string what) { return fail(ErrorCode::kBadInput, std::move(what)); };
  if (cluster.devices < 1 || cluster.devices > Cluster::kMostDevices)
    return bad(fmt::format("a cluster has 1 to {} devices", Cluster::kMostDevices));
  if (cluster.bandwidth.size() != count * count || cluster.latency.size() != count * count ||
      cluster.speed.size() != count || cluster.memory.size() != count) {
    return bad("a list of the cluster does not have one entry per device");
  }
  for (std::size_t i = 0; i < count * count; ++i) {
    if (cluster.bandwidth[i] < 0 || cluster.latency[i] < 0) {
      return bad("a bandwidth or latency is negative");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!(cluster.speed[i] >= kSlowest && cluster.speed[i] <= kFastest)) {
      return bad(fmt::format("device {} has a speed of {}; speeds are factors around 1", i,
                             cluster.speed[i]));
    }
    if (cluster.memory[i] < 0) return bad(fmt::format("device {} has negative memory", i));
  }
  for (const SharedLink& link : cluster.shared) {
    if (link.bandwidth < 1) return bad("a shared link has no bandwidth");
    for (const auto* side : {&link.one, &link.other}) {
      for (const std::int32_t device : *side) {
        if (device < 0 || device >= cluster.devices) {
          return bad(fmt::format("a shared link names device {}, which does not exist", device));
        }
      }
    }
  }
  // Find all devices that device 0 can reach, directly or through other devices. A pipeline sends
  // results forward and gradients back, so a pair counts as connected only if it has bandwidth in
  // both directions.
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
    // The likely mistake is a pair that has bandwidth in one direction only. So if there is such a
    // pair, the Error names the pair instead of the device that cannot be reached.
    for (std::int32_t near = 0; near < cluster.devices; ++near) {
      for (std::int32_t far = 0; reached[near] && far < cluster.devices; ++far) {
        const bool there = cluster.bandwidth_of(near, far) > 0;
        if (reached[far] || there == (cluster.bandwidth_of(far, near) > 0)) continue;
        return fail(ErrorCode::kInfeasible,
                    fmt::format("the cluster is not connected: between devices {} and {} messages "
                                "go one way only, from {}, but a pipeline sends results forward "
                                "and gradients back; give 'bandwidth' for the other direction, too",
                                near, far, there ? near : far));
      }
    }
    return fail(ErrorCode::kInfeasible,
                fmt::format("the cluster is not connected: no links join device 0 and device {}, "
                            "directly or through other devices",
                            lost - reached.begin()));
  }
  return {};
}

Result<Cluster> open_cluster(const std::string& text) {
  const std::size_t hash = text.rfind('#');
  const std::string file = text.substr(0, hash);
  // This overload of exists() does not throw. The overload without an error code would throw for a
  // long description, because it is not a valid file name.
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    // "no such file" helps more here than an error about a malformed description.
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
