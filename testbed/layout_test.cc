// SPDX-License-Identifier: Apache-2.0
#include "testbed/layout.h"

#include <gtest/gtest.h>

namespace weft::testbed {
namespace {

Cluster pair_of_hosts() {
  Cluster cluster = *read_cluster("2x1gbit");
  cluster.name = "lab";
  return cluster;
}

TEST(Layout, EveryHostHasItsNamespaceAndOneLinkToTheSwitch) {
  EXPECT_EQ(making_namespaces(pair_of_hosts()),
            "netns add weft-testbed.lab\n"
            "netns add weft-testbed.lab.host0\n"
            "link add eth0 netns weft-testbed.lab.host0 type veth"
            " peer name port0 netns weft-testbed.lab\n"
            "netns add weft-testbed.lab.host1\n"
            "link add eth0 netns weft-testbed.lab.host1 type veth"
            " peer name port1 netns weft-testbed.lab\n");
  EXPECT_EQ(making_switch(pair_of_hosts()),
            "link add bridge type bridge\nlink set bridge up\n"
            "link set port0 master bridge up\nlink set port1 master bridge up\n");
  EXPECT_EQ(making_host(1), "link set lo up\naddr add 10.77.0.2/16 dev eth0\nlink set eth0 up\n");
}

TEST(Layout, LinksAreShapedAtBothEnds) {
  Cluster cluster = pair_of_hosts();
  cluster.hosts[1].rate = 100'000'000;
  EXPECT_EQ(shaping_host(cluster.hosts[0]),
            "qdisc replace dev eth0 root tbf rate 1000000000bit burst 250000b latency 50ms\n");
  EXPECT_EQ(shaping_switch(cluster),
            "qdisc replace dev port0 root tbf rate 1000000000bit burst 250000b latency 50ms\n"
            "qdisc replace dev port1 root tbf rate 100000000bit burst 65536b latency 50ms\n");
  cluster.hosts[0].rate = 0;
  EXPECT_EQ(shaping_host(cluster.hosts[0]), "qdisc replace dev eth0 root noqueue\n");
}

TEST(Layout, NamespacesTellTheirCluster) {
  EXPECT_EQ(cluster_of_namespace(host_namespace("lab-2", "a")), "lab-2");
  EXPECT_EQ(cluster_of_namespace(switch_namespace("lab-2")), "lab-2");
  EXPECT_EQ(cluster_of_namespace("weft-something"), "");
  EXPECT_EQ(cluster_of_namespace("lab"), "");
}

TEST(Layout, HostsFindEachOtherByName) {
  EXPECT_EQ(hosts_file(pair_of_hosts()),
            "127.0.0.1 localhost\n::1 localhost\n10.77.0.1 host0\n10.77.0.2 host1\n");
}

}  // namespace
}  // namespace weft::testbed
