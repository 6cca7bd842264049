// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/calibration.h"

#include <gtest/gtest.h>

namespace weft::cost {
namespace {

using graph::CollectiveKind;

constexpr const char* kStart =
    R"(weft-calibrate {"event": "start", "protocol": 1, "ranks": 4, "backend": "gloo",)"
    R"( "dtype": "float32", "library": "torch 2.13.0", "device": "cpu", "passes": 3,)"
    R"( "hosts": ["a", "a", "b", "c"]})";

std::string sample(const std::string& collective, int ranks, int bytes, const std::string& rest) {
  return R"(weft-calibrate {"event": "sample", "collective": ")" + collective + R"(", "ranks": )" +
         std::to_string(ranks) + R"(, "bytes": )" + std::to_string(bytes) + ", " + rest + "}";
}

Calibration taken(const std::vector<std::string>& lines) {
  Calibration calibration;
  EXPECT_TRUE(calibration.take(kStart));
  for (const std::string& line : lines) EXPECT_TRUE(calibration.take(line)) << line;
  return calibration;
}

TEST(Calibration, SamplesOfAllPassesFormOneRow) {
  const Calibration calibration = taken({
      sample("all_reduce", 4, 2048, R"("alone_us": [40], "back_to_back_us": 30)"),
      sample("all_reduce", 4, 1024, R"("alone_us": [10, 12], "back_to_back_us": 9)"),
      sample("all_reduce", 4, 1024,
             R"("alone_us": [11, 50], "back_to_back_us": 8, "two_at_once_us": 5)"),
      sample("all_reduce", 4, 1024, R"("alone_us": [13], "back_to_back_us": 70)"),
  });
  const auto tables = calibration.tables();
  ASSERT_EQ(tables.size(), 1u);
  const LinkTable& table = tables.front();
  EXPECT_EQ(table.collective, CollectiveKind::kAllReduce);
  EXPECT_EQ(table.ranks, 4);
  EXPECT_EQ(table.backend, "gloo");
  EXPECT_EQ(table.hosts, (std::vector<std::string>{"a", "a", "b", "c"}));
  ASSERT_EQ(table.rows.size(), 2u);
  const LinkRow& row = table.rows.front();  // rows are sorted by size, not by order of measurement
  EXPECT_EQ(row.bytes, 1024);
  EXPECT_EQ(row.alone, 12'000);
  EXPECT_EQ(row.shortest, 10'000);
  EXPECT_EQ(row.spread, 2'000);
  EXPECT_EQ(row.back_to_back, 9'000);
  EXPECT_EQ(row.two_at_once, 5'000);
  EXPECT_EQ(row.calls, 5);
  EXPECT_EQ(table.rows.back().time, 40'000);
}

TEST(Calibration, WrittenTablesCanBeReadBackUnchanged) {
  std::vector<LinkTable> tables =
      taken({sample("broadcast", 4, 8, R"("alone_us": [1.5, 2], "back_to_back_us": 1)"),
             sample("send_recv", 2, 8, R"("alone_us": [3], "from": 0, "to": 2)")})
          .tables();
  for (LinkTable& table : tables) {
    table.network = "between \"racks\"";
    table.date = "2026-11-15";
  }
  const std::string text = write_links(tables);
  const auto read = parse_links(text, "t.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_links(*read), text);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().network, "between \"racks\"");
  EXPECT_EQ(read->front().rows.front().alone, 2'000);
  ASSERT_EQ((*read)[1].pairs.size(), 1u);
  EXPECT_FALSE((*read)[1].pairs.front().same_host);
}

TEST(Calibration, RowsOfMessagesAreMediansOverPairsOnDifferentHosts) {
  const auto tables =
      taken({
                sample("send_recv", 2, 64, R"("alone_us": [1], "from": 0, "to": 1)"),
                sample("send_recv", 2, 64, R"("alone_us": [20], "from": 0, "to": 2)"),
                sample("send_recv", 2, 64, R"("alone_us": [90], "from": 0, "to": 3)"),
                sample("send_recv", 2, 64, R"("alone_us": [22], "from": 2, "to": 3)"),
                sample("send_recv", 4, 64, R"("alone_us": [33])"),
            })
          .tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].ranks, 2);
  ASSERT_EQ(tables[0].pairs.size(), 4u);
  EXPECT_TRUE(tables[0].pairs[0].same_host);
  EXPECT_EQ(tables[0].rows.front().alone, 22'000);
  EXPECT_EQ(tables[1].ranks, 4);  // messages of all ranks at once have a separate table
  EXPECT_TRUE(tables[1].pairs.empty());
}

TEST(Calibration, LaunchersMayPutTextBeforeALine) {
  Calibration calibration;
  EXPECT_FALSE(calibration.take("warning: something"));
  EXPECT_TRUE(calibration.take("[1,0]<stdout>:" + std::string(kStart)));
  EXPECT_TRUE(calibration.started());
  EXPECT_EQ(calibration.broken_lines(), 0);
}

TEST(Calibration, RankZeroMayRunUnderAnotherLauncher) {
  Calibration calibration;
  EXPECT_TRUE(calibration.take(R"(weft-calibrate {"event": "elsewhere"})"));
  EXPECT_TRUE(calibration.elsewhere());
  // If one launcher serves all hosts, the line of rank 0 arrives here as well.
  EXPECT_TRUE(calibration.take(kStart));
  EXPECT_FALSE(calibration.elsewhere());
}

TEST(Calibration, KeepsTheErrorThatTheRanksReported) {
  Calibration calibration;
  EXPECT_TRUE(calibration.take(
      R"(weft-calibrate {"event": "error", "kind": "missing", "what": "no torch"})"));
  ASSERT_TRUE(calibration.failure());
  EXPECT_EQ(calibration.failure()->kind, "missing");
  EXPECT_EQ(calibration.failure()->what, "no torch");
}

TEST(Calibration, InvalidLinesAreCountedAndIgnored) {
  const Calibration calibration = taken({
      "weft-calibrate {\"event\": \"sam",
      "weft-calibrate 7",
      sample("dance", 4, 8, R"("alone_us": [1])"),
      sample("all_reduce", 0, 8, R"("alone_us": [1])"),
      sample("all_reduce", 4, 0, R"("alone_us": [1])"),
      sample("all_reduce", 4, 8, R"("alone_us": [])"),
      sample("all_reduce", 4, 8, R"("alone_us": [-3, 0])"),
      sample("all_reduce", 4, 8, R"("alone_us": "quick")"),
      sample("send_recv", 2, 8, R"("alone_us": [1], "from": 0, "to": 4)"),
  });
  EXPECT_EQ(calibration.broken_lines(), 9);
  EXPECT_TRUE(calibration.tables().empty());
}

TEST(Calibration, LinesOfAnotherProtocolVersionAreRefused) {
  Calibration calibration;
  EXPECT_TRUE(
      calibration.take(R"(weft-calibrate {"event": "start", "protocol": 2, "hosts": ["a", "b"]})"));
  EXPECT_FALSE(calibration.started());
  EXPECT_EQ(calibration.broken_lines(), 1);
}

}  // namespace
}  // namespace weft::cost
