// SPDX-License-Identifier: Apache-2.0
// Tests of build(). Each test makes a synthetic recording and checks the dependencies in its graph.
#include "weft/graph/build.h"

#include <gtest/gtest.h>

#include <string>

#include "weft/graph/made_recording.h"
#include "weft/graph/names.h"
#include "weft/graph/plain_replay.h"

namespace weft::graph {
namespace {

using trace::kAllReduceKernel;

TEST(Build, KernelFollowsTheCallThatLaunchedIt) {
  Rank rank(0, 1);
  rank.launch("gemm", 0, 5 * us, 8 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("cudaLaunchKernel"), made.op("gemm"));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kLaunch);
  EXPECT_EQ(edge->delay, 3 * us);
  EXPECT_FALSE(edge->inferred);
}

TEST(Build, KernelMayStartBeforeItsCallReturns) {
  Rank rank(0, 1);
  rank.launch("gemm", 0, 10 * us, 4 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  const OpId call = made.op("cudaLaunchKernel");
  EXPECT_EQ(made.graph.ops.duration[call], 4 * us);
  EXPECT_EQ(made.edge(call, made.op("gemm"))->delay, 0);
}

TEST(Build, WorkBeforeItsLaunchIsCounted) {
  Rank rank(0, 1);
  rank.launch("gemm", 100 * us, 5 * us, 50 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  EXPECT_EQ(made.diagnostics.count_of("work-before-its-launch"), 1);
  EXPECT_FALSE(made.edge(made.op("cudaLaunchKernel"), made.op("gemm")));
}

TEST(Build, StreamRunsInOrderAndItsTimesAddUp) {
  Rank rank(0, 1);
  rank.launch("first", 0, 2 * us, 10 * us, 20 * us);
  rank.launch("second", 3 * us, 2 * us, 25 * us, 15 * us);  // starts while the first one drains
  rank.launch("other", 6 * us, 2 * us, 26 * us, 5 * us, 9);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("first"), made.op("second"));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kOrder);
  EXPECT_EQ(made.graph.ops.duration[made.op("first")], 15 * us);
  EXPECT_EQ(made.graph.lanes[made.graph.ops.lane[made.op("first")]].name, "r0/stream 7");
  EXPECT_EQ(made.graph.lanes[made.graph.ops.lane[made.op("other")]].name, "r0/stream 9");
}

TEST(Build, BlockingCallReturnsOnceItsWorkIsOver) {
  Rank rank(0, 1);
  rank.launch("gemm", 0, 5 * us, 10 * us, 90 * us);
  rank.call("cudaStreamSynchronize", 20 * us, 85 * us);
  rank.launch("next", 110 * us, 5 * us, 120 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  const OpId call = made.op("cudaStreamSynchronize", 0, 0);
  const OpId done = made.op("cudaStreamSynchronize", 0, 1);
  EXPECT_EQ(made.graph.ops.kind[call], OpKind::kHost);
  EXPECT_EQ(made.graph.ops.kind[done], OpKind::kSync);
  EXPECT_EQ(made.graph.ops.recorded_start[done], 105 * us);
  const auto edge = made.edge(made.op("gemm"), done);
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kHostSync);
  EXPECT_EQ(edge->delay, 5 * us);
}

TEST(Build, SilentThreadThatContinuesWhenTheStreamRanDryWaitedForIt) {
  Rank rank(0, 1);
  rank.launch("gemm", 0, 5 * us, 10 * us, 2000 * us);
  rank.launch("next", 2060 * us, 5 * us, 2070 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("gemm"), made.op("cudaLaunchKernel", 0, 1));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kHostSync);
  EXPECT_EQ(edge->delay, 50 * us);
  EXPECT_TRUE(edge->inferred);
}

