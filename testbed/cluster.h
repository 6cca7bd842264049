// SPDX-License-Identifier: Apache-2.0
// What a cluster is made of: hosts, the links between them and one switch, and what is wrong with
// them on purpose. Format: docs/formats/cluster.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "testbed/quantity.h"
#include "weft/base/result.h"

namespace weft::testbed {

struct Host {
  std::string name;
  std::vector<int> pinned_to;  ///< cores its processes may run on; empty: all of the machine
  int cores = 0;               ///< CPU time of so many cores at most; 0: no limit
  int speed_permille = 1000;   ///< below 1000 the host gets that part of its cores' time
  std::int64_t rate = 0;       ///< of its link, each way, in bits a second; 0: as fast as it goes
  Clock clock;

  bool operator==(const Host&) const = default;
};

enum class Kind {
  kNamespaces,  ///< every host a network namespace with its own link, name and clock
  kOneGpu,      ///< ranks on one GPU whom NCCL takes for hosts, since each has its own host id
};

struct Cluster {
  static constexpr int kVersion = 1;
  static constexpr std::size_t kMostHosts = 250;

  std::string name;
  Kind kind = Kind::kNamespaces;
  bool mps = true;  ///< kOneGpu: kernels of the ranks run side by side, each with its share
  std::vector<Host> hosts;

  bool operator==(const Cluster&) const = default;
};

/// `name` stands for the file in messages; without a name of its own the cluster gets that of the
/// file. Unknown fields, names that cannot be host names and values out of range are Errors.
Result<Cluster> parse_cluster(std::string_view text, const std::string& name);
/// Complete JSON text that parse_cluster() reads back as the same cluster.
std::string print_cluster(const Cluster& cluster);

/// Whether the text is a cluster in short: "4x1gbit" is four equal hosts, "4x" with links as fast
/// as they go.
bool is_short_form(std::string_view text);
/// From the short form, or from a file.
Result<Cluster> read_cluster(const std::string& text_or_path);

/// What is to be different for one run: "HOST=VALUE", or "VALUE" for all hosts. Errors are kUsage.
Status set_speed(Cluster& cluster, std::string_view setting);
Status set_rate(Cluster& cluster, std::string_view setting);
Status set_clock(Cluster& cluster, std::string_view setting);

/// Index of the host, or an Error (kUsage) with the nearest name.
Result<std::size_t> find_host(const Cluster& cluster, std::string_view name);

}  // namespace weft::testbed
