// SPDX-License-Identifier: Apache-2.0
// Computes how a cluster is laid out on the machine: the names of its namespaces, its addresses,
// and the commands for ip and tc that make it. No function here changes the machine.
//
// The switch is a namespace with a bridge. Every host is a namespace with one link (a veth pair) to
// the bridge; both ends limit what they send. No route leads out of a cluster, so all clusters use
// the same addresses. Names of interfaces need to be unique only within a namespace.
#pragma once

#include <string>
#include <string_view>

#include "testbed/cluster.h"

namespace weft::testbed {

inline constexpr const char* kInterface = "eth0";       ///< name of a host's network interface
inline constexpr const char* kSubnet = "10.77.0.0/16";  ///< the same for every cluster

/// The prefix of all namespaces of Weft.
inline constexpr std::string_view kNamespacePrefix = "weft-testbed.";

std::string switch_namespace(const std::string& cluster);
std::string host_namespace(const std::string& cluster, const std::string& host);
/// The cluster that a namespace belongs to; empty if Weft did not make the namespace.
std::string cluster_of_namespace(std::string_view name_space);

/// The address of the host with this index: 0 has "10.77.0.1".
std::string address(std::size_t host);
/// The content of /etc/hosts, which is the same on all hosts.
std::string hosts_file(const Cluster& cluster);

// Commands for the batch modes of ip and tc, one per line.

/// For ip on the machine: makes the namespaces and the links between them.
std::string making_namespaces(const Cluster& cluster);
/// For ip inside the switch: makes a bridge with a port per host.
std::string making_switch(const Cluster& cluster);
/// For ip inside the host with this index: sets its address.
std::string making_host(std::size_t index);
/// For tc inside the host: limits its end of the link. May be repeated to change the rate.
std::string shaping_host(const Host& host);
/// For tc inside the switch: limits its end of every link. May be repeated to change the rates.
std::string shaping_switch(const Cluster& cluster);

}  // namespace weft::testbed
