// SPDX-License-Identifier: Apache-2.0
// Turns the ops of one rank into the nodes that write_chakra() serialises. In the graph, the
// transfer of a collective is an op that belongs to no rank. Chakra has no node without a rank. So
// each member gets one communication node, which stands for its arrival and for the transfer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/predict/job.h"
#include "weft/trace/formats/chakra/schema.h"

namespace weft::report {

struct ChakraNode {
  std::string name;
  trace::chakra::NodeType type = trace::chakra::NodeType::kCompute;
  bool on_host = false;
  std::int64_t row = 0;             ///< thread or stream, numbered from 0 within the rank
  std::vector<std::uint64_t> deps;  ///< positions of earlier nodes, ascending, no duplicates
  std::int64_t duration_micros = 0;
  std::int64_t comm_type = -1;  ///< collectives only
  Bytes comm_size = -1;         ///< communication only; -1 otherwise
  std::int32_t source = -1, destination = -1;
  std::int64_t tag = -1;  ///< messages only
  std::string group;      ///< collectives only: a number as text; "0" is the group of all ranks
};

/// Tags, message sizes and group numbers. All ranks must use the same values, so the values are
/// computed once for the whole job.
struct ChakraPlan {
  struct Message {
    std::int32_t source = -1, destination = -1;
    std::int64_t tag = 0;
    Bytes bytes = 0;
  };
  /// For each collective of the graph, the messages that it consists of. The graph also stores a
  /// message between two ranks as a collective. It has two messages here if both ranks send, else
  /// one. All other collectives have none.
  std::vector<std::vector<Message>> messages;
  std::vector<std::string> group;  ///< ChakraNode::group of each collective
  std::map<std::vector<std::int32_t>, std::int32_t> numbers;  ///< members of a group -> its number
};

ChakraPlan plan_chakra(const predict::Job& job, Diagnostics& diagnostics);

/// The nodes of one rank, in an order in which a node depends only on earlier nodes.
std::vector<ChakraNode> chakra_nodes(const predict::Job& job, const ChakraPlan& plan,
                                     std::int32_t rank, Diagnostics& diagnostics);

}  // namespace weft::report
