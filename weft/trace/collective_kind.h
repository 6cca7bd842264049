// SPDX-License-Identifier: Apache-2.0
// The kinds of communication, one list for all rooms.
#pragma once

#include <cstdint>

namespace weft::trace {

enum class CollectiveKind : std::uint8_t {
  kOther,  ///< communication whose kind the recording does not tell
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kSendRecv,
  kBarrier,
  kPushPull,  ///< gradients to a parameter server, parameters back
};

}  // namespace weft::trace
