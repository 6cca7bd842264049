// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/communication.h"

#include <gtest/gtest.h>

#include "weft/predict/made_ddp.h"

namespace weft::predict {
namespace {

TEST(WithoutCommunication, NoRankWaitsForAnother) {
  Ddp uneven;
  uneven.backward_ms[1] = 20;
  EXPECT_EQ(end_of(uneven.graph(), "optimiser", 0), (81 + 40 + 5) * kMillisecond);
  const graph::Graph before = uneven.graph();
  const auto graph = graph::apply(before, without_communication(before));
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(graph::verify(*graph));
  EXPECT_EQ(end_of(*graph, "optimiser", 0), 46 * kMillisecond);
  EXPECT_EQ(end_of(*graph, "optimiser", 1), 86 * kMillisecond);
  for (const graph::Collective& c : graph->collectives) EXPECT_EQ(c.transfer, graph::kNoId);
}

TEST(WithoutCommunication, LaunchesOfCollectivesTakeNoTime) {
  Ddp tiny;  // with kernels of 0 ms, the device waits for the host
  tiny.backward_ms[0] = tiny.backward_ms[1] = 0;
  const graph::Graph before = tiny.graph();
  const auto graph = graph::apply(before, without_communication(before));
  ASSERT_TRUE(graph) << graph.error().text();
  // The remaining time is that of four launches of backward kernels, the launch of the optimiser
  // (1 ms each) and the optimiser itself.
  EXPECT_EQ(end_of(*graph, "optimiser", 0), (4 + 1 + 5) * kMillisecond);
}

TEST(WithoutCommunication, LongHostWorkBeforeEveryLaunchStays) {
  const auto recorded = graph::parse_text(R"(
lane cpu0 host 0
lane s0 stream 0
lane cpu1 host 1
lane s1 stream 1
lane net link -
step 1
b0: host cpu0 0 "step"
l0: launch cpu0 0 "enqueue" after b0+8ms
x0: arrive s0 0 "ALLREDUCE" after l0:launch
b1: host cpu1 0 "step"
l1: launch cpu1 0 "enqueue" after b1+30ms
x1: arrive s1 0 "ALLREDUCE" after l1:launch
t: transfer net 5ms after x0:collective, x1:collective
e0: host cpu0 0 "end" after l0, t
e1: host cpu1 0 "end" after l1, t
c: collective allreduce ranks=2 transfer=t arrivals=x0,x1
)");
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_EQ(end_of(*recorded, "end", 0), 35 * kMillisecond);
  const auto graph = graph::apply(*recorded, without_communication(*recorded));
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(end_of(*graph, "end", 0), 8 * kMillisecond);
  EXPECT_EQ(end_of(*graph, "end", 1), 30 * kMillisecond);
}

}  // namespace
}  // namespace weft::predict
