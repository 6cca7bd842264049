// SPDX-License-Identifier: Apache-2.0
// How a cluster is laid out on the machine: the names of its namespaces, its addresses, and the
// commands for ip and tc that make it. Nothing here touches the machine.
//
// The switch is a namespace with a bridge, every host a namespace with one link to it, shaped at
// both ends. A cluster is an island: nothing leads out of it, so all clusters use the same
// addresses, and names of links are known inside their namespace alone.
#pragma once

#include <string>
#include <string_view>

#include "testbed/cluster.h"

namespace weft::testbed {

inline constexpr const char* kInterface = "eth0";       ///< the link of a host, inside it
inline constexpr const char* kSubnet = "10.77.0.0/16";  ///< of every cluster

/// What the names of all namespaces begin with.
inline constexpr std::string_view kNamespacePrefix = "weft-testbed.";

std::string switch_namespace(const std::string& cluster);
std::string host_namespace(const std::string& cluster, const std::string& host);
/// The cluster that a namespace belongs to; empty if it is none of ours.
std::string cluster_of_namespace(std::string_view name_space);

/// "10.77.0.1" of the first host.
std::string address(std::size_t host);
/// Content of /etc/hosts, the same on all hosts.
std::string hosts_file(const Cluster& cluster);

// Commands, one a line, as the batch modes of ip and tc take them.

/// ip, on the machine: the namespaces, and the links between them.
std::string making_namespaces(const Cluster& cluster);
/// ip, inside the switch: a bridge with a port for every host.
std::string making_switch(const Cluster& cluster);
/// ip, inside the host of that index: its address.
std::string making_host(std::size_t index);
/// tc, inside the host: its end of the link. May be repeated with another rate.
std::string shaping_host(const Host& host);
/// tc, inside the switch: its end of every link.
std::string shaping_switch(const Cluster& cluster);

}  // namespace weft::testbed
