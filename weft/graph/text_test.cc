// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/text.h"

#include <gtest/gtest.h>

#include "weft/graph/random_graph.h"

namespace weft::graph {
namespace {

std::string error_of(std::string_view text) {
  const auto graph = parse_text(text);
  return graph ? "no error" : graph.error().message;
}

// A text that uses every field of the format, in the form in which print_text() writes it.
constexpr std::string_view kEverything =
    R"(lane r0/cpu host 0
lane "r0/stream 7" stream 0
lane twin stream 1
lane twin stream 1
lane "link \"0\" \\ \x0a" link -
steps 3 4 9
o0: host r0/cpu 0
step 4
o1: launch r0/cpu 5us "aten::mm" at=-2us after o0
o2: kernel "r0/stream 7" 100us "gemm" bytes=4096 at=12us took=101ns event=3 after o1+3us:launch?
step 3
o3: arrive "r0/stream 7" 0 after o2
o4: arrive @2 1501ns
o5: transfer "link \"0\" \\ \x0a" 2s bytes=64 after o3:collective, o4+1ms:collective
step none
o6: kernel @3 1ms of=c0 after o5:collective, o4:data?
o7: sync r0/cpu 0 after o6+1ns:host_sync, o1:thread, o0:event_wait
c0: collective allreduce ranks=2 bytes=1048576 group="tp 0" seq=7 transfer=o5 arrivals=o3,o4
c1: collective other ranks=0
)";

TEST(Text, PrintsWhatItParsed) {
  const auto graph = parse_text(kEverything);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(print_text(*graph), kEverything);
}

TEST(Text, RandomGraphsSurviveARoundTrip) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.job(4, 100);
    graph.steps = {2, 3, 5};
    for (OpId op = 0; op < graph.size(); ++op) {
      graph.ops.name[op] = graph.names.intern(std::string(1, static_cast<char>(random.time())));
      graph.ops.step[op] = static_cast<std::int32_t>(random.pick(0, 1) ? graph.steps[op % 3] : -1);
      // The recorded starts are in random order. The ids must not change because of this.
      graph.ops.recorded_start[op] = random.pick(-2, 1'000'000'000'000);
      graph.ops.bytes[op] = random.pick(-1, 3);
    }
    const std::string printed = print_text(graph);
    const auto again = parse_text(printed);
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(print_text(*again), printed);
    ASSERT_EQ(again->ops.duration, graph.ops.duration);
    ASSERT_EQ(again->ops.recorded_start, graph.ops.recorded_start);
    ASSERT_EQ(again->ops.step, graph.ops.step);
    ASSERT_EQ(again->ops.collective, graph.ops.collective);
    ASSERT_EQ(again->first_edge, graph.first_edge);
    for (OpId op = 0; op < graph.size(); ++op) ASSERT_EQ(again->name(op), graph.name(op));
  }
}

TEST(Text, FillsTheColumns) {
  const auto graph = parse_text(kEverything);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->lanes[0].kind, LaneKind::kHost);
  EXPECT_EQ(graph->lanes[4].rank, -1);
  EXPECT_EQ(graph->lanes[4].name, "link \"0\" \\ \n");
  EXPECT_EQ(graph->steps, (std::vector<std::int64_t>{3, 4, 9}));
  EXPECT_EQ(graph->ops.step[0], -1);
  EXPECT_EQ(graph->ops.kind[2], OpKind::kKernel);
  EXPECT_EQ(graph->ops.step[2], 4);
  EXPECT_EQ(graph->name(2), "gemm");
  EXPECT_EQ(graph->ops.duration[2], 100 * kMicrosecond);
  EXPECT_EQ(graph->ops.recorded_start[2], 12 * kMicrosecond);
  EXPECT_EQ(graph->ops.recorded_duration[2], 101);
  EXPECT_EQ(graph->ops.bytes[2], 4096);
  EXPECT_EQ(graph->ops.event[2], 3u);
  EXPECT_EQ(graph->in_edges(2)[0].kind, EdgeKind::kLaunch);
  EXPECT_TRUE(graph->in_edges(2)[0].inferred);
  EXPECT_EQ(graph->in_edges(2)[0].delay, 3 * kMicrosecond);
  EXPECT_EQ(graph->ops.lane[6], 3u);
  EXPECT_EQ(graph->ops.collective[6], 0u);
  EXPECT_EQ(graph->collectives[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(graph->collectives[0].group, "tp 0");
  EXPECT_EQ(graph->collectives[0].sequence, 7);
}

TEST(Text, AnEmptyTextIsAnEmptyGraph) {
  const auto graph = parse_text("\n  # nothing\n");
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->size(), 0u);
  EXPECT_EQ(print_text(*graph), "");
}

