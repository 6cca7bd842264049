// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/calls.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::trace {
namespace {

constexpr const char* kSendRecvKernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

std::vector<Call> calls_of(const RankTrace& trace) {
  return communication_calls(trace, resolve_launches(trace));
}

TEST(Calls, AllUsualSpellingsOfAKindAreKnown) {
  EXPECT_EQ(kind_from_name(kAllReduceKernel), CollectiveKind::kAllReduce);
  EXPECT_EQ(kind_from_name("_allgather_base"), CollectiveKind::kAllGather);
  EXPECT_EQ(kind_from_name("nccl:_reduce_scatter_base"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(kind_from_name("ncclKernel_Reduce_RING_LL_Sum_float(ncclWork*)"),
            CollectiveKind::kReduce);
  EXPECT_EQ(kind_from_name("all_to_allv"), CollectiveKind::kAllToAll);
  EXPECT_EQ(kind_from_name("ncclDevKernel_Generic_4(AllReduceArgs)"), CollectiveKind::kOther);
  EXPECT_EQ(kind_from_name("wait"), CollectiveKind::kOther);
}

TEST(Calls, SizeOfAnAllGatherIsTheWholeArray) {
  MadeRank rank(0, 4);
  const auto kernel = rank.kernel("ncclDevKernel_AllGather_RING_LL(args)", 1000, 100);
  CollectiveDetail& detail = rank.describe(kernel, "_allgather_base", 250);
  detail.out_elements = 1000;
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].bytes, 4000);
  EXPECT_EQ(calls[0].group, "0");
  EXPECT_EQ(calls[0].group_size, 4);
}

TEST(Calls, SendRecvKernelInsideAnAllToAllOpIsAnAllToAll) {
  MadeRank rank(0, 4);
  rank.host("record_param_comms", 0, 100);
  rank.annotation("nccl:all_to_all", 10, 80);
  rank.runtime(50, 10, 3);
  rank.kernel(kSendRecvKernel, 1000, 100, 3);
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kAllToAll);
}

TEST(Calls, GenericKernelTakesItsKindFromTheOpThatLaunchedIt) {
  MadeRank rank(0, 8);
  const auto op = rank.host("record_param_comms", 0, 100);
  rank.describe(op, "allreduce", 10);
  rank.runtime(50, 10, 3);
  rank.kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage)", 1000, 100, 3);
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(calls[0].bytes, 40);
}

TEST(Calls, BatchHoldsTheMessagesPostedSinceTheLaunchBefore) {
  MadeRank rank(1, 4);
  std::uint32_t correlation = 1;
  auto post = [&](const char* name, std::int32_t peer, Nanos at) {
    const auto op = rank.host("record_param_comms", at, 10);
    CollectiveDetail& detail = rank.describe(op, name, 256);
    (std::string(name) == "send" ? detail.dst : detail.src) = peer;
  };
  auto flush = [&](Nanos at) {
    rank.annotation("nccl:coalesced", at, 50);
    rank.runtime(at + 10, 10, correlation);
    rank.kernel(kSendRecvKernel, 10000 + at, 100, correlation++);
  };
  post("recv", 0, 0);
  flush(20);
  post("send", 2, 100);
  post("recv", 2, 120);
  flush(140);
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].messages, (std::vector<Message>{{0, false, 1024}}));
  EXPECT_EQ(calls[1].messages, (std::vector<Message>{{2, true, 1024}, {2, false, 1024}}));
  EXPECT_EQ(calls[1].bytes, 1024);
}

TEST(Calls, AnnotationNamesThePeerIfArgumentsAreMissing) {
  MadeRank rank(0, 2);
  rank.annotation("nccl:recv 0<-1", 0, 100);
  rank.runtime(50, 10, 3);
  rank.kernel(kSendRecvKernel, 1000, 100, 3);
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_EQ(calls[0].messages.size(), 1u);
  EXPECT_EQ(calls[0].messages[0].peer, 1);
  EXPECT_FALSE(calls[0].messages[0].send);
}

TEST(Calls, WorkLaunchedBeforeTheWindowTakesItsArgumentsFromAnotherStep) {
  MadeRank rank(0, 2);
  const std::int64_t sizes[] = {100, 200, 300};
  for (int k = 0; k < 11; ++k) {  // the first two were launched before the recording
    const auto kernel = rank.kernel(kAllReduceKernel, 1000 * (k + 1), 100);
    if (k >= 2) rank.describe(kernel, "allreduce", sizes[(k + 1) % 3]);
  }
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 11u);
  EXPECT_EQ(calls[0].bytes, 4 * sizes[1]);
  EXPECT_EQ(calls[1].bytes, 4 * sizes[2]);
  EXPECT_TRUE(calls[0].inferred);
  EXPECT_FALSE(calls[2].inferred);
}

TEST(Calls, WithoutAPeriodOnlyTheGroupIsFilledIn) {
  MadeRank rank(0, 2);
  rank.kernel(kAllReduceKernel, 1000, 100);
  for (int k = 1; k < 8; ++k) {
    rank.describe(rank.kernel(kAllReduceKernel, 1000 * (k + 1), 100), "allreduce", k * k);
  }
  const auto calls = calls_of(rank.trace);
  EXPECT_EQ(calls[0].bytes, -1);
  EXPECT_EQ(calls[0].group, "0");
}

TEST(Calls, HostSideCollectivesAreTheirAnnotations) {
  MadeRank rank(0, 2);
  rank.annotation("gloo:all_reduce", 0, 100);
  rank.annotation("nccl:all_reduce", 200,
                  100);  // this annotation only covers enqueueing the kernel
  rank.host("c10d::allreduce_", 0, 10);
  const auto calls = calls_of(rank.trace);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(calls[0].event, 0u);
}

TEST(Calls, ReductionsOnOneDeviceAreNotCommunication) {
  MadeRank rank(0, 2);
  rank.kernel("void at::native::reduce_kernel<512, 1>(ReduceOp)", 1000, 100);
  EXPECT_TRUE(calls_of(rank.trace).empty());
}

}  // namespace
}  // namespace weft::trace