TEST(Build, ThreadThatContinuesAfterTheSameKernelEachTimeWaitedForIt) {
  // The thread waits for an event in the middle of a stream: "tail" still runs when it continues.
  Rank rank(0, 1);
  for (int i = 0; i < 3; ++i) {
    const Nanos t = i * 20'000 * us;
    rank.launch("gemm", t, 5 * us, t + 10 * us, 8000 * us);
    rank.launch("tail", t + 20 * us, 5 * us, t + 8010 * us, 4000 * us);
    rank.call("cudaEventElapsedTime", t + 8055 * us, 1 * us);
    rank.launch("next", t + 8060 * us, 5 * us, t + 12'010 * us, 10 * us);
  }
  Made made;
  made.add(rank);
  made.build();
  for (int i = 0; i < 3; ++i) {
    const auto edge = made.edge(made.op("gemm", 0, i), made.op("cudaLaunchKernel", 0, 3 * i + 2));
    ASSERT_TRUE(edge) << i;
    EXPECT_EQ(edge->kind, EdgeKind::kHostSync);
  }
}

TEST(Build, SilentThreadThatContinuesAtAnotherTimeWasBusy) {
  Rank rank(0, 1);
  rank.launch("gemm", 0, 5 * us, 10 * us, 2000 * us);
  rank.launch("next", 2500 * us, 5 * us, 2510 * us, 10 * us);  // long after the stream ran dry
  rank.launch("more", 3000 * us, 5 * us, 3010 * us, 900 * us);
  rank.launch("last", 3800 * us, 5 * us, 3910 * us, 10 * us);  // before the stream runs dry
  Made made;
  made.add(rank);
  made.build();
  EXPECT_FALSE(made.edge(made.op("gemm"), made.op("cudaLaunchKernel", 0, 1)));
  EXPECT_FALSE(made.edge(made.op("more"), made.op("cudaLaunchKernel", 0, 3)));
}

TEST(Build, LaunchIntoAFullQueueWaitsFirst) {
  Rank rank(0, 1);
  rank.launch("busy", 0, 5 * us, 10 * us, 100 * us);
  rank.launch("next", 20 * us, 55 * us, 115 * us, 10 * us);
  rank.add(EventKind::kOverhead, "Command Buffer Full", 20 * us, 50 * us);
  Made made;
  made.add(rank);
  made.build();
  const OpId wait = made.op(kQueueWait, 0, 0), room = made.op(kQueueWait, 0, 1);
  EXPECT_TRUE(is_queue_wait(made.graph, wait));
  EXPECT_EQ(made.graph.ops.kind[room], OpKind::kSync);
  EXPECT_EQ(made.graph.ops.recorded_start[room], 70 * us);
  const OpId call = made.op("cudaLaunchKernel", 0, 1);
  EXPECT_EQ(made.graph.ops.recorded_start[call], 70 * us);
  EXPECT_EQ(made.graph.ops.duration[call], 5 * us);
  EXPECT_TRUE(made.edge(room, call));
}

TEST(Build, HostWaitsForASynchronousCopy) {
  Rank rank(0, 1);
  rank.add(EventKind::kRuntime, "cudaMemcpyAsync", 0, 60 * us, 1);
  rank.add(EventKind::kMemcpy, "Memcpy DtoH", 10 * us, 40 * us, 1, 7);
  rank.correlation = 1;
  rank.launch("next", 70 * us, 5 * us, 80 * us, 10 * us);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("Memcpy DtoH"), made.op("cudaLaunchKernel"));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kHostSync);
  EXPECT_EQ(edge->delay, 20 * us);
}

TEST(Build, ThreadThatWasIdleFollowsTheOneThatHandedOver) {
  Rank rank(0, 1);
  rank.launch("forward", 0, 5 * us, 10 * us, 10 * us);
  const std::uint32_t call = rank.call("cudaLaunchKernel", 100 * us, 5 * us);
  rank.kernel("backward", 120 * us, 10 * us, rank.correlation, 7);
  rank.on_thread(call, 2);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("cudaLaunchKernel", 0, 0), made.op("cudaLaunchKernel", 0, 1));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kThread);
  EXPECT_TRUE(edge->inferred);
  EXPECT_EQ(edge->delay, 95 * us);
}

