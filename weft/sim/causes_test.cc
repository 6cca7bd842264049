// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"
#include "weft/sim/replay.h"

namespace weft::sim {
namespace {

std::vector<CauseTimes> causes_of(std::string_view text, const std::vector<Window>& windows,
                                  const std::vector<Window>& loading = {}) {
  const auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  if (!graph) return {};
  Replay replay(*graph);
  replay.run();
  return split_by_cause(*graph, replay.starts(), replay.ends(), windows, loading);
}

// Rank 0 launches until 2 us, computes until 12 us, copies until 15 us, and then waits for rank 1,
// which is ready at 30 us. Data moves until 50 us; a kernel of rank 0 hides half of the transfer.
constexpr const char* kTwoRanks = R"(
  lane cpu host 0
  lane a stream 0
  lane a2 stream 0
  lane b stream 1
  lane net link -
  step 1
  l: launch cpu 2us
  k: kernel a 10us after l:launch
  p: copy a 3us after k
  m: kernel b 30us
  x: arrive a2 0 after p:event_wait
  y: arrive b 0 after m
  t: transfer net 20us after x:collective, y:collective
  h: kernel a 10us after p+25us
  o: kernel a 8us after h, t:collective
  c: collective allreduce ranks=2 bytes=1000 transfer=t arrivals=x,y
)";

TEST(Causes, EachInstantHasTheFirstCauseThatApplies) {
  const auto causes = causes_of(kTwoRanks, {{0, 0, 60'000}});
  ASSERT_EQ(causes.size(), 1u);
  const CauseTimes& t = causes[0];
  EXPECT_EQ(t[Cause::kHostLaunch], 2'000);
  EXPECT_EQ(t[Cause::kCompute], 28'000);
  EXPECT_EQ(t[Cause::kMemoryCopy], 3'000);
  EXPECT_EQ(t[Cause::kWaiting], 15'000);
  EXPECT_EQ(t[Cause::kTransfer], 10'000);
  EXPECT_EQ(t[Cause::kIdle], 2'000);
  EXPECT_EQ(t.waiting_for.at(1), 15'000);
  EXPECT_EQ(t.communication, 20'000);
  EXPECT_EQ(t.hidden, 10'000);
  EXPECT_EQ(t.total(), 60'000);
}

TEST(Causes, NamesAddUpToTheTotal) {
  const auto causes = causes_of(kTwoRanks, {{0, 0, 60'000}, {1, 0, 60'000}});
  for (const CauseTimes& times : causes) {
    Nanos sum = 0;
    for (const auto& [name, time] : times.named()) sum += time;
    EXPECT_EQ(sum, 60'000);
  }
  EXPECT_EQ(causes[0].named()[3].first, "waiting_for_rank_1");
}

TEST(Causes, IdleTimeIsHostLaunchUntilTheNextWorkIsLaunched) {
  constexpr const char* text = R"(
    lane cpu host 0
    lane a stream 0
    step 1
    l: launch cpu 10us
    k: kernel a 5us after l+3us:launch
  )";
  const auto causes = causes_of(text, {{0, 0, 20'000}}, {{0, 4'000, 7'000}, {1, 0, 9'000}});
  EXPECT_EQ(causes[0][Cause::kHostLaunch], 7'000);
  EXPECT_EQ(causes[0][Cause::kDataLoading], 3'000);
  EXPECT_EQ(causes[0][Cause::kIdle], 3'000 + 2'000);
  EXPECT_EQ(causes[0][Cause::kCompute], 5'000);
}

TEST(Causes, AdjacentWindowsAddUpToTheWhole) {
  const auto whole = causes_of(kTwoRanks, {{0, 0, 60'000}});
  const auto parts = causes_of(kTwoRanks, {{0, 31'000, 60'000}, {0, 0, 31'000}});
  for (std::size_t c = 0; c < kCauses; ++c) {
    EXPECT_EQ(parts[0].by_cause[c] + parts[1].by_cause[c], whole[0].by_cause[c]);
  }
}

TEST(Causes, PartsOfAMeanAddUpToIt) {
  CauseTimes a, b, c;
  a[Cause::kCompute] = 10;
  b[Cause::kWaiting] = 4;
  b.waiting_for = {{1, 3}, {2, 1}};
  b[Cause::kIdle] = 2;
  c[Cause::kTransfer] = 1;
  const CauseTimes mean = mean_of(std::vector<CauseTimes>{a, b, c});
  EXPECT_EQ(mean.total(), 17 / 3);
  EXPECT_EQ(mean[Cause::kWaiting], mean.waiting_for.at(1) + mean.waiting_for.at(2));
}

/// Computes the causes in a second, slow way: looks at all ops for every interval between two
/// changes.
CauseTimes interval_by_interval(const graph::Graph& graph, const Replay& replay,
                                const Window& window) {
  using graph::OpKind;
  std::set<Nanos> times{window.begin, window.end};
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    for (const Nanos t : {replay.start(op), replay.end(op)}) {
      if (t > window.begin && t < window.end) times.insert(t);
    }
  }
  CauseTimes out;
  for (auto from = times.begin(), to = std::next(from); to != times.end(); ++from, ++to) {
    const auto covers = [&](Nanos start, Nanos end) { return start <= *from && *to <= end; };
    std::array<bool, kCauses> holds{};
    const auto note = [&](Cause cause, Nanos start, Nanos end) {
      holds[static_cast<std::size_t>(cause)] |= covers(start, end);
    };
    for (graph::OpId op = 0; op < graph.size(); ++op) {
      if (graph.rank(op) != window.rank) continue;
      const Nanos start = replay.start(op), end = replay.end(op);
      const OpKind kind = graph.ops.kind[op];
      if (kind == OpKind::kArrive) {
        const graph::OpId moves = graph.collectives[graph.ops.collective[op]].transfer;
        // The rank that arrives last waits only for the link. If several ranks arrive last at the
        // same time, the lowest of them counts as the last.
        const auto& arrivals = graph.collectives[graph.ops.collective[op]].arrivals;
        const bool last = std::all_of(arrivals.begin(), arrivals.end(), [&](graph::OpId other) {
          return std::pair{replay.end(other), -graph.rank(other)} <=
                 std::pair{end, -graph.rank(op)};
        });
        note(last ? Cause::kTransfer : Cause::kWaiting, end, replay.start(moves));
        note(Cause::kTransfer, replay.start(moves), replay.end(moves));
      } else if (graph.lanes[graph.ops.lane[op]].kind == graph::LaneKind::kStream) {
        note(kind == OpKind::kCopy ? Cause::kMemoryCopy : Cause::kCompute, start, end);
      }
    }
    const auto first = std::find(holds.begin(), holds.end(), true);
    const auto cause =
        first == holds.end() ? Cause::kIdle : static_cast<Cause>(first - holds.begin());
    out[cause] += *to - *from;
  }
  return out;
}

TEST(Causes, AgreeWithTheSlowReference) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = graph::RandomGraph(seed).job(3, 60);
    Replay replay(graph);
    replay.run();
    const Window window{0, 3, std::max<Nanos>(4, replay.makespan() - 2)};
    const CauseTimes fast = split_by_cause(graph, replay.starts(), replay.ends(), {window}).front();
    const CauseTimes slow = interval_by_interval(graph, replay, window);
    for (const Cause cause :
         {Cause::kCompute, Cause::kMemoryCopy, Cause::kTransfer, Cause::kWaiting}) {
      EXPECT_EQ(fast[cause], slow[cause]) << cause_name(cause);
    }
    EXPECT_EQ(fast.total(), window.end - window.begin);
  }
}

}  // namespace
}  // namespace weft::sim
