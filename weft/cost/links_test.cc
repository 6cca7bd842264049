// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/links.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "weft/base/file.h"
#include "weft/graph/text.h"

namespace weft::cost {
namespace {

using graph::CollectiveKind;

constexpr std::string_view kTable = R"({
  "collective": "all_reduce", "dtype": "float32", "ranks": 4, "network": "loopback",
  "rows": [{"bytes": 1000, "median_us": 10}, {"bytes": 3000, "median_us": 30.5},
           {"bytes": 2000, "median_us": 20}]})";

LinkTable parse_one(std::string_view text) {
  const auto tables = parse_links(text, "t.json");
  EXPECT_TRUE(tables) << tables.error().text();
  EXPECT_EQ(tables->size(), 1u);
  return tables->front();
}

std::string error_of(std::string_view text) {
  const auto tables = parse_links(text, "t.json");
  if (tables) return "no error";
  EXPECT_EQ(tables.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(tables.error().file, "t.json");
  return tables.error().message;
}

TEST(LinkTable, HoldsTheFieldsOfTheFile) {
  const LinkTable table = parse_one(kTable);
  EXPECT_EQ(table.collective, CollectiveKind::kAllReduce);
  EXPECT_EQ(table.ranks, 4);
  EXPECT_EQ(table.network, "loopback");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[1].bytes, 2000);  // sorted by size
  EXPECT_EQ(table.rows[2].time, 30'500);
}

TEST(LinkTable, FileMayHoldAList) {
  const std::string list = "[" + std::string(kTable) +
                           R"(, {"collective": "send_recv", "ranks": 2,
                                 "rows": [{"bytes": 8, "median_us": 1}]}])";
  const auto tables = parse_links(list, "t.json");
  ASSERT_TRUE(tables) << tables.error().text();
  ASSERT_EQ(tables->size(), 2u);
  EXPECT_EQ((*tables)[1].collective, CollectiveKind::kSendRecv);
}