TEST(Build, BackwardFollowsItsForward) {
  Rank rank(0, 1);
  const std::uint32_t forward = rank.host("aten::mm", 0, 8 * us);
  rank.launch("mm", 1 * us, 5 * us, 10 * us, 10 * us);
  const std::uint32_t backward = rank.host("MmBackward0", 100 * us, 10 * us);
  const std::uint32_t call = rank.call("cudaLaunchKernel", 101 * us, 5 * us);
  rank.kernel("mm_backward", 120 * us, 10 * us, rank.correlation, 7);
  rank.on_thread(backward, 2);
  rank.on_thread(call, 2);
  rank.trace.host_ops[rank.trace.events.detail[forward]].sequence = 17;
  rank.trace.host_ops[rank.trace.events.detail[backward]].sequence = 17;
  rank.trace.host_ops[rank.trace.events.detail[backward]].fwd_thread = 1;
  Made made;
  made.add(rank);
  made.build();
  bool linked = false;
  const OpId to = made.op("cudaLaunchKernel", 0, 1);
  for (const Edge& edge : made.graph.in_edges(to)) {
    linked |= edge.kind == EdgeKind::kData && edge.source == made.op("cudaLaunchKernel", 0, 0);
  }
  EXPECT_TRUE(linked);
}

TEST(Build, GradientKnowsItsSize) {
  Rank rank(0, 1);
  rank.step(3, 0, 50 * us);
  const std::uint32_t ready = rank.host(std::string(kGradientReady), 10 * us, 4 * us);
  rank.trace.host_ops[rank.trace.events.detail[ready]].input_bytes = 4096;
  Made made;
  made.add(rank);
  made.build();
  const OpId op = made.op(kGradientReady);
  EXPECT_EQ(made.graph.ops.bytes[op], 4096);
  EXPECT_EQ(made.graph.ops.recorded_start[op], 14 * us);  // the end of the host op
}

/// Two ranks that compute, all-reduce and compute again. The first compute of rank 1 takes `late`
/// longer than that of rank 0.
struct TwoRanks {
  Made made;
  std::uint32_t reduce[2];

  explicit TwoRanks(Nanos late, Nanos compute_end = 60 * us) {
    const Nanos arrives[2] = {compute_end + 5 * us, compute_end + 5 * us + late};
    const Nanos over = arrives[1] + 40 * us;
    for (int r = 0; r < 2; ++r) {
      Rank rank(r, 2);
      rank.step(3, 0, 400 * us);
      rank.launch("compute", 1 * us, 4 * us, 10 * us, (r ? late : 0) + compute_end - 10 * us);
      rank.call("cudaStreamWaitEvent", 6 * us, 1 * us);
      reduce[r] = rank.launch(kAllReduceKernel, 8 * us, 4 * us, arrives[r], over - arrives[r], 20);
      rank.call("cudaStreamWaitEvent", 13 * us, 1 * us);
      rank.launch("after", 15 * us, 4 * us, over + 2 * us, 10 * us);
      made.add(rank);
    }
    made.match(trace::CollectiveKind::kAllReduce, {{0, reduce[0]}, {1, reduce[1]}});
    made.build();
  }
};

TEST(Build, TransferStartsWhenTheLastMemberArrives) {
  TwoRanks two(30 * us);
  const Graph& graph = two.made.graph;
  const OpId transfer = two.made.transfer();
  EXPECT_EQ(graph.ops.recorded_start[transfer], 95 * us);
  EXPECT_EQ(graph.ops.duration[transfer], 40 * us);
  ASSERT_EQ(graph.collectives[0].arrivals.size(), 2u);
  for (const OpId arrival : graph.collectives[0].arrivals) {
    EXPECT_EQ(graph.ops.kind[arrival], OpKind::kArrive);
    EXPECT_EQ(graph.ops.duration[arrival], 0);
    EXPECT_EQ(two.made.edge(arrival, transfer)->kind, EdgeKind::kCollective);
  }
}

