// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/measured_link.h"

#include <gtest/gtest.h>

namespace weft::reshard {
namespace {

TEST(MeasuredLink, TheBandwidthOfAnAllToAllCountsOnlyReceivedBytes) {
  const auto tables = cost::parse_links(
      R"([{"collective": "send_recv", "ranks": 2, "rows": [{"bytes": 8, "median_us": 3}]},
          {"collective": "all_to_all", "ranks": 4, "rows": [{"bytes": 1024, "median_us": 20},
           {"bytes": 4000000, "median_us": 300}]}])",
      "test");
  ASSERT_TRUE(tables);
  const auto link = link_of(*tables);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->step, 20'000'000);
  EXPECT_EQ(link->bandwidth, 10'000'000'000);
}

TEST(MeasuredLink, SendRecvTablesAreAcceptedAndOthersRefused) {
  const auto messages = cost::parse_links(
      R"({"collective": "send_recv", "ranks": 2, "rows": [{"bytes": 1000000, "median_us": 50}]})",
      "test");
  EXPECT_EQ(link_of(*messages)->bandwidth, 20'000'000'000);
  const auto other = cost::parse_links(
      R"({"collective": "all_reduce", "ranks": 2, "rows": [{"bytes": 1000000, "median_us": 50}]})",
      "test");
  EXPECT_FALSE(link_of(*other));
}

}  // namespace
}  // namespace weft::reshard
