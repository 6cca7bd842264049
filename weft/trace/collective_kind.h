// SPDX-License-Identifier: Apache-2.0
// The kinds of communication. All rooms use this list.
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
  kPushPull,  ///< exchange with a parameter server: sends gradients, receives parameters
};

}  // namespace weft::trace