TEST(Text, LabelsMayComeLaterAndOpsAreThenOrdered) {
  const auto graph = parse_text("lane s stream 0\nb: kernel s 2us after a\na: kernel s 1us");
  ASSERT_TRUE(graph);
  EXPECT_EQ(print_text(*graph), "lane s stream 0\no0: kernel s 1us\no1: kernel s 2us after o0\n");
}

TEST(Text, TimesAreExactToTheNanosecond) {
  const auto time_of = [](const std::string& time) -> Nanos {
    const auto graph = parse_text("lane s stream 0\na: kernel s " + time);
    return graph ? graph->ops.duration[0] : -1;
  };
  EXPECT_EQ(time_of("0"), 0);
  EXPECT_EQ(time_of("1.5us"), 1500);
  EXPECT_EQ(time_of("0.000000001s"), 1);
  EXPECT_EQ(time_of("2.ms"), 2 * kMillisecond);
  EXPECT_EQ(time_of("0.5ns"), -1);
  EXPECT_EQ(time_of("5"), -1);
  EXPECT_EQ(time_of("1.2.3us"), -1);
  EXPECT_EQ(time_of("us"), -1);
  EXPECT_EQ(time_of("99999999999999999999s"), -1);
  EXPECT_EQ(time_of("9999999999999s"), -1);
}

TEST(Text, ErrorsNameTheLineAndItsPlace) {
  const auto graph = parse_text("lane s stream 0\n\na: kernel q 1us\n");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "line 3: unknown lane 'q'");
  EXPECT_EQ(graph.error().byte, 17);
}

TEST(Text, ErrorsSayWhatIsWrong) {
  const std::string lane = "lane s stream 0\n";
  EXPECT_EQ(error_of("lane s tube 0"), "line 1: 'tube' is not a kind of lane");
  EXPECT_EQ(error_of("lane s host x"), "line 1: rank 'x' is not a whole number in range");
  EXPECT_EQ(error_of("frobnicate"),
            "line 1: 'frobnicate' is neither a label followed by ':' nor lane, step or steps");
  EXPECT_EQ(error_of(lane + "a: thing s 1us"), "line 2: 'thing' is not a kind of op");
  EXPECT_EQ(error_of(lane + "a: kernel s -1us"), "line 2: a duration must not be negative");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us \"x"), "line 2: the closing quote is missing");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us \"\\q\""), "line 2: unknown escape \\q");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us colour=2"), "line 2: an op has no attribute 'colour'");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us after"), "line 2: expected the label of an op at ''");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us after b"), "line 2: unknown label 'b'");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us\na: kernel s 1us"), "line 3: label 'a' is used twice");
  EXPECT_EQ(error_of(lane + "a: kernel s 1us after a"),
            "1 ops wait for each other in a cycle: 0 \"\" -> 0");
  EXPECT_EQ(error_of(lane + "c: collective allreduce transfer=z"), "line 2: unknown label 'z'");
  EXPECT_EQ(error_of(lane + lane + "a: kernel s 1us"), "line 3: several lanes are named 's'");
  EXPECT_EQ(error_of(lane + "a: kernel @1 1us"), "line 2: no lane @1");
  EXPECT_EQ(error_of("step -4"), "line 1: a step number must not be negative");
  EXPECT_EQ(error_of("step 4 5"), "line 1: unexpected text at the end of the line");
}

TEST(Text, AGraphThatDoesNotVerifyIsAnError) {
  EXPECT_EQ(error_of("lane s stream 0\nx: arrive s 0\nt: transfer s 0\n"
                     "c: collective barrier transfer=t arrivals=x"),
            "broken graph: collective 0: transfer 1 does not wait for arrival 0");
}

}  // namespace
}  // namespace weft::graph
