// SPDX-License-Identifier: Apache-2.0
#include "testbed/cluster.h"

#include <gtest/gtest.h>

namespace weft::testbed {
namespace {

TEST(Cluster, NumberOfHostsAndOneRateAreEnough) {
  const auto cluster = parse_cluster(R"({"hosts": 3, "rate": "1gbit"})", "/tmp/lab.json");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->name, "lab");
  ASSERT_EQ(cluster->hosts.size(), 3u);
  EXPECT_EQ(cluster->hosts[2].name, "host2");
  EXPECT_EQ(cluster->hosts[2].rate, 1'000'000'000);
}

TEST(Cluster, HostsOverrideWhatHoldsForAll) {
  const auto cluster = parse_cluster(R"({"name": "odd", "rate": "1gbit", "hosts": [
      {"name": "a", "cores": [0, 1], "speed": 0.5},
      {"cores": 2, "rate": "100mbit", "clock": "+50ms,50ppm"}]})",
                                     "x.json");
  ASSERT_TRUE(cluster) << cluster.error().text();
  const Host& first = cluster->hosts[0];
  EXPECT_EQ(first.pinned_to, (std::vector<int>{0, 1}));
  EXPECT_EQ(first.speed_permille, 500);
  EXPECT_EQ(first.rate, 1'000'000'000);
  const Host& second = cluster->hosts[1];
  EXPECT_EQ(second.name, "host1");
  EXPECT_EQ(second.cores, 2);
  EXPECT_EQ(second.rate, 100'000'000);
  EXPECT_EQ(second.clock, (Clock{50 * kMillisecond, 50'000}));
}

TEST(Cluster, PrintedClustersReadBackAsTheSame) {
  const auto cluster = parse_cluster(
      R"({"name": "g", "kind": "one-gpu", "mps": false, "hosts": [{"speed": 0.25, "cores": [1]},
          {"name": "b", "cores": 3, "clock": "-1ns"}]})",
      "x.json");
  ASSERT_TRUE(cluster) << cluster.error().text();
  const auto again = parse_cluster(print_cluster(*cluster), "y.json");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *cluster);
}

TEST(Cluster, WrongDescriptionsAreRefusedWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "object"},
      {R"({})", "'hosts'"},
      {R"({"hosts": 0})", "1 to 250"},
      {R"({"hosts": 251})", "1 to 250"},
      {R"({"hosts": []})", "1 to 250"},
      {R"({"hosts": [3]})", "must be a JSON object"},
      {R"({"hosts": 2, "rat": "1gbit"})", "did you mean 'rate'?"},
      {R"({"hosts": 2, "hosts": 2})", "twice"},
      {R"({"hosts": 2, "cluster_version": 2})", "version 1"},
      {R"({"hosts": 2, "rate": 5})", "1gbit"},
      {R"({"hosts": 2, "name": "a/b"})", "cannot name a cluster"},
      {R"({"hosts": 2, "name": "-a"})", "cannot name a cluster"},
      {R"({"hosts": 2, "kind": "vm"})", "one-gpu"},
      {R"({"hosts": 2, "mps": 1})", "true or false"},
      {R"({"hosts": [{"name": "a.b"}]})", "cannot name a host"},
      {R"({"hosts": [{"name": "localhost"}]})", "cannot name a host"},
      {R"({"hosts": [{"name": "host1"}, {}]})", "two hosts"},
      {R"({"hosts": [{"speed": 2}]})", "at most 1"},
      {R"({"hosts": [{"cores": 0}]})", "cores"},
      {R"({"hosts": [{"cores": [-1]}]})", "not a core number"},
      {R"({"hosts": [{"clock": 5}]})", "+50ms"},
      {R"({"hosts": 2, "kind": "one-gpu", "rate": "1gbit"})", "loopback"},
  };
  for (const auto& [text, reason] : cases) {
    const auto cluster = parse_cluster(text, "lab.json");
    ASSERT_FALSE(cluster) << text;
    EXPECT_EQ(cluster.error().code, ErrorCode::kBadInput);
    EXPECT_NE(cluster.error().text().find(reason), std::string::npos) << cluster.error().text();
    EXPECT_NE(cluster.error().text().find("lab.json"), std::string::npos);
  }
}

TEST(Cluster, ShortFormNamesHostsAndRate) {
  const auto cluster = read_cluster("4x2.5gbit");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->name, "4x2500mbit");
  ASSERT_EQ(cluster->hosts.size(), 4u);
  EXPECT_EQ(cluster->hosts[3].name, "host3");
  EXPECT_EQ(cluster->hosts[3].rate, 2'500'000'000);
  EXPECT_EQ(read_cluster("2x")->hosts[0].rate, 0);
  for (const char* other : {"x1gbit", "4", "4x1", "four", "4x1gbit.json", ""}) {
    EXPECT_FALSE(is_short_form(other)) << other;
  }
  EXPECT_FALSE(read_cluster("0x1gbit"));
}

TEST(Cluster, SettingsHitOneHostOrAll) {
  auto cluster = *read_cluster("2x1gbit");
  EXPECT_TRUE(set_speed(cluster, "host1=0.5"));
  EXPECT_EQ(cluster.hosts[0].speed_permille, 1000);
  EXPECT_EQ(cluster.hosts[1].speed_permille, 500);
  EXPECT_TRUE(set_rate(cluster, "500mbit"));
  EXPECT_EQ(cluster.hosts[0].rate, 500'000'000);
  EXPECT_EQ(cluster.hosts[1].rate, 500'000'000);
  EXPECT_TRUE(set_clock(cluster, "host0=-1ms"));
  EXPECT_EQ(cluster.hosts[0].clock.offset, -kMillisecond);
  EXPECT_EQ(set_speed(cluster, "host1=2").error().code, ErrorCode::kUsage);
  EXPECT_EQ(set_rate(cluster, "host1=fast").error().code, ErrorCode::kUsage);
  const auto unknown = set_clock(cluster, "hots1=1ms");
  EXPECT_NE(unknown.error().text().find("did you mean 'host1'?"), std::string::npos);
}

}  // namespace
}  // namespace weft::testbed
