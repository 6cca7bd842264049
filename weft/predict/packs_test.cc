// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/packs.h"

#include <gtest/gtest.h>

#include "weft/graph/plain_replay.h"
#include "weft/graph/text.h"

namespace weft::predict {
namespace {

/// Two ranks have three gradients of a million bytes. Each gradient is all-reduced in 12 ms as soon
/// as it is ready, then the ranks update. Another op ("log") follows the first all-reduce.
graph::Graph three_gradients(const std::string& bytes = " bytes=1000000") {
  std::string text =
      "lane h0 host 0\nlane h1 host 1\nlane n0 host 0\nlane n1 host 1\nlane net link -\nstep 1\n";
  std::string before, collectives;
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), at = std::to_string(10 * i);
    for (const std::string r : {"0", "1"}) {
      text += "g" + r + n + ": host h" + r + " 10ms \"gradient\" at=" + at + "ms took=10ms" +
              (i > 0 ? " after g" + r + std::to_string(i - 1) : "") + "\n";
      text += "a" + r + n + ": arrive n" + r + " 0 \"ring\" at=" + std::to_string(10 * i + 10) +
              "ms after g" + r + n + ":thread\n";
    }
    text += "t" + n + ": transfer net 12ms at=" + std::to_string(10 + 12 * i) +
            "ms took=12ms after a0" + n + ":collective, a1" + n + ":collective" +
            (i > 0 ? ", t" + std::to_string(i - 1) : "") + "\n";
    if (i == 0) text += "log: host h0 0 \"log\" at=22ms after t0:thread\n";
    collectives += "c" + n + ": collective allreduce ranks=2" + bytes + " transfer=t" + n +
                   " arrivals=a0" + n + ",a1" + n + "\n";
  }
  for (const std::string r : {"0", "1"}) {
    text += "u" + r + ": host h" + r + " 5ms \"update\" at=46ms took=5ms after g" + r +
            "2, t0:thread, t1:thread, t2:thread\n";
  }
  auto graph = graph::parse_text(text + collectives);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph.value();
}

/// A link with 2 ms of latency and 10 ms for each million bytes.
cost::LinkModel links() {
  cost::LinkTable table;
  table.ranks = 2;
  table.rows = {{1, 2 * kMillisecond}, {10'000'000, 102 * kMillisecond}};
  return cost::LinkModel({table}, graph::Graph());
}

std::vector<Bytes> sizes(const graph::Graph& graph) {
  std::vector<Bytes> found;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer != graph::kNoId) found.push_back(c.bytes);
  }
  return found;
}

Nanos last_end(const graph::Graph& graph) {
  const auto ends = graph::plain_ends(graph);
  return *std::max_element(ends.begin(), ends.end());
}

double in_ms(Nanos time) { return static_cast<double>(time) / kMillisecond; }

Result<graph::Graph> joined(const graph::Graph& graph, Bytes cap, const cost::LinkModel& model) {
  WEFT_ASSIGN(const graph::Edit edit, join_packs(graph, cap, model));
  return graph::apply(graph, edit);
}

TEST(Packs, TakeAllReducesUntilTheyExceedTheCap) {
  const graph::Graph before = three_gradients();
  EXPECT_EQ(last_end(before), 51 * kMillisecond);
  const auto two = joined(before, 1'000'000, links());
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_TRUE(graph::verify(*two));
  EXPECT_EQ(sizes(*two), (std::vector<Bytes>{2'000'000, 1'000'000}));
  // The first pack starts at 20 ms and takes 22 ms. Then the last all-reduce takes its recorded
  // 12 ms, and the update takes 5 ms.
  EXPECT_NEAR(in_ms(last_end(*two)), 59, 1e-3);
  const auto one = joined(before, 100'000'000, links());
  ASSERT_TRUE(one);
  EXPECT_EQ(sizes(*one), (std::vector<Bytes>{3'000'000}));
  EXPECT_NEAR(in_ms(last_end(*one)), 67, 1e-3);
}

TEST(Packs, SmallCapChangesNothing) {
  const auto same = joined(three_gradients(), 999'999, links());
  ASSERT_TRUE(same);
  EXPECT_EQ(sizes(*same).size(), 3u);
  EXPECT_EQ(last_end(*same), 51 * kMillisecond);
}

TEST(Packs, NeedSizesTransferTimesAndSomethingToJoin) {
  EXPECT_FALSE(joined(three_gradients(""), 1'000'000, links()));
  EXPECT_FALSE(joined(three_gradients(), 10'000'000, cost::LinkModel({}, graph::Graph())));
  auto none = three_gradients();
  none.collectives.resize(1);
  const auto refused = joined(none, 1'000'000, links());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::predict
