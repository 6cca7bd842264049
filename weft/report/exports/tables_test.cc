// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/tables.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::report {
namespace {

using trace::MadeRank;

predict::Job job_of(std::vector<MadeRank> ranks) {
  trace::Run run;
  run.world = static_cast<std::int32_t>(ranks.size());
  for (MadeRank& rank : ranks) run.ranks.push_back(std::move(rank.trace));
  Diagnostics diagnostics;
  auto job = predict::make_job(std::move(run), diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return std::move(*job);
}

std::int64_t number(const Table& table, const std::string& column, std::size_t row) {
  for (const Column& each : table.columns) {
    if (each.name == column) return std::get<Integers>(each.values).at(row);
  }
  ADD_FAILURE() << "no column " << column;
  return 0;
}

std::string text(const Table& table, const std::string& column, std::size_t row) {
  for (const Column& each : table.columns) {
    if (each.name != column) continue;
    const auto& texts = std::get<Texts>(each.values);
    return std::string(texts.dictionary.text(static_cast<std::size_t>(texts.codes.at(row))));
  }
  ADD_FAILURE() << "no column " << column;
  return {};
}

std::string csv(const Table& table) {
  std::string out;
  EXPECT_TRUE(write_csv(table, *memory_sink(out)));
  return out;
}

/// Step 7 has a launch and its kernel, then an all-reduce at which rank 1 arrives late.
std::vector<MadeRank> two_ranks() {
  std::vector<MadeRank> ranks;
  for (std::int32_t r = 0; r < 2; ++r) {
    MadeRank& rank = ranks.emplace_back(r, 2);
    rank.trace.steps.push_back({7, 0, kMillisecond, 3 * kMillisecond});
    rank.host("aten::mm", kMillisecond, 100 * kMicrosecond);
    rank.runtime(kMillisecond + 10'000, 5'000, 42);
    // This kernel runs after the end of the step on the host. It still belongs to the step, because
    // the step launched it.
    rank.kernel("gemm", 4 * kMillisecond, 500 * kMicrosecond, 42, 7);
    const Nanos late = r * 300 * kMicrosecond;
    const auto event = rank.kernel(trace::kAllReduceKernel, 6 * kMillisecond, kMillisecond - late);
    rank.describe(event, "allreduce", 1000).sequence = 5;
  }
  return ranks;
}

TEST(Tables, EventsHaveTheStepOfTheirLaunchAndOneClock) {
  const predict::Job job = job_of(two_ranks());
  const Table table = event_table(job);
  ASSERT_EQ(table.rows(), 8u);
  EXPECT_EQ(number(table, "start_ns", 0), 0) << "counts from the first event";
  EXPECT_EQ(text(table, "name", 2), "gemm");
  EXPECT_EQ(text(table, "lane", 2), "stream 7");
  EXPECT_EQ(text(table, "kind", 2), "kernel");
  EXPECT_EQ(number(table, "step", 2), 7);
  EXPECT_EQ(number(table, "correlation", 2), 42);
  EXPECT_EQ(number(table, "correlation", 0), kMissing);
  EXPECT_EQ(text(table, "collective", 2), "");
  EXPECT_EQ(text(table, "collective", 3), "allreduce");
  EXPECT_EQ(number(table, "bytes", 3), 4000);
  EXPECT_EQ(number(table, "sequence", 3), 5);
  EXPECT_EQ(number(table, "group_size", 3), 2);
}

TEST(Tables, CollectivesHaveLatenessAndTransferTimes) {
  const Table table = collective_table(job_of(two_ranks()));
  ASSERT_EQ(table.rows(), 2u);
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(number(table, "rank", row), static_cast<std::int64_t>(row));
    EXPECT_EQ(number(table, "skew_ns", row), 300 * kMicrosecond);
    EXPECT_EQ(number(table, "transfer_ns", row), 700 * kMicrosecond);
    EXPECT_EQ(number(table, "late_by_ns", row), row == 0 ? 0 : 300 * kMicrosecond);
    EXPECT_EQ(number(table, "bytes", row), 4000);
  }
}

TEST(Tables, StepsHaveTheMarksOfTheHostAndTheEndOfTheDevice) {
  const Table table = step_table(job_of(two_ranks()));
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(number(table, "step", 0), 7);
  EXPECT_EQ(number(table, "host_start_ns", 0), 0);
  EXPECT_EQ(number(table, "host_end_ns", 0), 2 * kMillisecond);
  EXPECT_EQ(number(table, "end_ns", 0), 3 * kMillisecond) << "of the gemm, the last work of step 7";
}

TEST(Tables, ErrorForAnUnknownNameListsAllTables) {
  const auto table = make_table(job_of(two_ranks()), "event");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::kUsage);
  EXPECT_NE(table.error().message.find("events, collectives, steps"), std::string::npos);
}

TEST(Csv, QuotesFieldsIfNecessary) {
  TextsBuilder names;
  names.add("plain");
  names.add("a,b");
  names.add("say \"hi\"\nthere");
  names.add("");
  Table table{"t", {}};
  table.columns.push_back({"text", "", false, names.finish()});
  table.columns.push_back({"n,1", "", true, Integers{1, kMissing, INT64_MIN, 0}});
  EXPECT_EQ(csv(table),
            "text,\"n,1\"\nplain,1\n\"a,b\",\n\"say \"\"hi\"\"\nthere\","
            "-9223372036854775808\n,0\n");
}

TEST(Texts, AreValidUtf8AndDistinct) {
  TextsBuilder builder;
  builder.add("ok\xc3\xa4");
  builder.add("\xff!");
  builder.add("\xfe!");
  const Texts texts = builder.finish();
  ASSERT_EQ(texts.dictionary.size(), 3u) << "code 0 is the empty text";
  EXPECT_EQ(texts.dictionary.text(0), "");
  EXPECT_EQ(texts.dictionary.text(1), "ok\xc3\xa4");
  EXPECT_EQ(texts.dictionary.text(2), "\xef\xbf\xbd!");
  EXPECT_EQ(texts.codes, (std::vector<std::int32_t>{1, 2, 2}));
}

TEST(Csv, TableWithoutRowsHasOnlyAHeader) {
  Table table{"t", {}};
  table.columns.push_back({"a", "", false, Integers{}});
  EXPECT_EQ(csv(table), "a\n");
}

}  // namespace
}  // namespace weft::report
