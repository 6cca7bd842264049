// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/buckets.h"

#include <gtest/gtest.h>

#include "weft/predict/made_ddp.h"

namespace weft::predict {
namespace {

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

Result<graph::Graph> rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& model) {
  WEFT_ASSIGN(const GradientBuckets buckets, GradientBuckets::find(graph));
  WEFT_ASSIGN(const graph::Edit edit, buckets.replace(buckets.with_caps({cap}), model));
  return graph::apply(graph, edit);
}

graph::Graph rebucketed(const Ddp& ddp, Bytes cap) {
  auto graph = rebucket(ddp.graph(), cap, links());
  EXPECT_TRUE(graph) << graph.error().text();
  const Status sound = graph::verify(graph.value());
  EXPECT_TRUE(sound) << sound.error().text();
  return graph.value();
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

TEST(Rebucket, EachBucketMayHaveItsOwnCap) {
  const graph::Graph graph = Ddp().graph();
  const GradientBuckets buckets = GradientBuckets::find(graph).value();
  EXPECT_EQ(buckets.with_caps({10 * kMega, 30 * kMega}), (BucketEnds{1, 4}));
  EXPECT_EQ(buckets.with_caps({20 * kMega, 1}), (BucketEnds{2, 3, 4})) << "the last cap repeats";
}

TEST(Rebucket, RecordedBucketsStayAsTheyAre) {
  Ddp small_first;  // DDP's default closes the first bucket at 1 MiB
  small_first.gradients = {2 * kMega, 10 * kMega, 10 * kMega};
  small_first.reduced = 22 * kMega;
  const graph::Graph graph = small_first.graph();
  const GradientBuckets buckets = GradientBuckets::find(graph).value();
  EXPECT_EQ(buckets.recorded(), BucketEnds{3});
  EXPECT_TRUE(buckets.replace(buckets.recorded(), links()).value().empty());
  EXPECT_EQ(buckets.with_caps({22 * kMega}), buckets.recorded());

  const auto two = graph::apply(graph, buckets.replace({1, 3}, links()).value()).value();
  const GradientBuckets changed = GradientBuckets::find(two).value();
  EXPECT_EQ(changed.with_caps({20 * kMega}), (BucketEnds{1, 3})) << "a small first bucket is usual";
  EXPECT_EQ(changed.with_caps({5 * kMega}), (BucketEnds{2, 3}));
}

TEST(Rebucket, ABucketBuiltAnewTakesTheTimeOfTheRecordedOne) {
  Ddp uneven;
  uneven.backward_ms[1] = 20;
  const graph::Graph graph = uneven.graph();
  const GradientBuckets buckets = GradientBuckets::find(graph).value();
  const auto edit =
      buckets.replace(buckets.recorded(), links(), GradientBuckets::Keep::kNone).value();
  EXPECT_FALSE(edit.empty());
  EXPECT_EQ(end_of(graph::apply(graph, edit).value(), "optimiser", 0),
            end_of(graph, "optimiser", 0));
}

TEST(Rebucket, RefusesEndsThatDoNotIncreaseToTheNumberOfGradients) {
  const graph::Graph graph = Ddp().graph();
  const GradientBuckets buckets = GradientBuckets::find(graph).value();
  for (const BucketEnds& ends : {BucketEnds{}, BucketEnds{0, 4}, BucketEnds{2}, BucketEnds{3, 2, 4},
                                 BucketEnds{2, 2, 4}, BucketEnds{5}}) {
    EXPECT_FALSE(buckets.replace(ends, links()));
  }
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

}  // namespace
}  // namespace weft::predict
