// SPDX-License-Identifier: Apache-2.0
// A cluster is the set of devices that a model can be placed on. It has the speed and memory of
// each device, and the bandwidth and latency between each pair of devices. The matrices may hold
// any values; they need not be symmetric. A link that several pairs share, such as the NIC of a
// host, is not part of the matrices: it is an element of `shared`. File formats:
// docs/formats/pipeline.md.
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

/// A link that all messages between two sets of devices use. Messages in the same direction share
/// the bandwidth; the two directions do not slow each other down.
struct SharedLink {
  std::vector<std::int32_t> one, other;  ///< the devices of each side, sorted
  std::int64_t bandwidth = 0;            ///< bytes per second in each direction
};

struct Cluster {
  /// The most devices that a cluster may have. The two matrices below have one entry per ordered
  /// pair of devices, so with this many devices they take 256 MiB together.
  static constexpr std::int64_t kMostDevices = 4096;

  std::string name;
  std::int32_t devices = 0;
  /// Bytes per second from the device of the row to the device of the column; 0: no link.
  std::vector<std::int64_t> bandwidth;
  std::vector<Nanos> latency;  ///< one value per ordered pair, in the same layout as `bandwidth`
  std::vector<double> speed;   ///< per device; a layer takes its profiled time divided by the speed
  std::vector<Bytes> memory;   ///< per device; 0: no limit
  std::vector<SharedLink> shared;

  std::int64_t bandwidth_of(std::int32_t from, std::int32_t to) const {
    return bandwidth[static_cast<std::size_t>(from) * devices + to];
  }
  Nanos latency_of(std::int32_t from, std::int32_t to) const {
    return latency[static_cast<std::size_t>(from) * devices + to];
  }
};

/// Reads "400Gb", "100 Gbit/s", "25GB/s" or "12.5e9" as bytes per second; nullopt for other text.
std::optional<std::int64_t> parse_link_rate(std::string_view text);

/// Devices of speed 1 without memory limits, and the same link between any two of them.
Cluster uniform_cluster(std::int32_t devices, std::int64_t bandwidth, Nanos latency = 0);

/// Builds a cluster from a description such as "8x H100 nvlink, 4 hosts, 400Gb" or "4 devices,
/// 12.5GB/s". Fails with kUsage for any other text.
Result<Cluster> describe_cluster(std::string_view text);

/// Reads the value of `--cluster`: a description as above, or the name of a file. The file holds
/// one cluster, a list of named clusters (FILE#NAME selects one), or link tables that `weft
/// calibrate` wrote. The tables must have times of single pairs of devices.
Result<Cluster> open_cluster(const std::string& text);
/// Reads the content of a cluster file. `wanted` is the name after '#' in FILE#NAME. It is empty if
/// there is no '#'.
Result<Cluster> parse_cluster(std::string_view json, const std::string& file,
                              std::string_view wanted);
/// Reads one cluster object of a cluster file. The caller has to run check_cluster() on it.
Result<Cluster> read_cluster(const JsonValue& value);

/// Checks that the lists have the right lengths, that nothing is negative, and that every device
/// can be reached from every other device, directly or through other devices. The Error is
/// kInfeasible if a device cannot be reached.
Status check_cluster(const Cluster& cluster);

}  // namespace weft::pipeline
