// SPDX-License-Identifier: Apache-2.0
// Tests of edits.h with a synthetic data-parallel step. In this step, gradients become ready one
// after the other. At the end, one all-reduce carries all gradients, and the optimiser waits for
// it.
#include "weft/predict/edits.h"

#include <gtest/gtest.h>

#include "weft/graph/plain_replay.h"
#include "weft/graph/text.h"

namespace weft::predict {
namespace {

constexpr Bytes kMega = 1'000'000;

struct Ddp {
  std::vector<Bytes> gradients = {10 * kMega, 10 * kMega, 10 * kMega, 10 * kMega};
  Bytes reduced = 40 * kMega;
  int backward_ms[2] = {10, 10};  ///< duration of one backward kernel, by rank

  graph::Graph graph() const {
    std::string text;
    for (const char* rank : {"0", "1"}) {
      const std::string r = rank;
      text += "lane cpu" + r + " host " + r + "\nlane s" + r + " stream " + r + "\nlane n" + r +
              " stream " + r + "\n";
    }
    text += "lane net link -\nstep 1\n";
    for (const int rank : {0, 1}) text += rank_text(rank);
    text += "t: transfer net 40ms at=41ms took=40ms after x0:collective, x1:collective\n";
    for (const char* r : {"0", "1"}) {
      text += std::string("o") + r + ": kernel s" + r +
              " 5ms \"optimiser\" at=81ms took=5ms after lo" + r + ":launch, b" + r + "_" +
              std::to_string(gradients.size() - 1) + ", t:event_wait\n";
    }
    text += "c: collective allreduce ranks=2 bytes=" + std::to_string(reduced) +
            " transfer=t arrivals=x0,x1\n";
    auto graph = graph::parse_text(text);
    EXPECT_TRUE(graph) << graph.error().text();
    return graph.value();
  }

 private:
  std::string rank_text(int rank) const {
    const std::string r = std::to_string(rank);
    std::string text, before;
    const auto id = [&](const char* kind, std::size_t i) {
      return kind + r + "_" + std::to_string(i);
    };
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string at = std::to_string(2 * i), then = std::to_string(2 * i + 1);
      text += id("l", i) + ": launch cpu" + r + " 1ms \"launch\" at=" + at + "ms took=1ms" +
              (i ? " after " + id("g", i - 1) : "") + "\n";
      text += id("b", i) + ": kernel s" + r + " " + std::to_string(backward_ms[rank]) +
              "ms \"backward\" at=" + at + "ms took=1ms after " + id("l", i) + ":launch" +
              (i ? ", " + id("b", i - 1) : "") + "\n";
      text += id("g", i) + ": host cpu" + r + " 0 \"torch::autograd::AccumulateGrad\" at=" + then +
              "ms took=0" + (gradients[i] < 0 ? "" : " bytes=" + std::to_string(gradients[i])) +
              " after " + id("l", i) + "\n";
    }
    const std::size_t last = gradients.size() - 1;
    const std::string end = std::to_string(2 * last + 2);
    text += "la" + r + ": launch cpu" + r + " 1ms \"launch\" at=" + end + "ms took=1ms after " +
            id("g", last) + "\n";
    text += "x" + r + ": arrive n" + r + " 0 \"nccl\" at=41ms took=40ms after la" + r +
            ":launch, " + id("b", last) + ":event_wait\n";
    text += "lo" + r + ": launch cpu" + r + " 1ms \"launch\" at=" + end + "ms took=1ms after la" +
            r + "\n";
    return text;
  }
};

/// A link that takes one millisecond for each million bytes.
cost::LinkModel links() {
  cost::LinkTable table;
  table.ranks = 2;
  table.rows = {{1, 1}, {kMega, kMillisecond}};
  return cost::LinkModel({table}, graph::Graph());
}

std::vector<Bytes> buckets(const graph::Graph& graph) {
  std::vector<std::pair<graph::OpId, Bytes>> found;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer != graph::kNoId) found.emplace_back(c.transfer, c.bytes / kMega);
  }
  std::sort(found.begin(), found.end());
  std::vector<Bytes> sizes;
  for (const auto& [transfer, bytes] : found) sizes.push_back(bytes);
  return sizes;
}

