// SPDX-License-Identifier: Apache-2.0
// Checks that any input gives an Error or a cluster, and that printing and parsing the cluster
// gives the same cluster again.
#include <cstdint>

#include "testbed/cluster.h"
#include "testbed/layout.h"
#include "weft/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto cluster =
      testbed::parse_cluster({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!cluster) return 0;
  WEFT_CHECK(!cluster->hosts.empty() && cluster->hosts.size() <= testbed::Cluster::kMostHosts);
  const auto again = testbed::parse_cluster(testbed::print_cluster(*cluster), "again.json");
  WEFT_CHECK(again && *again == *cluster);
  for (const testbed::Host& host : cluster->hosts) {
    const std::string name = testbed::host_namespace(cluster->name, host.name);
    WEFT_CHECK(testbed::cluster_of_namespace(name) == cluster->name);
  }
  return 0;
}
