// SPDX-License-Identifier: Apache-2.0
// Serialises the nodes of chakra_nodes.h. A Chakra file is a stream of protobuf messages: first the
// global metadata, then one message per node. Before each message stands its length as a varint.
// The id of a node is its position in the file.
#include "weft/report/exports/chakra.h"

#include <protozero/pbf_writer.hpp>

#include "weft/base/file.h"
#include "weft/base/json/writer.h"
#include "weft/base/parallel.h"
#include "weft/base/sink.h"
#include "weft/report/exports/chakra_nodes.h"

namespace weft::report {
namespace {

using namespace trace::chakra;

constexpr const char* kSchemaVersion = "0.0.4";

template <class Write>
void add_attribute(protozero::pbf_writer& message, std::uint32_t tag, const char* name,
                   const Write& write) {
  protozero::pbf_writer attribute(message, tag);
  attribute.add_string(attribute_field::kName, name);
  write(attribute);
}

void add_int64(protozero::pbf_writer& node, const char* name, std::int64_t value) {
  add_attribute(node, node_field::kAttribute, name, [&](protozero::pbf_writer& attribute) {
    attribute.add_int64(attribute_field::kInt64, value);
  });
}

// Chakra's attributes for ranks and tags have the type int32.
void add_int32(protozero::pbf_writer& node, const char* name, std::int64_t value) {
  add_attribute(node, node_field::kAttribute, name, [&](protozero::pbf_writer& attribute) {
    attribute.add_int32(attribute_field::kInt32, static_cast<std::int32_t>(value));
  });
}

/// Appends the length of `message` as a varint, then `message`.
void append_delimited(std::string& out, const std::string& message) {
  for (std::size_t rest = message.size();; rest >>= 7) {
    out.push_back(static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
    if (rest <= 0x7f) break;
  }
  out += message;
}

std::string global_metadata(std::int32_t rank, std::int32_t world) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(metadata_field::kVersion, kSchemaVersion);
  const auto add = [&](const char* name, const auto& write) {
    add_attribute(message, metadata_field::kAttribute, name, write);
  };
  add("generator", [](protozero::pbf_writer& attribute) {
    attribute.add_string(attribute_field::kString, "weft");
  });
  add("rank", [&](protozero::pbf_writer& attribute) {
    attribute.add_int64(attribute_field::kInt64, rank);
  });
  add("world", [&](protozero::pbf_writer& attribute) {
    attribute.add_int64(attribute_field::kInt64, world);
  });
  return bytes;
}

std::string encode(const ChakraNode& node, std::uint64_t id) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_uint64(node_field::kId, id);
  message.add_string(node_field::kName, node.name);
  message.add_uint32(node_field::kType, static_cast<std::uint32_t>(node.type));
  // Chakra also has control dependencies, but simulators order nodes by data dependencies only.
  // So all dependencies are written as data dependencies.
  message.add_packed_uint64(node_field::kDataDeps, node.deps.begin(), node.deps.end());
  message.add_uint64(node_field::kDuration, static_cast<std::uint64_t>(node.duration_micros));
  add_attribute(message, node_field::kAttribute, "is_cpu_op",
                [&](protozero::pbf_writer& attribute) {
                  attribute.add_bool(attribute_field::kBool, node.on_host);
                });
  add_int64(message, node.on_host ? "tid" : "stream", node.row);
  if (node.comm_type >= 0) add_int64(message, "comm_type", node.comm_type);
  if (node.comm_size >= 0) add_int64(message, "comm_size", node.comm_size);
  if (node.tag >= 0) {
    add_int32(message, "comm_src", node.source);
    add_int32(message, "comm_dst", node.destination);
    add_int32(message, "comm_tag", node.tag);
  }
  if (!node.group.empty()) {
    add_attribute(message, node_field::kAttribute, "pg_name",
                  [&](protozero::pbf_writer& attribute) {
                    attribute.add_string(attribute_field::kString, node.group);
                  });
  }
  return bytes;
}

Status write_rank(const std::string& path, const std::vector<ChakraNode>& nodes,
                  const std::string& metadata) {
  WEFT_ASSIGN(const std::unique_ptr<ByteSink> sink, create_file(path));
  BufferedWriter writer(*sink);
  append_delimited(writer.buffer(), metadata);
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    append_delimited(writer.buffer(), encode(nodes[id], id));
    WEFT_TRY(writer.advance());
  }
  WEFT_TRY(writer.flush());
  return sink->close();
}

/// JSON of the form {"1": [ranks], "2": [ranks], ...}, in ascending order of the group numbers.
std::string groups_json(const ChakraPlan& plan) {
  JsonWriter json;
  json.begin_object();
  std::map<std::int32_t, const std::vector<std::int32_t>*> by_number;
  for (const auto& [members, number] : plan.numbers) by_number[number] = &members;
  for (const auto& [number, members] : by_number) {
    json.key(std::to_string(number)).begin_array();
    for (const std::int32_t rank : *members) json.value(rank);
    json.end_array();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

Status write_chakra(const predict::Job& job, const std::string& prefix, Diagnostics& diagnostics) {
  // All ranks must use the same tags and group numbers, so these are assigned before the ranks are
  // written in parallel. The diagnostics of the ranks are merged in order of rank, so that their
  // order does not depend on which thread is faster.
  const ChakraPlan plan = plan_chakra(job, diagnostics);
  const auto& ranks = job.run.ranks;
  std::vector<Status> written(ranks.size());
  std::vector<Diagnostics> found(ranks.size());
  parallel_for(ranks.size(), [&](std::size_t i) {
    const std::int32_t rank = ranks[i].rank;
    const auto nodes = chakra_nodes(job, plan, rank, found[i]);
    written[i] = write_rank(prefix + "." + std::to_string(rank) + ".et", nodes,
                            global_metadata(rank, job.run.world));
  });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    WEFT_TRY(written[i]);
    diagnostics.merge(found[i]);
  }
  if (plan.numbers.empty()) return {};
  return write_file(prefix + ".groups.json", groups_json(plan));
}

}  // namespace weft::report
