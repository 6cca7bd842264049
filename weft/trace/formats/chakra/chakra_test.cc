// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/chakra/chakra.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <protozero/pbf_writer.hpp>
#include <random>

#include "weft/trace/formats/chakra/node.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;
using chakra::Node;
using chakra::NodeType;

std::string delimited(const std::string& message) {
  std::string out;
  for (std::size_t rest = message.size();; rest >>= 7) {
    out.push_back(static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
    if (rest <= 0x7f) break;
  }
  return out + message;
}

std::string file(const std::vector<Node>& nodes) {
  std::string metadata;
  protozero::pbf_writer(metadata).add_string(1, "0.0.4");
  std::string out = delimited(metadata);
  for (const Node& node : nodes) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_uint64(1, node.id);
    writer.add_string(2, node.name.empty() ? "node" + std::to_string(node.id) : node.name);
    writer.add_uint32(3, static_cast<std::uint32_t>(node.type));
    writer.add_packed_uint64(4, node.control_deps.begin(), node.control_deps.end());
    writer.add_packed_uint64(5, node.data_deps.begin(), node.data_deps.end());
    writer.add_uint64(6, node.start_micros);
    writer.add_uint64(7, node.duration_micros);
    const auto number = [&](const std::string& name, std::uint32_t tag, std::int64_t value) {
      std::string attribute;
      protozero::pbf_writer(attribute).add_string(1, name);
      protozero::pbf_writer(attribute).add_int64(tag, value);
      writer.add_message(10, attribute);
    };
    number("is_cpu_op", 27, node.on_host);
    if (node.comm_size >= 0) number("comm_size", 9, node.comm_size);
    if (node.comm_type >= 0) number("comm_type", 9, node.comm_type);
    if (node.destination >= 0) number("comm_dst", 7, node.destination);
    if (node.source >= 0) number("comm_src", 7, node.source);
    out += delimited(bytes);
  }
  return out;
}

Result<std::vector<RankTrace>> read(std::string_view bytes, Diagnostics& diagnostics) {
  const auto source = memory_source(bytes, "run/job.3.et", 5);
  return make_chakra_reader()->read(*source, {}, diagnostics);
}

Node node(std::uint64_t id, NodeType type, std::uint64_t micros,
          std::vector<std::uint64_t> deps = {}) {
  Node made;
  made.id = id;
  made.type = type;
  made.duration_micros = micros;
  made.data_deps = std::move(deps);
  return made;
}

