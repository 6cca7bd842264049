// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/model/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "weft/base/file.h"

namespace weft::pipeline {
namespace {

constexpr double kSlowest = 1e-6, kFastest = 1e6;  ///< what times are still told exactly with

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
    if (!(cluster.speed[i] >= kSlowest && cluster.speed[i] <= kFastest)) {
      return bad(fmt::format("device {} has a speed of {}; that of a usual device is 1", i,
                             cluster.speed[i]));
    }
    if (cluster.memory[i] < 0) return bad(fmt::format("device {} has a negative memory", i));
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
    for (std::int32_t near = 0; near < cluster.devices; ++near) {
      for (std::int32_t far = 0; reached[near] && far < cluster.devices; ++far) {
        const bool there = cluster.bandwidth_of(near, far) > 0;
        if (reached[far] || there == (cluster.bandwidth_of(far, near) > 0)) continue;
        return fail(ErrorCode::kInfeasible,
                    fmt::format("the cluster is not connected: between devices {} and {} messages "
                                "go one way only, from {}, and a pipeline sends results there and "
                                "gradients back; give 'bandwidth' of the other direction, too",
                                near, far, there ? near : far));
      }
    }
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
  std::error_code ignored;  // words may be longer than any name of a file
  if (!std::filesystem::exists(file, ignored)) {
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
