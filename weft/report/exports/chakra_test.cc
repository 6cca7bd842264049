// SPDX-License-Identifier: Apache-2.0
// Compares the Chakra export with the graph from which it is made. One test also reads the exported
// files with Weft's own reader. chakra_protoc_test.cc checks with protoc that other tools can read
// the files.
#include "weft/report/exports/chakra.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "weft/base/file.h"
#include "weft/graph/builder.h"
#include "weft/report/exports/chakra_nodes.h"
#include "weft/trace/runs/load.h"

namespace weft::report {
namespace {

namespace fs = std::filesystem;
using trace::chakra::NodeType;

std::string temporary(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("weft-chakra-" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return (folder / "job").string();
}

predict::Job example() {
  Diagnostics diagnostics;
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/examples/resnet50-w4";
  auto job = predict::open_job({folder}, {}, diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return job ? std::move(*job) : predict::Job{};
}

std::vector<std::vector<ChakraNode>> nodes_of(const predict::Job& job) {
  Diagnostics diagnostics;
  const ChakraPlan plan = plan_chakra(job, diagnostics);
  std::vector<std::vector<ChakraNode>> nodes;
  for (const trace::RankTrace& rank : job.run.ranks) {
    nodes.push_back(chakra_nodes(job, plan, rank.rank, diagnostics));
  }
  return nodes;
}

TEST(ChakraExport, NodesDependOnlyOnEarlierNodes) {
  const predict::Job job = example();
  for (const auto& nodes : nodes_of(job)) {
    ASSERT_FALSE(nodes.empty());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::set<std::uint64_t> seen;
      for (const std::uint64_t dep : nodes[i].deps) {
        EXPECT_LT(dep, i);
        EXPECT_TRUE(seen.insert(dep).second);
      }
      EXPECT_GE(nodes[i].duration_micros, 0);
      if (nodes[i].type != NodeType::kCompute) {
        EXPECT_FALSE(nodes[i].on_host);
      }
    }
  }
}

TEST(ChakraExport, RoundingErrorsDoNotAddUp) {
  const predict::Job job = example();
  const auto all = nodes_of(job);
  for (std::size_t r = 0; r < all.size(); ++r) {
    Nanos kernels = 0;
    for (graph::OpId op = 0; op < job.graph.size(); ++op) {
      const auto kind = job.graph.ops.kind[op];
      const bool device = kind == graph::OpKind::kKernel || kind == graph::OpKind::kCopy;
      if (device && job.graph.rank(op) == job.run.ranks[r].rank)
        kernels += job.graph.ops.duration[op];
    }
    std::int64_t micros = 0;
    for (const ChakraNode& node : all[r]) {
      const bool kernel = node.type == NodeType::kCompute && !node.on_host && node.name != "pause";
      if (kernel) micros += node.duration_micros;
    }
    // The sum is not exact, because the rounding also moves remainders between kernels, pauses and
    // transfers of a stream.
    EXPECT_NEAR(static_cast<double>(micros), static_cast<double>(kernels) / kMicrosecond,
                0.01 * static_cast<double>(kernels) / kMicrosecond);
  }
}

TEST(ChakraExport, ReadsBackWithTheSameCollectivesAndDependencies) {
  const predict::Job job = example();
  const std::string prefix = temporary("round-trip");
  Diagnostics diagnostics;
  ASSERT_TRUE(write_chakra(job, prefix, diagnostics));
  const auto recording = trace::load({fs::path(prefix).parent_path().string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->runs.size(), 1u);
  const auto& run = recording->runs[0];
  const auto all = nodes_of(job);
  ASSERT_EQ(run.ranks.size(), all.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    const trace::RankTrace& back = run.ranks[r];
    const auto& nodes = all[r];
    EXPECT_EQ(back.rank, job.run.ranks[r].rank);
    ASSERT_EQ(back.events.size(), nodes.size());
    std::size_t collectives = 0, dependencies = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(back.names.text(back.events.name[i]), nodes[i].name);
      EXPECT_EQ(back.events.duration[i], nodes[i].duration_micros * kMicrosecond);
      collectives += nodes[i].type == NodeType::kCollective ? 1 : 0;
      for (const std::uint64_t dep : nodes[i].deps) {
        ASSERT_LT(dependencies, back.dependencies.size());
        EXPECT_EQ(back.dependencies[dependencies].before, dep);
        EXPECT_EQ(back.dependencies[dependencies].after, i);
        ++dependencies;
      }
    }
    EXPECT_EQ(back.dependencies.size(), dependencies);
    EXPECT_EQ(back.collectives.size(), collectives);
    std::size_t recorded = 0;
    for (const graph::Collective& c : job.graph.collectives) {
      for (const graph::OpId arrival : c.arrivals) recorded += job.graph.rank(arrival) == back.rank;
    }
    EXPECT_EQ(collectives, recorded);
  }
  for (const char* odd : {"chakra-cycle", "chakra-dangling-dependency", "chakra-duplicate-id"}) {
    EXPECT_EQ(diagnostics.count_of(odd), 0) << odd;
  }
  fs::remove_all(fs::path(prefix).parent_path());
}

/// Two ranks: rank 0 computes and sends to rank 1, then both take part in a reduction. One more op
/// follows on each rank.
predict::Job made_job() {
  predict::Job job;
  job.run.world = 3;
  for (const std::int32_t rank : {0, 1}) {
    job.run.ranks.emplace_back();
    job.run.ranks.back().rank = rank;
  }
  graph::GraphBuilder builder;
  const auto start = builder.add_lane(graph::LaneKind::kHost, -1, "job");
  const auto zero = builder.add_lane(graph::LaneKind::kStream, 0, "r0/stream 7");
  const auto one = builder.add_lane(graph::LaneKind::kStream, 1, "r1/stream 7");
  const auto link = builder.add_lane(graph::LaneKind::kLink, -1, "link");
  const auto op = [&](graph::OpKind kind, graph::LaneId lane, const char* name, Nanos duration) {
    return builder.add_op({.kind = kind, .lane = lane, .name = name, .duration = duration});
  };
  using graph::EdgeKind;
  using graph::OpKind;
  const auto begin = op(OpKind::kHost, start, "recording begins", 0);
  const auto gemm = op(OpKind::kKernel, zero, "gemm", 2500);
  const auto send = op(OpKind::kArrive, zero, "send", 0);
  const auto receive = op(OpKind::kArrive, one, "receive", 0);
  const auto message = op(OpKind::kTransfer, link, "sendrecv", 4000);
  const auto reduce0 = op(OpKind::kArrive, zero, "reduce", 0);
  const auto reduce1 = op(OpKind::kArrive, one, "reduce", 0);
  const auto sum = op(OpKind::kTransfer, link, "allreduce", 8000);
  const auto after = op(OpKind::kKernel, one, "after", 1500);
  builder.add_edge(begin, gemm, EdgeKind::kOrder, 70'000);
  builder.add_edge(begin, receive, EdgeKind::kOrder, 90'000);
  builder.add_edge(gemm, send, EdgeKind::kOrder, 10'000);
  builder.add_edge(send, message, EdgeKind::kCollective);
  builder.add_edge(receive, message, EdgeKind::kCollective);
  builder.add_edge(message, reduce0, EdgeKind::kCollective);
  builder.add_edge(message, reduce1, EdgeKind::kCollective);
  builder.add_edge(reduce0, sum, EdgeKind::kCollective);
  builder.add_edge(reduce1, sum, EdgeKind::kCollective);
  builder.add_edge(message, sum, EdgeKind::kOrder);
  builder.add_edge(sum, after, EdgeKind::kCollective);
  builder.add_collective({.kind = trace::CollectiveKind::kSendRecv,
                          .ranks = 2,
                          .bytes = 64,
                          .group = "pp",
                          .transfer = message,
                          .arrivals = {send, receive}});
  builder.add_collective({.kind = trace::CollectiveKind::kAllReduce,
                          .ranks = 2,
                          .bytes = 256,
                          .group = "dp",
                          .transfer = sum,
                          .arrivals = {reduce0, reduce1}});
  auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph);
  job.graph = std::move(*graph);
  return job;
}

TEST(ChakraExport, TransfersBecomeNodesOfTheirMembers) {
  const auto all = nodes_of(made_job());
  const auto& zero = all[0];
  ASSERT_EQ(zero.size(), 4u);
  EXPECT_EQ(zero[0].name, "gemm");
  EXPECT_EQ(zero[0].duration_micros, 2);
  EXPECT_EQ(zero[1].name, "pause");
  EXPECT_EQ(zero[1].duration_micros, 10) << "half a microsecond is owed";
  EXPECT_EQ(zero[2].type, NodeType::kSend);
  EXPECT_EQ(zero[2].duration_micros, 4);
  EXPECT_EQ(zero[2].comm_size, 64);
  EXPECT_EQ(zero[2].deps, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(zero[3].type, NodeType::kCollective);
  EXPECT_EQ(zero[3].comm_type, 0);
  EXPECT_EQ(zero[3].deps, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(zero[3].group, "1") << "two of three ranks are a group of their own";
  const auto& one = all[1];
  ASSERT_EQ(one.size(), 3u);
  EXPECT_EQ(one[0].type, NodeType::kReceive);
  EXPECT_EQ(one[0].deps.size(), 0u) << "the rank begins with its first op";
  EXPECT_EQ(one[0].source, 0);
  EXPECT_EQ(one[0].destination, 1);
  EXPECT_EQ(one[0].tag, zero[2].tag);
  EXPECT_EQ(one[2].name, "after");
  EXPECT_EQ(one[2].deps, (std::vector<std::uint64_t>{1}));
}

TEST(ChakraExport, GroupsSmallerThanTheJobAreListed) {
  const std::string prefix = temporary("groups");
  Diagnostics diagnostics;
  ASSERT_TRUE(write_chakra(made_job(), prefix, diagnostics));
  const auto groups = read_file(prefix + ".groups.json");
  ASSERT_TRUE(groups);
  EXPECT_EQ(*groups, "{\"1\":[0,1]}\n");
  fs::remove_all(fs::path(prefix).parent_path());
}

/// A ring in which every rank first sends to the next rank, then receives from the previous one.
trace::Run made_ring(std::int32_t ranks) {
  trace::Run run;
  run.world = ranks;
  for (std::int32_t r = 0; r < ranks; ++r) {
    trace::RankTrace& rank = run.ranks.emplace_back();
    rank.rank = r;
    rank.facts.device_events = true;
    rank.buffered_sends = true;
    rank.lanes = {{true, 0, 1, 0, {}}, {true, 0, 2, 0, {}}};
    const auto add = [&](const char* name, std::uint32_t lane, std::int32_t from, std::int32_t to) {
      trace::CollectiveDetail detail;
      detail.name = rank.names.intern(name);
      detail.dtype = rank.names.intern("Byte");
      detail.group = rank.names.intern("default");
      detail.in_elements = 1024;
      detail.src = from;
      detail.dst = to;
      const auto index = static_cast<std::uint32_t>(rank.collectives.size());
      rank.collectives.push_back(detail);
      rank.kernels.push_back({0, index, trace::kNone});
      rank.events.add(trace::EventKind::kKernel, 0, 0, detail.name, lane, 0, index);
    };
    add("send", 0, r, (r + 1) % ranks);
    add("recv", 1, (r + ranks - 1) % ranks, r);
    rank.dependencies = {{0, 1}};
  }
  return run;
}

TEST(ChakraExport, RingOfBufferedSendsHasNoCycle) {
  Diagnostics diagnostics;
  const auto job = predict::make_job(made_ring(4), diagnostics);
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(job->graph.collectives.size(), 4u);
  std::map<std::pair<std::int32_t, std::int32_t>, int>
      ends;  // number of ends, by source and destination
  for (const auto& nodes : nodes_of(*job)) {
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].type, NodeType::kSend);
    EXPECT_EQ(nodes[1].type, NodeType::kReceive);
    for (const ChakraNode& node : nodes) ++ends[{node.source, node.destination}];
  }
  EXPECT_EQ(ends.size(), 4u);
  for (const auto& [pair, count] : ends) EXPECT_EQ(count, 2) << "each message has both ends";
}

TEST(ChakraExport, MissingFolderIsOneClearError) {
  Diagnostics diagnostics;
  const auto status = write_chakra(made_job(), "/nowhere/job", diagnostics);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().file, "/nowhere/job.0.et");
}

}  // namespace
}  // namespace weft::report
