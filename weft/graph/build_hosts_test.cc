// SPDX-License-Identifier: Apache-2.0
// Tests of build() with ranks that compute on the CPUs of their host.
#include <gtest/gtest.h>

#include "weft/graph/made_recording.h"
#include "weft/graph/names.h"
#include "weft/graph/plain_replay.h"

namespace weft::graph {
namespace {

/// Two ranks without device. Each runs a forward and a backward with one gradient. Then gloo
/// all-reduces the gradient on a separate thread. An optimizer waits for the all-reduce. Rank 1
/// computes `late` longer than rank 0.
struct TwoHosts {
  Made made;

  explicit TwoHosts(Nanos late) {
    const Nanos over = 400 * us + late;
    std::vector<trace::Member> members;
    for (std::uint32_t r = 0; r < 2; ++r) {
      const Nanos more = r == 1 ? late : 0;
      Rank rank(static_cast<std::int32_t>(r), 2);
      rank.step(3, 0, 900 * us);
      rank.annotation("forward pass", 5 * us, 100 * us + more);
      rank.host("aten::linear", 10 * us, 90 * us + more);
      rank.host("aten::addmm", 20 * us, 70 * us + more);  // within linear
      rank.host("evaluate gradient", 110 * us + more, 100 * us);
      rank.host(std::string(kGradientReady), 120 * us + more, 40 * us);
      const auto reduce =
          rank.annotation("gloo:all_reduce", 165 * us + more, over - 165 * us - more);
      rank.on_thread(reduce, 99);
      rank.host("aten::add_", over + 30 * us, 50 * us);
      members.push_back({r, reduce});
      made.add(rank);
    }
    made.match(trace::CollectiveKind::kAllReduce, members);
    made.build();
  }
};

TEST(Build, WithoutDeviceOutermostOpsAreWork) {
  const TwoHosts two(0);
  const Graph& graph = two.made.graph;
  EXPECT_EQ(graph.ops.duration[two.made.op("aten::linear")], 90 * us);
  for (OpId op = 0; op < graph.size(); ++op) {
    EXPECT_NE(graph.name(op), "aten::addmm");
    EXPECT_NE(graph.name(op), "forward pass");
  }
  // The op is cut where the gradient becomes ready. Together, its two pieces are as long as the
  // whole op.
  EXPECT_EQ(graph.ops.duration[two.made.op("evaluate gradient", 0, 0)], 50 * us);
  EXPECT_EQ(graph.ops.duration[two.made.op("evaluate gradient", 0, 1)], 50 * us);
}

TEST(Build, WithoutDeviceCollectivesFollowGradientsAndWorkFollowsCollectives) {
  const TwoHosts two(80 * us);
  const Graph& graph = two.made.graph;
  const OpId transfer = two.made.transfer();
  EXPECT_EQ(graph.ops.recorded_start[transfer], 245 * us);  // when rank 1 is there
  EXPECT_EQ(graph.ops.duration[transfer], 235 * us);
  for (const std::int32_t rank : {0, 1}) {
    const OpId arrival = two.made.op("gloo:all_reduce", rank);
    EXPECT_EQ(graph.ops.kind[arrival], OpKind::kArrive);
    EXPECT_TRUE(two.made.edge(two.made.op(kGradientReady, rank), arrival));
    EXPECT_TRUE(two.made.edge(transfer, two.made.op("aten::add_", rank)));
  }
  Graph faster = graph;
  faster.ops.duration[two.made.op("aten::linear", 1)] -= 80 * us;
  const OpId last = two.made.op("aten::add_");
  EXPECT_EQ(plain_ends(graph)[last] - plain_ends(faster)[last], 80 * us);
}

TEST(Build, ServerAnswersWorkersOneAfterAnother) {
  Made made;
  std::vector<trace::Member> members;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Rank rank(static_cast<std::int32_t>(r), 2);
    const Nanos over = r == 0 ? 300 * us : 450 * us;
    rank.host("backward", 10 * us, 90 * us);
    const auto exchange = rank.annotation("KVStoreDistPushPull", 100 * us, over - 100 * us);
    rank.on_thread(exchange, 99);
    rank.host("update", over + 30 * us, 50 * us);
    members.push_back({r, exchange});
    made.add(rank);
  }
  made.match(trace::CollectiveKind::kPushPull, members);
  made.build();
  ASSERT_EQ(made.graph.collectives.size(), 2u);
  EXPECT_EQ(made.graph.ops.duration[made.transfer(0)], 200 * us);
  EXPECT_EQ(made.graph.ops.duration[made.transfer(1)], 150 * us);
  EXPECT_TRUE(made.edge(made.transfer(0), made.transfer(1)));
  EXPECT_TRUE(made.edge(made.transfer(0), made.op("update", 0)));
  EXPECT_TRUE(made.edge(made.transfer(1), made.op("update", 1)));
  EXPECT_FALSE(made.edge(made.transfer(0), made.op("update", 1)));
}

/// Two ranks without device. Each queues two all-reduces, which run at the same time on two threads
/// and end at `first` and `second`. The optimizer begins at `optimizer`.
struct TwoQueues {
  Made made;

