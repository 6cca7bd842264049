// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/edit.h"

#include <gtest/gtest.h>

#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"

namespace weft::graph {
namespace {

Graph two_kernels_and_an_allreduce() {
  return parse_text(R"(lane cpu host 0
lane s stream 0
lane comm stream 0
lane link link -
step 0
o0: launch cpu 2us
o1: kernel s 10us "a" after o0:launch
o2: kernel s 20us "b" after o1+1us
o3: arrive comm 0 after o2:event_wait
o4: transfer link 5us bytes=64 after o3:collective
o5: kernel s 1us "c" after o2, o4:collective
c0: collective allreduce ranks=1 bytes=64 transfer=o4 arrivals=o3
)")
      .value();
}

/// Applies an edit in text form and returns the text of the result.
std::string edited(std::string_view text) {
  const Graph graph = two_kernels_and_an_allreduce();
  const auto edit = parse_edit(graph, text);
  if (!edit) return edit.error().message;
  const auto result = apply(graph, *edit);
  if (!result) return result.error().message;
  EXPECT_TRUE(verify(*result));
  return print_text(*result);
}

TEST(Edit, AnEmptyEditChangesNothing) {
  EXPECT_EQ(edited(""), print_text(two_kernels_and_an_allreduce()));
  EXPECT_TRUE(Edit{}.empty());
}

TEST(Edit, ChangesDurationsAndDelays) {
  const std::string text = edited("time o1 3us\ndelay o2 after o1+7us");
  EXPECT_NE(text.find("o1: kernel s 3us \"a\" after o0:launch\n"), std::string::npos) << text;
  EXPECT_NE(text.find("o2: kernel s 20us \"b\" after o1+7us\n"), std::string::npos) << text;
}

TEST(Edit, RemovesEdgesAndOpsWithTheirEdges) {
  const std::string text = edited("cut o2 after o1\nremove o5");
  EXPECT_NE(text.find("o2: kernel s 20us \"b\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("\"c\""), std::string::npos) << text;
}

TEST(Edit, AddsOpsBetweenOldOnes) {
  const std::string text = edited(
      "cut o2 after o1\n"
      "step 0\n"
      "new: kernel s 4us \"between\" bytes=8 after o1\n"
      "link o2 after new+2us");
  EXPECT_NE(text.find("o2: kernel s 4us \"between\" bytes=8 after o1\n"
                      "o3: kernel s 20us \"b\" after o2+2us\n"),
            std::string::npos)
      << text;
}

TEST(Edit, ReplacesACollective) {
  const std::string text = edited(
      "remove o4\n"
      "step 0\n"
      "t: transfer link 9us bytes=128 after o3:collective\n"
      "link o5 after t:collective\n"
      "c: collective allreduce ranks=1 bytes=128 transfer=t arrivals=o3\n"
      "replace c0 with c");
  EXPECT_NE(text.find("c0: collective allreduce ranks=1 bytes=128 transfer=o4 arrivals=o3\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("c1:"), std::string::npos) << text;
}

TEST(Edit, NamesTheLineThatIsWrong) {
  EXPECT_EQ(edited("time o1 3us\ntime o99 3us"), "line 2: unknown label 'o99'");
  EXPECT_EQ(edited("cut o2 after o0"), "line 1: the graph has no order edge from o0 to o2");
  EXPECT_EQ(edited("cut o2 before o1"), "line 1: 'before' stands where 'after' belongs");
  EXPECT_EQ(edited("lane x host 0"),
            "line 1: 'lane' is neither a label followed by ':' nor time, delay, remove, cut, link, "
            "replace or step");
  EXPECT_EQ(edited("time o1 -3us"), "edit: the duration of o1 is negative");
  EXPECT_NE(edited("link o1 after o2").find("wait for each other in a cycle"), std::string::npos);
}

TEST(Edit, ChecksIdsOfEditsThatCodeMade) {
  const Graph graph = two_kernels_and_an_allreduce();
  Edit edit;
  edit.edges.push_back({.source = 6, .destination = 5});
  EXPECT_FALSE(check(graph, edit)) << "op 6 is neither an op of the graph nor a new one";
  edit.ops.emplace_back().lane = 1;
  EXPECT_TRUE(check(graph, edit));
  edit.ops.back().lane = 4;
  EXPECT_FALSE(check(graph, edit));
}

TEST(Edit, TellsTheNewIds) {
  const Graph graph = two_kernels_and_an_allreduce();
  const Edit edit = parse_edit(graph, "remove o1\nstep 0\nn: kernel s 4us after o0").value();
  std::vector<OpId> ids;
  const Graph result = apply(graph, edit, &ids).value();
  ASSERT_EQ(ids.size(), 7u);
  EXPECT_EQ(ids[1], kNoId);
  EXPECT_EQ(result.ops.duration[ids[6]], 4 * kMicrosecond);
  EXPECT_EQ(result.name(ids[5]), "c");
}

TEST(Edit, PrintsWhatItParsed) {
  const Graph graph = two_kernels_and_an_allreduce();
  const std::string text =
      "time o1 3us\n"
      "delay o2 after o1+7us\n"
      "remove o5\n"
      "cut o3 after o2:event_wait\n"
      "step 0\n"
      "o6: kernel s 4us \"new\" bytes=8 at=3us\n"
      "o7: transfer link 1ms\n"
      "link o6 after o1+1500ns:data?\n"
      "link o7 after o3:collective\n"
      "c1: collective allreduce ranks=2 bytes=8 transfer=o7 arrivals=o3\n"
      "replace c0 with c1\n";
  const auto edit = parse_edit(graph, text);
  ASSERT_TRUE(edit) << edit.error().message;
  EXPECT_EQ(print_edit(graph, *edit), text);
}

TEST(Edit, ChangesOfTimesEqualTheSameChangesMadeByHand) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.job(3, 80);
    Edit edit;
    for (OpId op = 0; op < graph.size(); ++op) {
      if (random.pick(0, 4) == 0) edit.durations.emplace_back(op, random.time());
    }
    for (EdgeId e = 0; e < graph.edges.size(); ++e) {
      if (random.pick(0, 4) == 0) edit.delays.emplace_back(e, random.delay());
    }
    const Graph result = apply(graph, edit).value();
    for (const auto& [op, duration] : edit.durations) graph.ops.duration[op] = duration;
    for (const auto& [e, delay] : edit.delays) graph.edges[e].delay = delay;
    EXPECT_EQ(print_text(result), print_text(graph)) << "seed " << seed;
    const std::string text = print_edit(graph, edit);
    EXPECT_EQ(print_edit(graph, parse_edit(graph, text).value()), text) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::graph