graph::Graph rebucketed(const Ddp& ddp, Bytes cap) {
  auto graph = rebucket(ddp.graph(), cap, links());
  EXPECT_TRUE(graph) << graph.error().text();
  const Status sound = graph::verify(graph.value());
  EXPECT_TRUE(sound) << sound.error().text();
  return graph.value();
}

Nanos end_of(const graph::Graph& graph, std::string_view name, std::int32_t rank) {
  const std::vector<Nanos> ends = graph::plain_ends(graph);
  Nanos end = -1;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.name(op) == name && graph.rank(op) == rank) end = std::max(end, ends[op]);
  }
  return end;
}

std::string refusal(const Ddp& ddp, const cost::LinkModel& model) {
  const auto graph = rebucket(ddp.graph(), kMega, model);
  if (graph) return "no error";
  EXPECT_EQ(graph.error().code, ErrorCode::kUsage);
  return graph.error().message;
}

TEST(Rebucket, MadeJobHasTheExpectedTimes) {
  const graph::Graph graph = Ddp().graph();
  EXPECT_EQ(end_of(graph, "backward", 0), 41 * kMillisecond);
  EXPECT_EQ(end_of(graph, "optimiser", 0), 86 * kMillisecond);
}

TEST(Rebucket, BucketIsClosedOnceItReachesTheCap) {
  EXPECT_EQ(buckets(rebucketed({}, 20 * kMega)), (std::vector<Bytes>{20, 20}));
  EXPECT_EQ(buckets(rebucketed({}, 40 * kMega)), (std::vector<Bytes>{40}));
  EXPECT_EQ(buckets(rebucketed({}, 1)), (std::vector<Bytes>{10, 10, 10, 10}));
}

TEST(Rebucket, GradientThatCrossesTheCapBelongsToTheBucket) {
  EXPECT_EQ(buckets(rebucketed({}, 15 * kMega)), (std::vector<Bytes>{20, 20}));
  EXPECT_EQ(buckets(rebucketed({}, 25 * kMega)), (std::vector<Bytes>{30, 10}));
  Ddp uneven;
  uneven.gradients = {3 * kMega, 9 * kMega, 1 * kMega, 27 * kMega};
  EXPECT_EQ(buckets(rebucketed(uneven, 10 * kMega)), (std::vector<Bytes>{12, 28}));
}

