// SPDX-License-Identifier: Apache-2.0
// One node of a Chakra execution trace, decoded, and when it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/formats/chakra/schema.h"

namespace weft::trace::chakra {

struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> data_deps, control_deps;
  std::uint64_t start_micros = 0, duration_micros = 0;
  bool on_host = false;
  std::int64_t comm_type = -1, comm_size = -1, tensor_size = -1;
  std::int64_t source = -1, destination = -1, tag = 0;
  std::int64_t thread = -1, stream = -1;
  std::string group;
  std::string values;  ///< of its inputs; kept for metadata nodes, which list the process groups

  bool is_communication() const {
    return !on_host &&
           (type == NodeType::kSend || type == NodeType::kReceive || type == NodeType::kCollective);
  }
  /// Metadata and nodes without a type do nothing; what they join stays joined.
  bool is_work() const { return type != NodeType::kInvalid && type != NodeType::kMetadata; }
};

/// nullopt if the bytes are no node.
std::optional<Node> decode_node(std::string_view bytes);
/// Whether the bytes can be the message that a file begins with.
bool is_global_metadata(std::string_view bytes);

struct Schedule {
  std::vector<Nanos> start;  ///< by node; relative to `epoch`
  Nanos epoch = 0;
  /// Positions of the nodes each node follows: known ones only, with nodes that do nothing replaced
  /// by what those follow. Without cycles.
  std::vector<std::vector<std::uint32_t>> follows;
  bool computed = false;           ///< the file has no start times
  std::int64_t duplicate_ids = 0;  ///< nodes whose id another had before; no one follows them
  std::int64_t dangling = 0;       ///< dependencies on nodes that are not there
  std::int64_t broken_cycles = 0;  ///< dependencies that lead back and were dropped
};

/// Recorded start times where the file has any; else every node starts as soon as what it follows
/// is over and its stream or thread is free, lower ids first. O(n log n) in nodes and dependencies.
Schedule schedule(const std::vector<Node>& nodes);

/// The row on which a node runs: a thread, a stream, or one for each kind of work if the file tells
/// neither.
std::int64_t row_of(const Node& node);

}  // namespace weft::trace::chakra
