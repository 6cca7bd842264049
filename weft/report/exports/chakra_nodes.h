// SPDX-License-Identifier: Apache-2.0
// What write_chakra() writes, before it is bytes: the graph's ops of one rank as nodes. The
// transfer of a collective, which belongs to no rank, lives on in the node of each member.
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
  std::int64_t row = 0;             ///< thread or stream, counted within the rank
  std::vector<std::uint64_t> deps;  ///< positions of other nodes, all before this one
  std::int64_t duration_micros = 0;
  std::int64_t comm_type = -1;  ///< collectives only
  Bytes comm_size = -1;         ///< communication only
  std::int32_t source = -1, destination = -1;
  std::int64_t tag = -1;  ///< messages only
  std::string group;      ///< collectives only: a number, "0" for all ranks
};

/// What all ranks have to agree on.
struct ChakraPlan {
  struct Message {
    std::int32_t source = -1, destination = -1;
    std::int64_t tag = 0;
    Bytes bytes = 0;
  };
  /// By collective of the graph: the messages it consists of, if it is one (two for an exchange).
  std::vector<std::vector<Message>> messages;
  std::vector<std::string> group;                             ///< by collective
  std::map<std::vector<std::int32_t>, std::int32_t> numbers;  ///< of groups smaller than the job
};

ChakraPlan plan_chakra(const predict::Job& job, Diagnostics& diagnostics);

/// In an order in which every node follows earlier ones only.
std::vector<ChakraNode> chakra_nodes(const predict::Job& job, const ChakraPlan& plan,
                                     std::int32_t rank, Diagnostics& diagnostics);

}  // namespace weft::report
