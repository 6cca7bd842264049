// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/messages.h"

#include <gtest/gtest.h>

namespace weft::pipeline::recorded {
namespace {

/// Two ranks whose recordings have only messages.
struct MadeJob {
  predict::Job job;

  MadeJob() {
    job.run.world = 2;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      trace::RankTrace& trace = job.run.ranks.emplace_back();
      trace.rank = rank;
    }
  }
  trace::Member kernel(std::uint32_t rank, Nanos start, Nanos end) {
    trace::Events& events = job.run.ranks[rank].events;
    events.add(trace::EventKind::kKernel, start, end - start, 0, 0);
    return {rank, static_cast<std::uint32_t>(events.size() - 1)};
  }
  /// A message from rank 0 to rank 1; in a batch with a message back if `back` > 0.
  void message(Nanos send_start, Nanos send_end, Nanos receive_start, Nanos receive_end,
               Bytes back = 0) {
    trace::Match match;
    match.kind = trace::CollectiveKind::kSendRecv;
    match.bytes = 1 << 20;
    match.bytes_back = back;
    match.group_size = 2;
    match.members = {kernel(0, send_start, send_end), kernel(1, receive_start, receive_end)};
    job.matches.push_back(match);
  }
};

TEST(MessageModel, MeasuresWhatWaitsForWhat) {
  MadeJob made;
  for (Nanos at = 0; at < 5000; at += 1000) {
    // The receive starts first. The data arrives 140 after the start of the send.
    made.message(at + 100, at + 170, at + 20, at + 240);
    // The data arrives first. The receive takes 90.
    made.message(at + 300, at + 370, at + 600, at + 690);
  }
  const auto model = MessageModel::measure(made.job, {});
  ASSERT_TRUE(model.has_value());
  const MessageCost& cost = model->cost(0, 1, false);
  EXPECT_EQ(cost.arrival, 140);
  EXPECT_EQ(cost.receive, 90);
  EXPECT_EQ(cost.send, 70);
  EXPECT_EQ(cost.send_after_receive, -1);
  EXPECT_EQ(model->bytes(), 1 << 20);
  // A pair of ranks without recorded messages gets the costs of the other pairs.
  EXPECT_EQ(model->cost(1, 0, true).arrival, 140);
}

TEST(MessageModel, SeesSendersThatWait) {
  MadeJob made;
  for (Nanos at = 0; at < 5000; at += 1000) {
    made.message(at + 100, at + 240, at + 20, at + 240);
    made.message(at + 300, at + 750, at + 600, at + 750);
  }
  const MessageCost cost = MessageModel::measure(made.job, {})->cost(0, 1, false);
  EXPECT_EQ(cost.send_after_receive, 150);
}

TEST(MessageModel, BatchesThatGoBothWaysAreMeasuredApart) {
  MadeJob made;
  for (Nanos at = 0; at < 5000; at += 1000) {
    made.message(at + 100, at + 170, at + 20, at + 240);
    made.message(at + 300, at + 500, at + 300, at + 500, 1 << 20);
  }
  const auto model = MessageModel::measure(made.job, {});
  EXPECT_EQ(model->cost(0, 1, false).arrival, 140);
  EXPECT_EQ(model->cost(0, 1, true).arrival, 200);
  EXPECT_EQ(model->cost(1, 0, true).arrival, 200);
}

TEST(MessageModel, ATableOfAnotherNetworkScalesTheTimes) {
  MadeJob made;
  for (Nanos at = 0; at < 5000; at += 1000) made.message(at + 100, at + 170, at + 20, at + 240);
  cost::LinkTable table;
  table.collective = graph::CollectiveKind::kSendRecv;
  table.ranks = 2;
  table.rows.resize(1);
  table.rows.front().bytes = 1 << 20;
  table.rows.front().time = 150;
  const auto same = MessageModel::measure(made.job, {table});
  EXPECT_FALSE(same->from_table());
  EXPECT_TRUE(same->table_fits());
  EXPECT_EQ(same->cost(0, 1, false).arrival, 140);
  table.rows.front().time = 1400;
  const auto slower = MessageModel::measure(made.job, {table});
  EXPECT_TRUE(slower->from_table());
  EXPECT_EQ(slower->cost(0, 1, false).arrival, 1400);
  EXPECT_EQ(slower->cost(0, 1, false).send, 700);
  table.ranks = 4;
  EXPECT_FALSE(MessageModel::measure(made.job, {table})->table_fits());
}

TEST(MessageModel, NeedsBothEndsOfSomeMessage) {
  MadeJob made;
  made.message(100, 170, 20, 240);
  made.job.matches.front().members.pop_back();
  const auto model = MessageModel::measure(made.job, {});
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::pipeline::recorded