TEST(Build, SlowerMemberDelaysTheOther) {
  TwoRanks two(30 * us);
  std::vector<Nanos> before = plain_ends(two.made.graph);
  Graph slower = two.made.graph;
  slower.ops.duration[two.made.op("compute", 1)] += 7 * us;
  std::vector<Nanos> after = plain_ends(slower);
  for (const int rank : {0, 1}) {
    const OpId op = two.made.op("after", rank);
    EXPECT_EQ(after[op] - before[op], 7 * us) << rank;
  }
  // Rank 0 arrives 30 us before rank 1. So 7 us more on rank 0 change nothing.
  slower = two.made.graph;
  slower.ops.duration[two.made.op("compute", 0)] += 7 * us;
  after = plain_ends(slower);
  EXPECT_EQ(after[two.made.op("after", 0)], before[two.made.op("after", 0)]);
}

TEST(Build, WaitBeforeACollectiveMakesItFollowCompute) {
  TwoRanks two(0);
  const auto edge = two.made.edge(two.made.op("compute"), two.made.op(kAllReduceKernel));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kEventWait);
  EXPECT_TRUE(edge->inferred);
  EXPECT_EQ(edge->delay, 5 * us);
  EXPECT_EQ(two.made.diagnostics.count_of("contradicted-edge"), 0);
}

TEST(Build, WaitAfterACollectiveMakesComputeFollowItsTransfer) {
  TwoRanks two(0);
  const auto edge = two.made.edge(two.made.transfer(), two.made.op("after"));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kEventWait);
  EXPECT_TRUE(edge->inferred);
  EXPECT_EQ(edge->delay, 2 * us);
}

TEST(Build, InferredEdgeAgainstTheRecordedTimesIsDroppedAndCounted) {
  Made made;
  std::uint32_t reduce[2];
  for (int r = 0; r < 2; ++r) {
    Rank rank(r, 2);
    rank.launch("compute", 0, 4 * us, 10 * us, 200 * us);
    rank.call("cudaStreamWaitEvent", 6 * us, 1 * us);
    reduce[r] = rank.launch(kAllReduceKernel, 8 * us, 4 * us, 50 * us, 40 * us, 20);
    made.add(rank);
  }
  made.match(trace::CollectiveKind::kAllReduce, {{0, reduce[0]}, {1, reduce[1]}});
  made.build();
  EXPECT_FALSE(made.edge(made.op("compute"), made.op(kAllReduceKernel)));
  EXPECT_EQ(made.diagnostics.count_of("contradicted-edge"), 2);
}

TEST(Build, MessageJoinsSenderAndReceiver) {
  Made made;
  Rank sender(0, 2), receiver(1, 2);
  const auto send = sender.launch("ncclDevKernel_SendRecv(args)", 0, 4 * us, 50 * us, 30 * us, 20);
  const auto receive =
      receiver.launch("ncclDevKernel_SendRecv(args)", 0, 4 * us, 10 * us, 72 * us, 20);
  made.add(sender);
  made.add(receiver);
  made.match(trace::CollectiveKind::kSendRecv, {{0, send}, {1, receive}}, 4096);
  made.build();
  const OpId transfer = made.transfer();
  EXPECT_EQ(made.graph.lanes[made.graph.ops.lane[transfer]].name, "link r0 to r1");
  EXPECT_EQ(made.graph.ops.recorded_start[transfer], 50 * us);
  EXPECT_EQ(made.graph.ops.duration[transfer], 30 * us);
  EXPECT_EQ(made.graph.ops.bytes[transfer], 4096);
  EXPECT_EQ(made.graph.collectives[0].kind, CollectiveKind::kSendRecv);
}

