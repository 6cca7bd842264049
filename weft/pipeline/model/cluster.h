// SPDX-License-Identifier: Apache-2.0
// The devices a model can be put on: how fast each is, what it can hold, and what lies between each
// two of them. Any matrix will do; links that several pairs share, such as the NIC of a host, are
// told apart from those a pair has for itself. Formats: docs/formats/pipeline.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft {
struct JsonValue;
}

namespace weft::pipeline {

/// Everything from one side to the other shares the bandwidth, each direction for itself.
struct SharedLink {
  std::vector<std::int32_t> one, other;  ///< devices, sorted
  std::int64_t bandwidth = 0;            ///< bytes a second
};

struct Cluster {
  static constexpr std::int64_t kMostDevices = 4096;  ///< every pair has two numbers of its own

  std::string name;
  std::int32_t devices = 0;
  std::vector<std::int64_t> bandwidth;  ///< bytes a second, row of the sender; 0: no link
  std::vector<Nanos> latency;           ///< likewise
  std::vector<double> speed;            ///< of each device; layers take their time divided by it
  std::vector<Bytes> memory;            ///< of each device; 0: no limit
  std::vector<SharedLink> shared;

  std::int64_t bandwidth_of(std::int32_t from, std::int32_t to) const {
    return bandwidth[static_cast<std::size_t>(from) * devices + to];
  }
  Nanos latency_of(std::int32_t from, std::int32_t to) const {
    return latency[static_cast<std::size_t>(from) * devices + to];
  }
};

/// "400Gb", "100 Gbit/s", "25GB/s", "12.5e9": bytes a second.
std::optional<std::int64_t> parse_link_rate(std::string_view text);

/// n devices of speed 1 without limits, any two of them joined alike.
Cluster uniform_cluster(std::int32_t devices, std::int64_t bandwidth, Nanos latency = 0);

/// "8x H100 nvlink, 4 hosts, 400Gb"; "4 devices, 12.5GB/s". kUsage where it is nothing like that.
Result<Cluster> describe_cluster(std::string_view text);

/// What `--cluster` takes: a description, or a file: an object, a list of named ones (FILE#NAME
/// takes one of them), or link tables of `weft calibrate` with pairs.
Result<Cluster> open_cluster(const std::string& text);
Result<Cluster> parse_cluster(std::string_view json, const std::string& file,
                              std::string_view wanted);
/// One object of such a file, which check_cluster() has not seen.
Result<Cluster> read_cluster(const JsonValue& value);

/// Sizes fit, nothing is negative, and every device can be reached from every other one, directly
/// or not (kInfeasible).
Status check_cluster(const Cluster& cluster);

}  // namespace weft::pipeline