TEST(LinkTable, TimesAreInterpolatedBetweenRows) {
  const LinkTable table = parse_one(kTable);
  EXPECT_EQ(table.time(1000), 10'000);
  EXPECT_EQ(table.time(1500), 15'000);
  EXPECT_EQ(table.time(2500), 25'250);
  EXPECT_EQ(table.time(3000), 30'500);
}

TEST(LinkTable, SizesBelowTheFirstRowTakeItsTime) {
  const LinkTable table = parse_one(kTable);
  EXPECT_EQ(table.time(0), 10'000);
  EXPECT_EQ(table.time(999), 10'000);
  EXPECT_EQ(table.latency(), 10'000);
}

TEST(LinkTable, BeyondTheLastRowTimesGrowWithBytes) {
  const LinkTable table = parse_one(kTable);
  EXPECT_EQ(table.time(6000), 61'000);
  EXPECT_EQ(table.time(3'000'000), 30'500'000);
}

TEST(LinkTable, SustainedTimeIsUsedIfItIsALittleLonger) {
  const LinkTable table = parse_one(R"({"collective": "all_reduce", "ranks": 2, "rows": [
      {"bytes": 10, "median_us": 100, "back_to_back_us": 60},
      {"bytes": 20, "median_us": 100, "back_to_back_us": 105},
      {"bytes": 30, "median_us": 100, "back_to_back_us": 300}]})");
  EXPECT_EQ(table.time(10), 100'000);
  EXPECT_EQ(table.time(20), 105'000);
  EXPECT_EQ(table.time(30), 100'000);
}

TEST(LinkTable, ReadsAllFieldsThatCalibrateWrites) {
  const LinkTable table = parse_one(R"({"collective": "send_recv", "ranks": 2, "dtype": "float32",
      "backend": "gloo", "library": "torch 2.13.0", "device": "cpu", "date": "2026-11-15T10:00:00Z",
      "rows": [{"bytes": 8, "median_us": 3, "min_us": 2, "spread_us": 0.5, "calls": 12,
                "back_to_back_us": 2.5, "two_at_once_us": 2}],
      "hosts": ["a", "b"],
      "pairs": [{"from": 0, "to": 1, "same_host": false,
                 "rows": [{"bytes": 16, "median_us": 4}, {"bytes": 8, "median_us": 3}]}]})");
  EXPECT_EQ(table.library, "torch 2.13.0");
  EXPECT_EQ(table.hosts, (std::vector<std::string>{"a", "b"}));
  const LinkRow& row = table.rows.front();
  EXPECT_EQ(row.shortest, 2'000);
  EXPECT_EQ(row.spread, 500);
  EXPECT_EQ(row.two_at_once, 2'000);
  EXPECT_EQ(row.calls, 12);
  ASSERT_EQ(table.pairs.size(), 1u);
  EXPECT_EQ(table.pairs[0].to, 1);
  EXPECT_FALSE(table.pairs[0].same_host);
  EXPECT_EQ(table.pairs[0].rows.front().bytes, 8);  // sorted by size
}

TEST(LinkTable, FilesAreRecognisedByTheirFirstBytes) {
  const std::string folder = ::testing::TempDir();
  const auto put = [&](const char* name, std::string_view text) {
    EXPECT_TRUE(write_file(folder + name, text));
    return folder + name;
  };
  EXPECT_TRUE(is_links(put("weft-links.json", kTable)));
  EXPECT_TRUE(is_links(put("weft-list.json", "[" + std::string(kTable) + "]")));
  EXPECT_FALSE(is_links(put("weft-other.json", R"({"traceEvents": []})")));
  EXPECT_FALSE(is_links(folder));
  EXPECT_FALSE(is_links(folder + "missing"));
  EXPECT_FALSE(is_links("-"));
}

TEST(LinkTable, BadPairsAreRefused) {
  for (const char* pair : {"{}", "7", R"({"from": 0, "to": -1})", R"({"from": 0, "to": 1})",
                           R"({"from": 0, "to": 1, "rows": []})"}) {
    const std::string text = R"({"collective": "send_recv", "ranks": 2,
        "rows": [{"bytes": 8, "median_us": 1}], "pairs": [)" +
                             std::string(pair) + "]}";
    EXPECT_NE(error_of(text), "no error") << text;
  }
}

TEST(LinkTable, BadTablesAreRefused) {
  EXPECT_NE(error_of("[]").find("empty"), std::string::npos);
  EXPECT_NE(error_of("3").find("no link table"), std::string::npos);
  EXPECT_NE(error_of("{").find(""), std::string::npos);
  EXPECT_NE(error_of(R"({"ranks": 2, "rows": []})").find("'collective'"), std::string::npos);
  EXPECT_NE(error_of(R"({"collective": "dance", "ranks": 2})").find("dance"), std::string::npos);
  EXPECT_NE(error_of(R"({"collective": "all_reduce", "ranks": 0})").find("'ranks'"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"collective": "all_reduce", "ranks": "two"})").find("'ranks'"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"collective": "all_reduce", "ranks": 2, "rows": []})").find("'rows'"),
            std::string::npos);
  for (const char* row :
       {"{}", "7", R"({"bytes": 8})", R"({"bytes": 0, "median_us": 1})",
        R"({"bytes": -8, "median_us": 1})", R"({"bytes": 8, "median_us": 0})",
        R"({"bytes": 8, "median_us": -1})", R"({"bytes": 8, "median_us": NaN})",
        R"({"bytes": 8, "median_us": 1e300})", R"({"bytes": "much", "median_us": 1})"}) {
    const std::string text =
        R"({"collective": "all_reduce", "ranks": 2, "rows": [)" + std::string(row) + "]}";
    EXPECT_NE(error_of(text).find("row"), std::string::npos) << text;
  }
}

TEST(LinkTable, EveryMeasuredTableIsRead) {
  const std::filesystem::path folder = std::string(WEFT_SOURCE_DIR) + "/../shared/traces/h200-nccl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  int count = 0;
  for (const char* name : {"allreduce", "all_gather", "reduce_scatter", "send_recv"}) {
    for (const int ranks : {2, 4}) {
      const auto path = folder / (std::string(name) + "-w" + std::to_string(ranks) + ".json");
      const auto tables = read_links(path.string());
      ASSERT_TRUE(tables) << tables.error().text();
      EXPECT_EQ(tables->front().ranks, ranks);
      ++count;
    }
  }
  EXPECT_EQ(count, 8);
}

/// A recording of all-reduces of two ranks with these sizes and times.
graph::Graph recording(const std::vector<std::pair<Bytes, Nanos>>& transfers) {
  std::string text = "lane a stream 0\nlane b stream 1\nlane net link -\n";
  int i = 0;
  for (const auto& [bytes, time] : transfers) {
    const std::string n = std::to_string(i++);
    text += "x" + n + ": arrive a 0\ny" + n + ": arrive b 0\nt" + n + ": transfer net " +
            std::to_string(time) + "ns at=0 took=" + std::to_string(time) + "ns after x" + n +
            ":collective, y" + n + ":collective\nc" + n +
            ": collective allreduce ranks=2 bytes=" + std::to_string(bytes) + " transfer=t" + n +
            " arrivals=x" + n + ",y" + n + "\n";
  }
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

TEST(LinkModel, FitsALineToTheRecordedTransfers) {
  // The fitted line must be 5 us + 2 ns per byte. The last call is an outlier.
  const LinkModel model({}, recording({{1000, 7'000},
                                       {2000, 9'000},
                                       {4000, 13'000},
                                       {8000, 21'000},
                                       {8000, 21'000},
                                       {8000, 90'000}}));
  const auto estimate = model.transfer(CollectiveKind::kAllReduce, 2, 3000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->time, 11'000);
  EXPECT_EQ(estimate->latency, 5'000);
  EXPECT_FALSE(estimate->measured);
}

TEST(LinkModel, TheTimeOfASingleSizeCountsAsBandwidth) {
  const LinkModel model({}, recording({{1000, 4'000}, {1000, 4'000}}));
  const auto estimate = model.transfer(CollectiveKind::kAllReduce, 2, 500);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->time, 2'000);
  EXPECT_EQ(estimate->latency, 0);
}

TEST(LinkModel, SimilarSizesGiveNoLatency) {
  const LinkModel model({}, recording({{8000, 78'000}, {16000, 126'000}}));
  const auto estimate = model.transfer(CollectiveKind::kAllReduce, 2, 24000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->time, 204'000) << "the sum of both times for the sum of both sizes";
  EXPECT_EQ(estimate->latency, 0);
}

/// A table of two ranks with 10 us for 1000 bytes, 20 us for 2000 and 30.5 us for 3000. Its samples
/// scatter by this relative standard deviation.
LinkTable table_with_scatter(double scatter) {
  LinkTable table = parse_one(kTable);
  table.ranks = 2;
  for (LinkRow& row : table.rows) {
    row.spread = std::llround(1.349 * scatter * static_cast<double>(row.alone));
  }
  return table;
}

TEST(LinkModel, TheTableGivesTheShape) {
  const LinkModel model({table_with_scatter(0.05)}, recording({{2000, 20'000}, {2000, 20'000}}));
  const auto estimate = model.transfer(CollectiveKind::kAllReduce, 2, 1500);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->time, 15'000);
  EXPECT_EQ(estimate->latency, 10'000);
  EXPECT_TRUE(estimate->measured);
  EXPECT_TRUE(model.has_table(CollectiveKind::kAllReduce, 2));
  EXPECT_FALSE(model.has_table(CollectiveKind::kAllReduce, 4));
}

TEST(LinkModel, EachSourceCountsByTheInverseOfItsVariance) {
  // The recorded transfers took 0.8 times as long as in the table, give or take 10 %.
  const auto job = recording({{2000, 14'600}, {2000, 16'000}, {2000, 17'530}});
  const auto level = [&](double scatter) {
    const LinkModel model({table_with_scatter(scatter)}, job);
    return static_cast<double>(model.transfer(CollectiveKind::kAllReduce, 2, 1000)->time) / 10'000;
  };
  EXPECT_NEAR(level(0.02), 1.0, 0.02);
  const double equal = level(0.11);
  EXPECT_NEAR(equal, 0.894, 0.01) << "equal variance: the geometric mean of both";
  EXPECT_LT(level(0.2), equal);
  EXPECT_NEAR(level(2), 0.8, 0.01);
}

TEST(LinkModel, ATableOfOtherConditionsIsRescaled) {
  // Scatter cannot explain a factor of 3, so the recording decides.
  const LinkModel model({table_with_scatter(0.02)},
                        recording({{2000, 59'000}, {2000, 60'000}, {2000, 61'000}}));
  const auto estimate = model.transfer(CollectiveKind::kAllReduce, 2, 1000);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(static_cast<double>(estimate->time), 30'000, 600);
}

TEST(LinkModel, AnotherGroupSizeHasTheSameNetworkWithALargerError) {
  LinkTable larger = table_with_scatter(0.02);
  larger.ranks = 4;
  const LinkModel model({table_with_scatter(0.02), larger},
                        recording({{2000, 60'000}, {2000, 60'000}, {2000, 60'000}}));
  const auto two = model.transfer(CollectiveKind::kAllReduce, 2, 1000);
  const auto four = model.transfer(CollectiveKind::kAllReduce, 4, 1000);
  ASSERT_TRUE(two && four);
  EXPECT_EQ(four->time, two->time);
  EXPECT_GT(four->error, two->error);
}

TEST(LinkModel, TheErrorGrowsBeyondTheLargestSize) {
  const LinkModel tabled({table_with_scatter(0.05)}, recording({{2000, 20'000}}));
  const LinkModel recorded({}, recording({{1000, 10'000}, {2000, 20'000}, {3000, 30'000}}));
  for (const LinkModel* model : {&tabled, &recorded}) {
    const auto error = [&](Bytes bytes) {
      return model->transfer(CollectiveKind::kAllReduce, 2, bytes)->error;
    };
    EXPECT_EQ(error(2000), error(3000));
    EXPECT_GT(error(6000), error(3000));
    EXPECT_GT(error(24000), error(6000) + 0.05);
  }
}

TEST(LinkModel, WithoutATableSmallTransfersHaveUnknownLatency) {
  const LinkModel model({}, recording({{1000, 10'000}, {2000, 20'000}, {3000, 30'000}}));
  const auto small = model.transfer(CollectiveKind::kAllReduce, 2, 100);
  const auto known = model.transfer(CollectiveKind::kAllReduce, 2, 1500);
  ASSERT_TRUE(small && known);
  EXPECT_EQ(small->time, 1'000);
  EXPECT_EQ(small->longest, 10'000) << "it takes at most as long as the smallest recorded one";
  EXPECT_EQ(known->longest, known->time);
  EXPECT_EQ(model.smallest_known(CollectiveKind::kAllReduce, 2), 1000);
  EXPECT_EQ(model.smallest_known(CollectiveKind::kAllGather, 2), -1);
}

TEST(LinkModel, CollectivesNeitherMeasuredNorRecordedAreUnknown) {
  const LinkModel model({}, recording({{1000, 4'000}}));
  EXPECT_FALSE(model.transfer(CollectiveKind::kAllGather, 2, 1000));
  EXPECT_FALSE(model.transfer(CollectiveKind::kAllReduce, 8, 1000));
  EXPECT_FALSE(LinkModel().transfer(CollectiveKind::kAllReduce, 2, 1000));
}

}  // namespace
}  // namespace weft::cost
