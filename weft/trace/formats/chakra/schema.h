// SPDX-License-Identifier: Apache-2.0
// Field numbers and enumerators of Chakra's execution trace schema (et_def.proto 0.0.4). The reader
// and the export share them. A file is a sequence of length-delimited messages: one GlobalMetadata,
// then one Node per piece of work.
#pragma once

#include <cstdint>

#include "weft/trace/collective_kind.h"

namespace weft::trace::chakra {

enum class NodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
};

/// Fields of GlobalMetadata.
namespace metadata_field {
constexpr std::uint32_t kVersion = 1, kAttribute = 2;
}
/// Fields of Node.
namespace node_field {
constexpr std::uint32_t kId = 1, kName = 2, kType = 3, kControlDeps = 4, kDataDeps = 5, kStart = 6,
                        kDuration = 7, kInputs = 8, kAttribute = 10;
}
/// Fields of AttributeProto: the name, and one field per value type that Weft uses.
namespace attribute_field {
constexpr std::uint32_t kName = 1, kInt32 = 7, kInt64 = 9, kUint32 = 11, kUint64 = 13, kBool = 27,
                        kString = 29;
}

/// Returns the CollectiveCommType number of a kind; -1 if Chakra does not have the kind.
constexpr std::int64_t comm_type_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 0;
    case CollectiveKind::kReduce:
      return 1;
    case CollectiveKind::kAllGather:
      return 2;
    case CollectiveKind::kGather:
      return 3;
    case CollectiveKind::kScatter:
      return 4;
    case CollectiveKind::kBroadcast:
      return 5;
    case CollectiveKind::kAllToAll:
      return 6;
    case CollectiveKind::kReduceScatter:
      return 7;
    case CollectiveKind::kBarrier:
      return 9;
    default:
      return -1;
  }
}

constexpr CollectiveKind kind_of_comm_type(std::int64_t type) {
  if (type == 8) return CollectiveKind::kReduceScatter;  // REDUCE_SCATTER_BLOCK
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduce, CollectiveKind::kAllGather,
        CollectiveKind::kGather, CollectiveKind::kScatter, CollectiveKind::kBroadcast,
        CollectiveKind::kAllToAll, CollectiveKind::kReduceScatter, CollectiveKind::kBarrier}) {
    if (comm_type_of(kind) == type) return kind;
  }
  return CollectiveKind::kOther;
}

}  // namespace weft::trace::chakra