  TwoQueues(Nanos first, Nanos second, Nanos optimizer, Nanos late_record = 0) {
    std::vector<trace::Member> one, two;
    for (std::uint32_t r = 0; r < 2; ++r) {
      Rank rank(static_cast<std::int32_t>(r), 2);
      rank.step(3, 0, 900 * us);
      rank.host("aten::linear", 10 * us, 80 * us);
      rank.host("c10d::allreduce_", 100 * us, 10 * us);
      rank.host("aten::mm", 115 * us, 80 * us);
      rank.host("c10d::allreduce_", 200 * us, 10 * us);
      const auto a = rank.annotation("gloo:all_reduce", 110 * us, first - 110 * us);
      const auto b = rank.annotation("gloo:all_reduce", 210 * us,
                                     second + (r == 0 ? late_record : 0) - 210 * us);
      rank.on_thread(a, 98);
      rank.on_thread(b, 99);
      rank.annotation("Optimizer.step#SGD.step", optimizer, 60 * us);
      rank.host("aten::add_", optimizer + 5 * us, 50 * us);
      one.push_back({r, a});
      two.push_back({r, b});
      made.add(rank);
    }
    made.match(trace::CollectiveKind::kAllReduce, one);
    made.match(trace::CollectiveKind::kAllReduce, two);
    made.build();
  }

  OpId transfer(std::size_t i) const { return made.graph.collectives[i].transfer; }
};

TEST(Build, CollectivesOfSeveralThreadsShareTheNetwork) {
  const TwoQueues two(300 * us, 400 * us, 410 * us);
  const Ops& ops = two.made.graph.ops;
  EXPECT_EQ(ops.duration[two.transfer(0)], 190 * us);
  EXPECT_EQ(ops.duration[two.transfer(1)], 100 * us) << "while the first went on it had half";
  // The first runs alone from 110 to 210 and has half of the network from 210 to 300. Then the
  // second runs alone.
  EXPECT_EQ(two.made.graph.collectives[0].alone, 145 * us);
  EXPECT_EQ(two.made.graph.collectives[1].alone, 145 * us);
  EXPECT_TRUE(two.made.edge(two.transfer(0), two.transfer(1)));
  const OpId launch = two.made.op("c10d::allreduce_");
  EXPECT_EQ(ops.kind[launch], OpKind::kLaunch);
  EXPECT_TRUE(two.made.edge(launch, two.made.op("gloo:all_reduce")));
}

TEST(Build, OptimizerWaitsForCollectivesEvenIfTheyAreHidden) {
  const TwoQueues two(240 * us, 260 * us, 500 * us);
  const OpId add = two.made.op("aten::add_");
  EXPECT_TRUE(two.made.edge(two.transfer(0), add));
  EXPECT_TRUE(two.made.edge(two.transfer(1), add));
}

TEST(Build, CollectiveIsOverWhenItsWaitingThreadContinues) {
  const TwoQueues two(300 * us, 400 * us, 400 * us, 40 * us);
  const Graph& graph = two.made.graph;
  EXPECT_TRUE(two.made.edge(two.transfer(1), two.made.op("aten::add_", 0)));
  Graph faster = graph;
  faster.ops.duration[two.transfer(1)] -= 50 * us;
  const OpId last = two.made.op("aten::add_", 0);
  EXPECT_EQ(plain_ends(graph)[last] - plain_ends(faster)[last], 50 * us);
}

}  // namespace
}  // namespace weft::graph
