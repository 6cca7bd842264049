// SPDX-License-Identifier: Apache-2.0
// The description of a cluster: its hosts, their links to one switch, and deliberate faults such as
// slow cores or wrong clocks. docs/formats/cluster.md documents its format.
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
  std::vector<int> pinned_to;  ///< cores that its processes may use; empty: all of the machine
  int cores = 0;               ///< limit of its CPU time, in cores; 0: no limit
  int speed_permille = 1000;   ///< its share of the CPU time of its cores, in thousandths
  std::int64_t rate = 0;       ///< of its link, per direction, in bits per second; 0: no limit
  Clock clock;

  bool operator==(const Host&) const = default;
};

enum class Kind {
  kNamespaces,  ///< every host is a network namespace with its own link, name and clock
  kOneGpu,      ///< ranks share one GPU; each has its own host id, so NCCL treats them as hosts
};

struct Cluster {
  static constexpr int kVersion = 1;
  static constexpr std::size_t kMostHosts = 250;

  std::string name;
  Kind kind = Kind::kNamespaces;
  bool mps = true;  ///< kOneGpu: kernels of different ranks run at the same time (CUDA MPS)
  std::vector<Host> hosts;

  bool operator==(const Cluster&) const = default;
};

/// `name` is the name of the file, for messages. It is also the name of the cluster if the text has
/// no field "name". Unknown fields, invalid host names and values out of range are Errors of
/// kBadInput.
Result<Cluster> parse_cluster(std::string_view text, const std::string& name);
/// JSON text that parse_cluster() reads back as the same cluster.
std::string print_cluster(const Cluster& cluster);

/// Whether the text is the short form of a cluster: "4x1gbit" is four equal hosts, "4x" is four
/// hosts with links of unlimited rate.
bool is_short_form(std::string_view text);
/// Reads a cluster in the short form or from a file.
Result<Cluster> read_cluster(const std::string& text_or_path);

/// These functions change a cluster for one run, as the command line asks: "HOST=VALUE" changes one
/// host, and "VALUE" all hosts. Errors are of kUsage.
Status set_speed(Cluster& cluster, std::string_view setting);
Status set_rate(Cluster& cluster, std::string_view setting);
Status set_clock(Cluster& cluster, std::string_view setting);

/// The index of the host with this name. If there is none, an Error of kUsage that suggests the
/// most similar name.
Result<std::size_t> find_host(const Cluster& cluster, std::string_view name);

}  // namespace weft::testbed
