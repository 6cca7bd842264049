// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/launches.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::trace {
namespace {

TEST(Launches, DeviceWorkFindsTheCallWithItsCorrelation) {
  MadeRank rank(0, 1);
  const auto call = rank.runtime(100, 10, 7);
  const auto kernel = rank.kernel("gemm", 500, 50, 7);
  const auto second = rank.kernel("gemm", 600, 50, 7);  // a graph launch starts several
  const auto orphan = rank.kernel("gemm", 90, 50, 6);   // launched before the window
  const Launches launches = resolve_launches(rank.trace);
  EXPECT_EQ(launches.launcher[kernel], call);
  EXPECT_EQ(launches.launcher[second], call);
  EXPECT_EQ(launches.launcher[orphan], kNone);
  EXPECT_EQ(launches.launcher[call], kNone);
}

TEST(Launches, ParentIsTheInnermostRangeAroundACall) {
  MadeRank rank(0, 1);
  const auto step = rank.annotation("ProfilerStep#1", 0, 1000);
  const auto op = rank.host("aten::add", 100, 100);
  const auto call = rank.runtime(150, 10, 1);
  const auto after = rank.runtime(200, 10, 2);  // starts when the op ends
  const auto outside = rank.runtime(1000, 10, 3);
  const Launches launches = resolve_launches(rank.trace);
  EXPECT_EQ(launches.parent[step], kNone);
  EXPECT_EQ(launches.parent[op], step);
  EXPECT_EQ(launches.parent[call], op);
  EXPECT_EQ(launches.parent[after], step);
  EXPECT_EQ(launches.parent[outside], kNone);
}

TEST(Launches, RangesThatStartTogetherNestByLengthThenByFileOrder) {
  MadeRank rank(0, 1);
  const auto inner = rank.host("inner", 100, 50);
  const auto outer = rank.host("outer", 100, 80);
  const auto twin = rank.host("twin", 100, 50);
  const auto call =
      rank.runtime(100, 90, 1);  // after rounding, it starts with its op and ends after it
  const Launches launches = resolve_launches(rank.trace);
  EXPECT_EQ(launches.parent[outer], kNone);
  EXPECT_EQ(launches.parent[inner], outer);
  EXPECT_EQ(launches.parent[twin], inner);
  EXPECT_EQ(launches.parent[call], twin);
}

TEST(Launches, QueuedCollectivesAreServedInOrderByKind) {
  MadeRank rank(0, 2);
  const auto before = rank.annotation("gloo:all_reduce", 50, 20);  // queued before the window
  const auto first = rank.host("c10d::allreduce_", 100, 10);
  const auto other = rank.host("c10d::broadcast_", 120, 10);
  const auto second = rank.host("c10d::allreduce_", 140, 10);
  const auto a = rank.annotation("gloo:all_reduce", 150, 500);
  const auto b = rank.annotation("gloo:broadcast", 160, 50);
  const auto c = rank.annotation("gloo:all_reduce", 650, 50);
  const Launches launches = resolve_launches(rank.trace);
  EXPECT_EQ(launches.launcher[before], kNone);
  EXPECT_EQ(launches.launcher[a], first);
  EXPECT_EQ(launches.launcher[b], other);
  EXPECT_EQ(launches.launcher[c], second);
}

}  // namespace
}  // namespace weft::trace