TEST(Chakra, NodeStartsWhenItsDependenciesHaveEndedAndItsRowIsFree) {
  Node call = node(7, NodeType::kCompute, 2);
  call.on_host = true;
  Node reduce = node(3, NodeType::kCollective, 10, {1});
  reduce.comm_type = 0;
  reduce.comm_size = 4096;
  const std::vector<Node> nodes = {call, node(1, NodeType::kCompute, 5, {7}),
                                   node(2, NodeType::kCompute, 4, {7}), reduce,
                                   node(4, NodeType::kCompute, 1, {2, 3})};
  Diagnostics diagnostics;
  const auto ranks = read(file(nodes), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  const RankTrace& rank = ranks->front();
  EXPECT_EQ(rank.rank, 3);
  const std::vector<Nanos> starts = {0, 2000, 7000, 7000, 17000};
  EXPECT_EQ(rank.events.start, starts);
  EXPECT_EQ(rank.events.kind[0], EventKind::kRuntime) << "device work depends on it";
  EXPECT_EQ(rank.events.correlation[1], rank.events.correlation[0]);
  ASSERT_EQ(rank.collectives.size(), 1u);
  EXPECT_EQ(rank.names.text(rank.collectives[0].name), "allreduce");
  EXPECT_EQ(rank.collectives[0].in_elements, 4096);
  EXPECT_EQ(rank.dependencies.size(), 5u);
  EXPECT_EQ(diagnostics.count_of("chakra-scheduled"), 1);
}

TEST(Chakra, RecordedTimesAreKept) {
  Node first = node(1, NodeType::kCompute, 5), second = node(2, NodeType::kCompute, 5, {1});
  first.start_micros = 1000;
  second.start_micros = 1100;
  Diagnostics diagnostics;
  const auto ranks = read(file({first, second}), diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_EQ(ranks->front().epoch, 1'000'000);
  EXPECT_EQ(ranks->front().events.start[1], 100'000);
  EXPECT_EQ(diagnostics.count_of("chakra-scheduled"), 0);
}

TEST(Chakra, NodesWithoutWorkKeepTheOrderThatTheyImpose) {
  Diagnostics diagnostics;
  const auto ranks =
      read(file({node(1, NodeType::kCompute, 5), node(2, NodeType::kMetadata, 0, {1}),
                 node(3, NodeType::kInvalid, 0, {2}), node(4, NodeType::kCompute, 5, {3})}),
           diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  ASSERT_EQ(ranks->front().dependencies.size(), 1u);
  EXPECT_EQ(ranks->front().dependencies[0].before, 0u);
  EXPECT_EQ(ranks->front().dependencies[0].after, 1u);
}

TEST(Chakra, ErrorsInTheGraphAreCountedAndTheResultIsAcyclic) {
  Diagnostics diagnostics;
  const auto ranks =
      read(file({node(1, NodeType::kCompute, 5, {2}), node(2, NodeType::kCompute, 5, {1, 99}),
                 node(2, NodeType::kCompute, 5, {2})}),
           diagnostics);
  ASSERT_TRUE(ranks) << ranks.error().text();
  EXPECT_EQ(diagnostics.count_of("chakra-cycle"), 1);
  EXPECT_EQ(diagnostics.count_of("chakra-dangling-dependency"), 1);
  EXPECT_EQ(diagnostics.count_of("chakra-duplicate-id"), 1);
  const Events& events = ranks->front().events;
  for (const Dependency& d : ranks->front().dependencies) {
    EXPECT_LE(events.end(d.before), events.start[d.after]);
  }
}

// Checks the schedules of random graphs: no node starts before its dependencies have ended, a row
// runs one node at a time, and every start equals the end of a dependency or of the row's last
// node.
TEST(Chakra, ScheduleIsFeasibleAndWithoutIdleTime) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Node> nodes;
    const std::uint64_t count = 1 + random() % 40;
    for (std::uint64_t i = 0; i < count; ++i) {
      Node made =
          node(i, random() % 3 == 0 ? NodeType::kCollective : NodeType::kCompute, random() % 20);
      made.on_host = random() % 4 == 0;
      made.stream = random() % 2;
      for (std::uint64_t k = 0; k < i && k < 3; ++k) made.data_deps.push_back(random() % i);
      nodes.push_back(made);
    }
    const chakra::Schedule plan = chakra::schedule(nodes);
    const auto end = [&](std::size_t i) {
      return plan.start[i] + static_cast<Nanos>(nodes[i].duration_micros) * kMicrosecond;
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool explained = plan.start[i] == 0;
      for (const std::uint32_t before : plan.follows[i]) {
        EXPECT_LE(end(before), plan.start[i]);
        explained = explained || end(before) == plan.start[i];
      }
      for (std::size_t k = 0; k < nodes.size(); ++k) {
        const bool same_row = nodes[k].on_host == nodes[i].on_host &&
                              chakra::row_of(nodes[k]) == chakra::row_of(nodes[i]);
        if (k == i || !same_row) continue;
        EXPECT_TRUE(end(k) <= plan.start[i] || end(i) <= plan.start[k]);
        explained = explained || end(k) == plan.start[i];
      }
      EXPECT_TRUE(explained) << "node " << i << " could have started earlier";
    }
  }
}

TEST(Chakra, EveryCutFileGivesATraceOrAnErrorWithTheByte) {
  const std::string whole = file({node(1, NodeType::kCompute, 5), node(2, NodeType::kCompute, 5)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    const auto ranks = read(std::string_view(whole).substr(0, size), diagnostics);
    if (!ranks) {
      EXPECT_EQ(ranks.error().code, ErrorCode::kBadInput);
      EXPECT_GE(ranks.error().byte, 0);
      EXPECT_FALSE(ranks.error().message.empty());
    } else {
      EXPECT_EQ(ranks->front().events.size(), 1u);
    }
  }
}

TEST(Chakra, IsDistinguishedFromOtherFiles) {
  const auto reader = make_chakra_reader();
  EXPECT_GT(reader->recognise(file({node(1, NodeType::kCompute, 5)})), 50);
  for (const char* other : {"", "{\"traceEvents\": []}", "[1, 2]", "plain words\n", "\n\n\n\n",
                            "SQLite format 3", "\x0a\x10\x12\x09/host:CPU"}) {
    EXPECT_EQ(reader->recognise(other), 0) << other;
  }
}

TEST(Chakra, SharedRingSendsAndReceivesAroundEightRanks) {
  const fs::path folder = fs::path(WEFT_SOURCE_DIR) / ".." / "shared" / "traces" /
                          "astra-sim_astra-sim" / "custom_ring_allreduce_8npus_1MB";
  if (!fs::exists(folder)) GTEST_SKIP() << "the shared recordings are not next to this checkout";
  Diagnostics diagnostics;
  const auto recording = load({folder.string()}, {}, diagnostics);
  ASSERT_TRUE(recording) << recording.error().text();
  ASSERT_EQ(recording->runs.size(), 1u);
  const auto& run = recording->runs[0];
  EXPECT_EQ(run.label, "custom_allreduce");
  ASSERT_EQ(run.ranks.size(), 8u);
  for (const RankTrace& rank : run.ranks) {
    EXPECT_EQ(rank.collectives.size(), 28u);
    for (const CollectiveDetail& message : rank.collectives) {
      const bool send = rank.names.text(message.name) == "send";
      EXPECT_EQ(send ? message.dst : message.src, (rank.rank + (send ? 1 : 7)) % 8);
      EXPECT_EQ(message.in_elements, 131072);
    }
  }
}

}  // namespace
}  // namespace weft::trace
