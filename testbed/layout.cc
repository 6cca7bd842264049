// SPDX-License-Identifier: Apache-2.0
#include "testbed/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::testbed {
namespace {

// Links are limited by tbf, the token bucket filter of Linux. If its bucket is smaller than one
// large segment (64 kB), tbf drops packets. If the bucket is much larger, short messages pass
// without any limit. So the bucket holds the bytes that the link carries in two milliseconds (1/500
// s), but at least and at most the constants below.
constexpr std::int64_t kBurstsPerSecond = 500;
constexpr std::int64_t kSmallestBurst = 64 << 10;
constexpr std::int64_t kLargestBurst = 512 << 10;

std::string port(std::size_t host) { return fmt::format("port{}", host); }

std::string shaping(const std::string& device, std::int64_t rate) {
  // "replace" instead of "add", so that the commands also change the rate of a link that exists.
  if (rate == 0) return fmt::format("qdisc replace dev {} root noqueue\n", device);
  const std::int64_t burst = std::clamp(rate / 8 / kBurstsPerSecond, kSmallestBurst, kLargestBurst);
  return fmt::format("qdisc replace dev {} root tbf rate {}bit burst {}b latency 50ms\n", device,
                     rate, burst);
}

}  // namespace

std::string switch_namespace(const std::string& cluster) {
  return std::string(kNamespacePrefix) + cluster;
}

std::string host_namespace(const std::string& cluster, const std::string& host) {
  return fmt::format("{}{}.{}", kNamespacePrefix, cluster, host);
}

std::string cluster_of_namespace(std::string_view name_space) {
  if (!name_space.starts_with(kNamespacePrefix)) return "";
  name_space.remove_prefix(kNamespacePrefix.size());
  return std::string(name_space.substr(0, name_space.find('.')));
}

std::string address(std::size_t host) { return fmt::format("10.77.0.{}", host + 1); }

std::string hosts_file(const Cluster& cluster) {
  std::string text = "127.0.0.1 localhost\n::1 localhost\n";
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    text += fmt::format("{} {}\n", address(i), cluster.hosts[i].name);
  }
  return text;
}

std::string making_namespaces(const Cluster& cluster) {
  const std::string center = switch_namespace(cluster.name);
  std::string commands = fmt::format("netns add {}\n", center);
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    const std::string host = host_namespace(cluster.name, cluster.hosts[i].name);
    commands += fmt::format("netns add {}\n", host);
    commands += fmt::format("link add {} netns {} type veth peer name {} netns {}\n", kInterface,
                            host, port(i), center);
  }
  return commands;
}

std::string making_switch(const Cluster& cluster) {
  std::string commands = "link add bridge type bridge\nlink set bridge up\n";
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    commands += fmt::format("link set {} master bridge up\n", port(i));
  }
  return commands;
}

std::string making_host(std::size_t index) {
  return fmt::format("link set lo up\naddr add {}/16 dev {}\nlink set {} up\n", address(index),
                     kInterface, kInterface);
}

std::string shaping_host(const Host& host) { return shaping(kInterface, host.rate); }

std::string shaping_switch(const Cluster& cluster) {
  std::string commands;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    commands += shaping(port(i), cluster.hosts[i].rate);
  }
  return commands;
}

}  // namespace weft::testbed