TEST(Rebucket, LastBucketIsClosedByTheEndOfTheBackwardPass) {
  EXPECT_EQ(buckets(rebucketed({}, 1'000 * kMega)), (std::vector<Bytes>{40}));
}

TEST(Rebucket, EarlierBucketsOverlapTheBackwardPass) {
  // The second gradient of the first bucket is ready at 21 ms. Then this bucket moves for 20 ms.
  // The second bucket follows at once.
  const graph::Graph graph = rebucketed({}, 20 * kMega);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(end_of(graph, "backward", rank), 41 * kMillisecond);
    EXPECT_EQ(end_of(graph, "optimiser", rank), 66 * kMillisecond);
  }
}

TEST(Rebucket, TransfersRunOneAfterTheOther) {
  // The first bucket is ready at 11 ms, and one more bucket every 10 ms. Each bucket moves for 10
  // ms. The optimiser waits for the last bucket.
  EXPECT_EQ(end_of(rebucketed({}, 1), "optimiser", 0), 56 * kMillisecond);
  Ddp fast;
  fast.backward_ms[0] = fast.backward_ms[1] = 1;  // gradients are ready long before their transfer
  const Nanos end = end_of(rebucketed(fast, 1), "optimiser", 0);
  EXPECT_GE(end, 45 * kMillisecond);
  EXPECT_LE(end, 49 * kMillisecond);
}

TEST(Rebucket, SlowerRankDelaysEveryBucket) {
  Ddp uneven;
  uneven.backward_ms[1] = 20;
  const graph::Graph graph = rebucketed(uneven, 20 * kMega);
  EXPECT_EQ(end_of(graph, "backward", 0), 41 * kMillisecond);
  EXPECT_EQ(end_of(graph, "optimiser", 0), (81 + 20 + 5) * kMillisecond);
}

TEST(Rebucket, SameBucketsTakeTheSameTime) {
  EXPECT_EQ(end_of(rebucketed({}, 40 * kMega), "optimiser", 0), 86 * kMillisecond);
}

/// A hook sends each bucket. The profiler records the last gradient as ready only when the hook has
/// returned. This may be after the bucket's transfer.
TEST(Rebucket, GradientsRecordedLateDoNotWaitForTheirOwnBucket) {
  std::string text = "lane net link -\nstep 1\n", waits;
  for (const std::string r : {"0", "1"}) {
    text = "lane cpu" + r + " host " + r + "\nlane n" + r + " host " + r + "\n" + text;
    text += "b" + r + ": host cpu" + r +
            " 0 \"torch::autograd::AccumulateGrad\" at=1ms took=0 bytes=2000\n" + "l" + r +
            ": launch cpu" + r + " 1ms \"launch\" at=2ms took=1ms after b" + r + "\n" + "x" + r +
            ": arrive n" + r + " 0 \"gloo\" at=3ms took=10ms after l" + r + ":launch\n";
    waits += "w" + r + ": host cpu" + r +
             " 0 \"torch::autograd::AccumulateGrad\" at=14ms took=0 bytes=1000000 after l" + r +
             ", t+1ms:thread\no" + r + ": host cpu" + r +
             " 5ms \"optimiser\" at=15ms took=5ms after w" + r + ", t:thread\n";
  }
  text += "t: transfer net 10ms at=3ms took=10ms after x0:collective, x1:collective\n" + waits +
          "c: collective allreduce ranks=2 bytes=1002000 transfer=t arrivals=x0,x1\n";
  const auto graph = graph::parse_text(text);
  ASSERT_TRUE(graph) << graph.error().text();
  const auto changed = rebucket(*graph, 5 * kMega, cost::LinkModel({}, *graph));
  ASSERT_TRUE(changed) << changed.error().text();
  EXPECT_TRUE(graph::verify(*changed));
}

TEST(Rebucket, RefusesGradientsWithoutSizes) {
  Ddp unknown;
  unknown.gradients[2] = -1;
  EXPECT_NE(refusal(unknown, links()).find("record_shapes"), std::string::npos);
}

TEST(Rebucket, RefusesARecordingWithoutGradients) {
  auto graph = graph::parse_text("lane s stream 0\nstep 1\nk: kernel s 1ms\n");
  const auto changed = rebucket(graph.value(), kMega, links());
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kUsage);
  EXPECT_NE(changed.error().message.find("no gradients"), std::string::npos);
}

TEST(Rebucket, RefusesIfSizesOfGradientsAndAllReducesDiffer) {
  Ddp part;
  part.reduced = 4 * kMega;
  EXPECT_NE(refusal(part, links()).find("bytes of gradients"), std::string::npos);
}

TEST(Rebucket, RefusesWithoutTransferTimes) {
  EXPECT_NE(refusal({}, cost::LinkModel()).find("--links"), std::string::npos);
}

TEST(WithoutCommunication, NoRankWaitsForAnother) {
  Ddp uneven;
  uneven.backward_ms[1] = 20;
  EXPECT_EQ(end_of(uneven.graph(), "optimiser", 0), (81 + 40 + 5) * kMillisecond);
  const auto graph = without_communication(uneven.graph());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(graph::verify(*graph));
  EXPECT_EQ(end_of(*graph, "optimiser", 0), 46 * kMillisecond);
  EXPECT_EQ(end_of(*graph, "optimiser", 1), 86 * kMillisecond);
  EXPECT_TRUE(buckets(*graph).empty());
}

TEST(WithoutCommunication, LaunchesOfCollectivesTakeNoTime) {
  Ddp tiny;  // with kernels of 0 ms, the device waits for the host
  tiny.backward_ms[0] = tiny.backward_ms[1] = 0;
  const auto graph = without_communication(tiny.graph());
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
  const auto graph = without_communication(*recorded);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(end_of(*graph, "end", 0), 8 * kMillisecond);
  EXPECT_EQ(end_of(*graph, "end", 1), 30 * kMillisecond);
}

}  // namespace
}  // namespace weft::predict