TEST(Build, KernelOfSeveralMessagesArrivesOncePerMessage) {
  Made made;
  std::vector<std::uint32_t> kernels;
  for (int r = 0; r < 3; ++r) {
    Rank rank(r, 3);
    kernels.push_back(
        rank.launch("ncclDevKernel_SendRecv(args)", 0, 4 * us, (10 + r) * us, 50 * us, 20));
    made.add(rank);
  }
  made.match(trace::CollectiveKind::kSendRecv, {{0, kernels[0]}, {1, kernels[1]}});
  made.match(trace::CollectiveKind::kSendRecv, {{1, kernels[1]}, {2, kernels[2]}});
  made.build();
  ASSERT_EQ(made.graph.collectives.size(), 2u);
  EXPECT_NE(made.graph.collectives[0].arrivals[1], made.graph.collectives[1].arrivals[0]);
  for (const Collective& c : made.graph.collectives) {
    EXPECT_EQ(c.arrivals.size(), 2u);
    EXPECT_NE(c.transfer, kNoId);
  }
}

TEST(Build, RootOfABroadcastThatLeavesEarlyWaitsForNobody) {
  Made made;
  Rank root(0, 2), other(1, 2);
  const char* const name = "ncclDevKernel_Broadcast_RING_LL(args)";
  const auto sent = root.launch(name, 0, 4 * us, 10 * us, 20 * us, 20);
  root.launch("next", 5 * us, 4 * us, 32 * us, 10 * us, 20);
  const auto got = other.launch(name, 0, 4 * us, 60 * us, 40 * us, 20);
  other.launch("next", 5 * us, 4 * us, 102 * us, 10 * us, 20);
  made.add(root);
  made.add(other);
  made.match(trace::CollectiveKind::kBroadcast, {{0, sent}, {1, got}});
  made.build();
  const OpId transfer = made.transfer();
  EXPECT_EQ(made.graph.ops.recorded_start[transfer], 60 * us);
  EXPECT_EQ(made.graph.ops.duration[transfer], 40 * us);
  EXPECT_EQ(made.graph.ops.duration[made.op(name, 0)], 20 * us);
  EXPECT_TRUE(made.edge(made.op(name, 0), made.op("next", 0)));
  EXPECT_FALSE(made.edge(transfer, made.op("next", 0)));
  EXPECT_TRUE(made.edge(transfer, made.op("next", 1)));
}

TEST(Build, CollectiveThatNoOtherRankRecordedIsReported) {
  Made made;
  Rank one(0, 2), two(1, 2);
  const auto kernel = one.launch(kAllReduceKernel, 0, 4 * us, 10 * us, 20 * us, 20);
  two.launch("compute", 0, 4 * us, 10 * us, 20 * us);
  made.add(one);
  made.add(two);
  made.match(trace::CollectiveKind::kAllReduce, {{0, kernel}});
  made.build();
  EXPECT_EQ(made.diagnostics.count_of("collective-without-peers"), 1);
  EXPECT_EQ(made.graph.ops.duration[made.transfer()], 20 * us);
}

TEST(Build, RecordedWaitsReplaceInferredOnes) {
  Rank rank(0, 1);
  rank.launch("a", 0, 2 * us, 5 * us, 40 * us, 7);
  rank.call("cudaEventRecord", 4 * us, 1 * us);
  const std::uint32_t record = rank.correlation;
  // "b" is launched after the event record, so nothing waits for it.
  rank.launch("b", 6 * us, 2 * us, 45 * us, 40 * us, 7);
  rank.call("cudaStreamWaitEvent", 10 * us, 1 * us);
  const std::uint32_t sync =
      rank.add(EventKind::kSync, "Stream Wait Event", 10 * us, 0, rank.correlation);
  rank.trace.events.detail[sync] = 0;
  rank.trace.syncs.push_back({trace::SyncKind::kStreamWaitEvent, 9, 7, record});
  rank.trace.facts.sync_events = true;
  rank.launch("c", 12 * us, 2 * us, 48 * us, 10 * us, 9);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("a"), made.op("c"));
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->kind, EdgeKind::kEventWait);
  EXPECT_FALSE(edge->inferred);
  EXPECT_EQ(edge->delay, 3 * us);
  EXPECT_FALSE(made.edge(made.op("b"), made.op("c")));
}

