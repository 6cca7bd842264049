// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/interference.h"

#include <gtest/gtest.h>

#include "weft/graph/build.h"
#include "weft/trace/made_run.h"

namespace weft::cost {
namespace {

struct Made {
  trace::Run run;
  graph::Graph graph;
};

/// Two ranks. On each rank, three kernels run alone, and then three kernels run while an all-reduce
/// is under way. A kernel alone takes `alone` ns. A kernel beside the all-reduce takes `beside` ns,
/// and has `other_shape` if it is given.
Made made(Nanos alone, Nanos beside, const char* other_shape = nullptr) {
  Made result;
  std::vector<trace::Match> matches(1);
  matches[0].kind = trace::CollectiveKind::kAllReduce;
  matches[0].group_size = 2;
  for (std::int32_t r = 0; r < 2; ++r) {
    trace::MadeRank rank(r, 2);
    const auto shape = rank.trace.names.intern("8,1,1/256,1,1");
    const auto other = other_shape ? rank.trace.names.intern(other_shape) : shape;
    Nanos t = 0;
    for (int i = 0; i < 6; ++i) {
      const bool is_beside = i >= 3;
      const std::uint32_t kernel =
          rank.kernel("gemm", t + (is_beside ? beside : alone), is_beside ? beside : alone, 0, 7);
      rank.trace.kernels[rank.trace.events.detail[kernel]].shape = is_beside ? other : shape;
      t += is_beside ? beside : alone;
    }
    const std::uint32_t reduce =
        rank.kernel(trace::kAllReduceKernel, 3 * alone + 3 * beside, 3 * beside, 0, 20);
    matches[0].members.push_back({static_cast<std::uint32_t>(r), reduce});
    result.run.ranks.push_back(rank.trace);
  }
  Diagnostics diagnostics;
  auto graph = graph::build(result.run, matches, diagnostics);
  EXPECT_TRUE(graph) << graph.error().text();
  result.graph = *graph;
  return result;
}

TEST(Interference, IsMeasuredOnKernelsRecordedWithAndWithoutCommunication) {
  const Made job = made(1'000'000, 1'250'000);
  const Interference found = measure_interference(job.run, job.graph);
  EXPECT_NEAR(found.slowdown, 1.25, 1e-9);
  EXPECT_GE(found.evidence, 3'000'000);
}

TEST(Interference, RemovingItGivesTheKernelsDurationAlone) {
  Made job = made(1'000'000, 1'250'000);
  remove_interference(job.graph, measure_interference(job.run, job.graph));
  int kernels = 0;
  for (graph::OpId op = 0; op < job.graph.size(); ++op) {
    if (job.graph.ops.kind[op] != graph::OpKind::kKernel) continue;
    EXPECT_EQ(job.graph.ops.duration[op], 1'000'000);
    ++kernels;
  }
  EXPECT_EQ(kernels, 12);
}

TEST(Interference, KernelsOfOtherShapesAreNotCompared) {
  const Made job = made(1'000'000, 1'250'000, "16,1,1/256,1,1");
  EXPECT_EQ(measure_interference(job.run, job.graph).slowdown, 1);
}

TEST(Interference, AFewShortKernelsAreTooLittleEvidence) {
  const Made job = made(10'000, 20'000);
  EXPECT_EQ(measure_interference(job.run, job.graph).slowdown, 1);
}

TEST(Interference, CommunicationNeverMakesComputeFaster) {
  const Made job = made(1'000'000, 800'000);
  EXPECT_EQ(measure_interference(job.run, job.graph).slowdown, 1);
}

TEST(Interference, OverlapIsTheShareOfAKernelCoveredByCommunication) {
  const Made job = made(1'000'000, 1'250'000);
  const Interference found = measure_interference(job.run, job.graph);
  double sum = 0;
  for (const double overlap : found.overlap) sum += overlap;
  EXPECT_DOUBLE_EQ(sum, 6);  // three kernels on each of two ranks are covered fully
}

}  // namespace
}  // namespace weft::cost
