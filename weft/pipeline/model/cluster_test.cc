// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/model/cluster.h"

#include <gtest/gtest.h>

namespace weft::pipeline {
namespace {

std::string why(const Result<Cluster>& cluster) {
  return cluster ? "no error" : cluster.error().text();
}

TEST(Cluster, RatesAreBitsOrBytes) {
  EXPECT_EQ(parse_link_rate("400Gb"), 50'000'000'000);
  EXPECT_EQ(parse_link_rate("100 Gbit/s"), 12'500'000'000);
  EXPECT_EQ(parse_link_rate("25GB/s"), 25'000'000'000);
  EXPECT_EQ(parse_link_rate("12.5e9"), 12'500'000'000);
  EXPECT_FALSE(parse_link_rate("80GB")) << "a memory size";
  EXPECT_FALSE(parse_link_rate("8")) << "a count of devices";
  EXPECT_FALSE(parse_link_rate("fast"));
}

TEST(Cluster, ADescriptionGivesDevicesHostsAndTheSharedNicOfEachHost) {
  const auto cluster = describe_cluster("8x H100 nvlink, 4 hosts, 400Gb");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->devices, 32);
  EXPECT_EQ(cluster->bandwidth_of(0, 7), 450'000'000'000);
  EXPECT_EQ(cluster->bandwidth_of(7, 8), 50'000'000'000);
  EXPECT_EQ(cluster->memory[5], 80'000'000'000);
  ASSERT_EQ(cluster->shared.size(), 4u);
  EXPECT_EQ(cluster->shared[1].one.front(), 8);
  EXPECT_EQ(cluster->shared[1].other.size(), 24u);
  EXPECT_TRUE(check_cluster(*cluster));

  const auto plain = describe_cluster("4 devices, 12.5GB/s, 5us, 16GB");
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plain->bandwidth_of(3, 0), 12'500'000'000);
  EXPECT_EQ(plain->latency_of(1, 2), 5000);
  EXPECT_EQ(plain->memory[0], 16'000'000'000);
  EXPECT_TRUE(plain->shared.empty());

  for (const auto& [memory, bytes] : {std::pair<std::string, Bytes>{"100MB", 100'000'000},
                                      {"512MiB", 512 << 20},
                                      {"80 GB", 80'000'000'000},
                                      {"1.5GiB", 3 << 29}}) {
    const auto sized = describe_cluster("2 devices, 1GB/s, " + memory);
    ASSERT_TRUE(sized) << sized.error().text();
    EXPECT_EQ(sized->memory[1], bytes) << memory;
  }

  const auto single = describe_cluster("1x A100, 8 hosts, 100Gb");
  ASSERT_TRUE(single) << single.error().text();
  EXPECT_EQ(single->devices, 8);
  EXPECT_EQ(single->bandwidth_of(0, 1), 12'500'000'000);
  EXPECT_EQ(describe_cluster("8x H100")->bandwidth_of(0, 1), 450'000'000'000) << "NVLink";
  EXPECT_EQ(describe_cluster("8x H100 pcie")->bandwidth_of(0, 1), 50'000'000'000);
  EXPECT_EQ(describe_cluster("8x L4")->bandwidth_of(0, 1), 25'000'000'000) << "has no NVLink";
  EXPECT_EQ(describe_cluster("1 device")->devices, 1);
}

TEST(Cluster, ErrorsNameThePartOfTheDescriptionThatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "and there is no such file: the number of devices is missing"},
      {"lab", "and there is no such file: 'lab' is not a part of a cluster description"},
      {"8x H100 nvlink, 4 hosts",
       "no rate is given between the 4 hosts; add the rate of their NICs"},
      {"8x H100 nvlink, 400Gb", "there is a NIC rate but only one host"},
      {"4 devices", "no rate is given between the devices of a host; add one"},
      {"4 devices, 2 hosts, 1GB/s", "no rate is given between the devices of a host"},
      {"8x L4 nvlink", "L4 has no NVLink; write '8x L4'"},
      {"8x H300", "Weft does not know the device 'H300' (it knows GB200, B200, H200"},
      {"0x H100", "'0x' is not a number from 1 to 4096"},
      {"8x H100, 4 hosts here, 1GB/s", "'4 hosts here' is not a number of hosts"},
      {"4 devices, 1GB/s, -5us", "'-5us' is not a latency; write 5us"},
      {"4 devices, 1GB/s, -5GB", "'-5GB' is not a memory size; write 80GB"},
      {"4 devices, 1GB/s, 0MB", "'0MB' is not a memory size"},
      {"4000x H100, 2 hosts, 1GB/s", "at most 4096 devices"},
      {"400Gb", "the number of devices is missing"}};
  for (const auto& [text, says] : wrong) {
    const auto cluster = describe_cluster(text);
    EXPECT_NE(why(cluster).find(says), std::string::npos) << text << ": " << why(cluster);
    EXPECT_EQ(cluster.error().code, ErrorCode::kUsage);
  }
}

TEST(Cluster, JsonHoldsNumbersOrMatricesAndANameSelectsOneCluster) {
  const char* two = R"({"clusters": [
    {"name": "a", "devices": 2, "bandwidth": 1e9},
    {"name": "b", "devices": 2, "bandwidth": [[0, 5], [6, 0]], "latency_us": 1.5, "speed": [1, 0.5],
     "memory_gb": 2, "shared_links": [{"between": [[0], [1]], "bytes_per_s": 4}]}]})";
  const auto cluster = parse_cluster(two, "c.json", "b");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->bandwidth_of(0, 1), 5);
  EXPECT_EQ(cluster->bandwidth_of(1, 0), 6);
  EXPECT_EQ(cluster->latency_of(0, 1), 1500);
  EXPECT_EQ(cluster->speed[1], 0.5);
  EXPECT_EQ(cluster->memory[1], 2'000'000'000);
  EXPECT_EQ(cluster->shared[0].bandwidth, 4);
  EXPECT_EQ(why(parse_cluster(two, "c.json", "")),
            "c.json: the file holds several clusters; write c.json#NAME with one of a, b");
  EXPECT_EQ(why(parse_cluster(two, "c.json", "nope")),
            "c.json: the file holds no cluster 'nope'; write c.json#NAME with one of a, b");
  const char* one = R"({"name": "a", "devices": 2, "bandwidth": 1e9})";
  EXPECT_EQ(why(parse_cluster(one, "c.json", "a")), "no error");
  EXPECT_EQ(why(parse_cluster(one, "c.json", "b")),
            "c.json: the file holds no cluster 'b'; write c.json#NAME with one of a");
  EXPECT_NE(
      why(parse_cluster(R"({"devices": 2, "bandwidth": [[0], [1, 0]]})", "c", "")).find("2 rows"),
      std::string::npos);
}

TEST(Cluster, ErrorsNameDevicesThatNoLinksJoin) {
  const auto apart = parse_cluster(
      R"({"devices": 3, "bandwidth": [[0, 1, 0], [1, 0, 1], [0, 0, 0]]})", "c.json", "");
  ASSERT_FALSE(apart);
  EXPECT_EQ(apart.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(apart.error().message.find("devices 1 and 2 messages go one way only, from 1,"),
            std::string::npos)
      << apart.error().message;
  EXPECT_NE(why(parse_cluster(R"({"devices": 3, "bandwidth": [[0, 1, 0], [1, 0, 0], [0, 0, 0]]})",
                              "c.json", ""))
                .find("no links join device 0 and device 2"),
            std::string::npos);
}

TEST(Cluster, ErrorsNameNumbersThatAreTooLarge) {
  for (const char* field :
       {R"("bandwidth": 1e300)", R"("bandwidth": [[0, 1], [1e300, 0]])",
        R"("bandwidth": 1, "latency_us": 1e300)", R"("bandwidth": 1, "memory_gb": 1e300)",
        R"("bandwidth": 1, "memory_bytes": [1, 1e300])"}) {
    const auto cluster =
        parse_cluster(std::string(R"({"devices": 2, )") + field + "}", "c.json", "");
    EXPECT_NE(why(cluster).find("holds 1e300, which is too large"), std::string::npos)
        << why(cluster);
  }
  const auto cluster = parse_cluster(R"({"devices": 2, "bandwidth": NaN})", "c.json", "");
  EXPECT_NE(why(cluster).find("holds NaN, which is not a number"), std::string::npos)
      << why(cluster);
}

TEST(Cluster, EachMeasuredPairHasItsOwnRate) {
  const auto cluster = parse_cluster(
      R"({"collective": "send_recv", "ranks": 2, "rows": [{"bytes": 1000, "median_us": 10},
          {"bytes": 1001000, "median_us": 1010}], "pairs": [
          {"from": 0, "to": 1, "same_host": false,
           "rows": [{"bytes": 1000, "median_us": 5}, {"bytes": 1000000, "median_us": 105}]}]})",
      "links.json", "");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->devices, 2);
  EXPECT_EQ(cluster->latency_of(0, 1), 5000);
  EXPECT_EQ(cluster->bandwidth_of(0, 1), 10'000'000'000);
  EXPECT_EQ(cluster->bandwidth_of(1, 0), 10'000'000'000)
      << "not measured: takes the rate of the opposite direction";
}

}  // namespace
}  // namespace weft::pipeline
