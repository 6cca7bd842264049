// SPDX-License-Identifier: Apache-2.0
// The nodes of a Chakra execution trace, and the schedule that gives them start times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/formats/chakra/schema.h"

namespace weft::trace::chakra {

/// One decoded node. Numbers are -1 if the file does not have them, unless noted otherwise.
struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> data_deps, control_deps;
  std::uint64_t start_micros = 0, duration_micros = 0;  ///< 0 if the file does not have them
  bool on_host = false;
  std::int64_t comm_type = -1, comm_size = -1, tensor_size = -1;
  std::int64_t source = -1, destination = -1, tag = 0;
  std::int64_t thread = -1, stream = -1;
  std::string group;
  /// Text of the input values. It is kept for metadata nodes only, because they list the process
  /// groups.
  std::string values;

  bool is_communication() const {
    return !on_host &&
           (type == NodeType::kSend || type == NodeType::kReceive || type == NodeType::kCollective);
  }
  /// Metadata nodes and nodes without a type take no time and become no event. schedule() keeps the
  /// order that they impose on the nodes before and after them.
  bool is_work() const { return type != NodeType::kInvalid && type != NodeType::kMetadata; }
};

/// Decodes a node message. Returns nullopt if the bytes are not a valid node message.
std::optional<Node> decode_node(std::string_view bytes);
/// Whether the bytes can be a GlobalMetadata message, with which a file begins.
bool is_global_metadata(std::string_view bytes);

/// Start times of all nodes, and their dependencies after the errors of the file were removed.
struct Schedule {
  std::vector<Nanos> start;  ///< start of each node, relative to `epoch`
  Nanos epoch = 0;           ///< absolute time of the first start; 0 if `computed`
  /// For each node, the positions of the nodes that it depends on. All of these nodes exist, and
  /// there are no cycles. A dependency on a node that does no work is replaced by the dependencies
  /// of that node.
  std::vector<std::vector<std::uint32_t>> follows;
  bool computed = false;           ///< the file has no start times; `start` was computed
  std::int64_t duplicate_ids = 0;  ///< nodes that repeat an earlier id; no node depends on them
  std::int64_t dangling = 0;       ///< dependencies on nodes that the file does not contain
  std::int64_t broken_cycles = 0;  ///< dependencies that closed a cycle and were dropped
};

/// Computes the schedule. Takes the recorded start times if the file has any. Otherwise every node
/// starts as soon as its dependencies have ended and its stream or thread is free. If two nodes are
/// ready at the same time, the node that comes first in the file starts first. Takes O(n log n)
/// time in nodes and dependencies.
Schedule schedule(const std::vector<Node>& nodes);

/// Returns the row (lane number) on which a node runs: its thread or its stream. If the file tells
/// neither, there is one row for compute, one for sends and collectives, and one for receives.
std::int64_t row_of(const Node& node);

}  // namespace weft::trace::chakra
