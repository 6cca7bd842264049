// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/services.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::trace {
namespace {

using Job = Run;  // inside a test, Run is GoogleTest's

RankTrace trace_of(const std::string& file, Nanos epoch) {
  MadeRank rank(0, 1);
  rank.trace.file = file;
  rank.trace.epoch = epoch;
  rank.host("work", 0, kMillisecond);
  return std::move(rank.trace);
}

TEST(Services, AreToldByTheNamesOfTheirFiles) {
  EXPECT_TRUE(is_service_file("traces/server0.mxnet.json"));
  EXPECT_TRUE(is_service_file("server12.xplane.pb"));
  EXPECT_TRUE(is_service_file("traces/chief.xplane.pb"));
  EXPECT_FALSE(is_service_file("traces/r0.mxnet.json"));
  EXPECT_FALSE(is_service_file("server.json"));
  EXPECT_FALSE(is_service_file("server0-r1.json"));
  EXPECT_FALSE(is_service_file("server0/r1.json"));
}

TEST(Services, GoToTheRunBesideThem) {
  std::vector<Job> runs(2);
  runs[0].ranks.push_back(trace_of("a/r0.xplane.pb", 0));
  runs[1].ranks.push_back(trace_of("b/r0.xplane.pb", 0));
  std::vector<RankTrace> services;
  services.push_back(trace_of("b/server0.xplane.pb", 0));
  services.push_back(trace_of("c/server0.xplane.pb", 0));
  Diagnostics diagnostics;
  attach_services(runs, services, diagnostics);
  EXPECT_TRUE(runs[0].services.empty());
  ASSERT_EQ(runs[1].services.size(), 1u);
  EXPECT_EQ(runs[1].services[0].rank, -1);
  ASSERT_EQ(services.size(), 1u);
  EXPECT_EQ(services[0].file, "c/server0.xplane.pb");
}

TEST(Services, TheChiefLendsItsStepsToRanksThatMarkNone) {
  std::vector<Job> runs(1);
  runs[0].ranks.push_back(trace_of("r0.xplane.pb", 1000));
  runs[0].ranks.push_back(trace_of("r1.xplane.pb", 1000));
  runs[0].ranks[1].steps.push_back({7, 0, 0, 10});
  std::vector<RankTrace> services;
  services.push_back(trace_of("chief.xplane.pb", 1200));
  services[0].steps.push_back({4, 0, 100, 300});
  Diagnostics diagnostics;
  attach_services(runs, services, diagnostics);
  const RankTrace& rank = runs[0].ranks[0];
  ASSERT_EQ(rank.steps.size(), 1u);
  EXPECT_EQ(rank.steps[0].number, 4);
  EXPECT_EQ(rank.steps[0].start, 300);
  EXPECT_EQ(rank.steps[0].end, 500);
  EXPECT_FALSE(rank.lanes.at(rank.steps[0].lane).on_device);
  EXPECT_EQ(runs[0].ranks[1].steps[0].number, 7);
  EXPECT_EQ(diagnostics.count_of("steps-of-chief"), 1);
}

}  // namespace
}  // namespace weft::trace