TEST(Build, WaitsAreInferredIfRecordsDoNotNameTheirEvents) {
  Rank rank(0, 1);
  rank.launch("a", 0, 2 * us, 5 * us, 40 * us, 7);
  rank.call("cudaStreamWaitEvent", 10 * us, 1 * us);
  const std::uint32_t sync =
      rank.add(EventKind::kSync, "Stream Wait Event", 10 * us, 0, rank.correlation);
  rank.trace.events.detail[sync] = 0;
  rank.trace.syncs.push_back({trace::SyncKind::kStreamWaitEvent, 9, -1, -1});
  rank.trace.facts.sync_events = true;
  rank.launch("c", 12 * us, 2 * us, 48 * us, 10 * us, 9);
  Made made;
  made.add(rank);
  made.build();
  const auto edge = made.edge(made.op("a"), made.op("c"));
  ASSERT_TRUE(edge);
  EXPECT_TRUE(edge->inferred);
}

TEST(Build, ReplayGivesTheRecordedTimesBack) {
  for (const Nanos late : {Nanos{0}, 30 * us, 250 * us}) {
    TwoRanks two(late);
    const Graph& graph = two.made.graph;
    const std::vector<Nanos> starts = plain_starts(graph);
    for (OpId op = 0; op < graph.size(); ++op) {
      EXPECT_EQ(starts[op], graph.ops.recorded_start[op]) << graph.name(op) << ", late " << late;
    }
  }
}

TEST(Build, DataflowEngineThatPausesWaitedForTheWorkThatEndedLast) {
  for (const bool dataflow : {false, true}) {
    Rank rank(0, 1);
    rank.step(1, 0, 900 * us);
    rank.launch("gradients", 10 * us, 2 * us, 20 * us, 80 * us, 1);
    rank.launch("exchange", 12 * us, 2 * us, 105 * us, 200 * us, 2);
    rank.launch("update", 14 * us, 2 * us, 900 * us, 50 * us, 1);
    rank.trace.dataflow = dataflow;
    Made made;
    made.add(rank);
    made.build();
    EXPECT_EQ(made.edge(made.op("exchange"), made.op("update")).has_value(), dataflow);
    EXPECT_TRUE(made.edge(made.op("gradients"), made.op("exchange")));
  }
}

TEST(Build, OpsBelongToTheStepThatIssuedThem) {
  Rank rank(0, 1);
  rank.launch("before", 0, 2 * us, 10 * us, 5 * us);
  rank.step(7, 20 * us, 100 * us);
  rank.step(8, 100 * us, 200 * us);
  rank.launch("seven", 90 * us, 2 * us, 150 * us, 5 * us);  // runs while the host is in step 8
  rank.launch("eight", 120 * us, 2 * us, 160 * us, 5 * us);
  rank.launch("behind", 210 * us, 2 * us, 220 * us, 5 * us);
  Made made;
  made.add(rank);
  made.build();
  EXPECT_EQ(made.graph.steps, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(made.graph.ops.step[made.op("before")], -1);
  EXPECT_EQ(made.graph.ops.step[made.op("seven")], 7);
  EXPECT_EQ(made.graph.ops.step[made.op("eight")], 8);
  EXPECT_EQ(made.graph.ops.step[made.op("behind")], -1);
}

TEST(Build, StepBeginsBeforeTheFirstCallInIt) {
  Rank rank(0, 1);
  rank.launch("first", 0, 5 * us, 10 * us, 5 * us);
  rank.launch("second", 50 * us, 5 * us, 60 * us, 5 * us);
  rank.step(1, 0, 50 * us);  // both steps begin at the same time as a call
  rank.step(2, 50 * us, 100 * us);
  Made made;
  made.add(rank);
  made.build();
  const OpId mark = made.op(kStepMark, 0, 1);
  EXPECT_TRUE(made.edge(made.op("cudaLaunchKernel", 0, 0), mark));
  EXPECT_TRUE(made.edge(mark, made.op("cudaLaunchKernel", 0, 1)));
}

}  // namespace
}  // namespace weft::graph
