// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/what_if.h"

#include <gtest/gtest.h>

namespace weft::predict {
namespace {

WhatIf parse(std::string_view text) {
  const auto what_if = parse_what_if(text);
  EXPECT_TRUE(what_if) << what_if.error().text();
  return what_if.value();
}

std::string error_of(std::string_view text, const std::vector<std::string>& offered = {}) {
  const auto what_if = parse_what_if(text, offered);
  if (what_if) return "no error";
  EXPECT_EQ(what_if.error().code, ErrorCode::kUsage);
  return what_if.error().message;
}

TEST(WhatIf, FactorsAreReadWithAndWithoutX) {
  EXPECT_EQ(parse("network.bandwidth=2x").kind, WhatIf::Kind::kBandwidth);
  EXPECT_EQ(parse("network.bandwidth=2x").value, 2);
  EXPECT_EQ(parse("network.bandwidth=2").value, 2);
  EXPECT_EQ(parse("network.latency=0.5x").kind, WhatIf::Kind::kLatency);
  EXPECT_EQ(parse("network.latency=0.5X").value, 0.5);
  EXPECT_EQ(parse("compute=1.5x").kind, WhatIf::Kind::kCompute);
  EXPECT_EQ(parse("compute=1.5x").rank, -1);
}

TEST(WhatIf, ComputeOfOneRankCanChange) {
  const WhatIf what_if = parse("rank:12.compute=0.5x");
  EXPECT_EQ(what_if.kind, WhatIf::Kind::kCompute);
  EXPECT_EQ(what_if.rank, 12);
  EXPECT_EQ(what_if.value, 0.5);
  EXPECT_EQ(what_if.text, "rank:12.compute=0.5x");
}

TEST(WhatIf, ReadsSwitchesAndSizes) {
  EXPECT_EQ(parse("comm=off").kind, WhatIf::Kind::kCommOff);
  EXPECT_EQ(parse("stragglers=off").kind, WhatIf::Kind::kStragglersOff);
  EXPECT_EQ(parse("ddp.bucket_mb=25").kind, WhatIf::Kind::kBucket);
  EXPECT_EQ(parse("ddp.bucket_mb=0.5").caps, std::vector<double>{0.5});
  EXPECT_EQ(parse("ddp.buckets=2,8.5,40").caps, (std::vector<double>{2, 8.5, 40}));
  EXPECT_TRUE(parse("ddp.buckets=recorded").caps.empty());
}

TEST(WhatIf, EveryExampleCanBeParsed) {
  EXPECT_GE(what_if_keys().size(), 7u);
  for (const WhatIfKey& key : what_if_keys()) {
    EXPECT_TRUE(parse_what_if(key.example)) << key.example;
    EXPECT_NE(std::string(key.meaning), "");
  }
}

TEST(WhatIf, InvalidTextIsRefusedWithAListOfAllWhatIfs) {
  for (const char* text : {"",
                           "compute",
                           "=2x",
                           "speed=2x",
                           "network=2x",
                           "rank:2=2x",
                           "rank:x.compute=2x",
                           "rank:-1.compute=2x",
                           "rank:1.5.compute=2x",
                           "rank:2.network=2x",
                           "compute=",
                           "compute=x",
                           "compute=0x",
                           "compute=-1x",
                           "compute=nan",
                           "compute=inf",
                           "compute=2xx",
                           "compute=2 x",
                           "comm=on",
                           "stragglers=",
                           "ddp.bucket_mb=0",
                           "ddp.bucket_mb=-1",
                           "ddp.bucket_mb=25x",
                           "ddp.buckets=",
                           "ddp.buckets=2,,8",
                           "ddp.buckets=2,0",
                           "ddp.buckets=usual"}) {
    EXPECT_NE(error_of(text).find("ddp.bucket_mb=100"), std::string::npos) << text;
  }
}

TEST(WhatIf, RefusalNamesTheNearestKey) {
  EXPECT_NE(error_of("network.bandwith=2x").find("did you mean 'network.bandwidth'?"),
            std::string::npos);
  EXPECT_NE(error_of("ddp.bucketmb=25").find("did you mean 'ddp.bucket_mb'?"), std::string::npos);
  EXPECT_NE(error_of("rank:2.comptue=2x").find("did you mean 'rank:N.compute'?"),
            std::string::npos);
}

TEST(WhatIf, RefusalListsTheOfferedKeys) {
  const std::string message = error_of("speed=2x", {"compute", "comm"});
  EXPECT_NE(message.find("can answer: compute, comm"), std::string::npos) << message;
  EXPECT_EQ(message.find("ddp.bucket_mb"), std::string::npos) << message;
}

}  // namespace
}  // namespace weft::predict
