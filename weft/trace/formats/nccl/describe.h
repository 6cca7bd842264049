// SPDX-License-Identifier: Apache-2.0
// The arguments of an NCCL call in Weft's words. NCCL profilers, NCCL Inspector and NCCL's NVTX
// ranges all report the count that the caller passed, whose meaning differs from call to call.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/trace/events.h"

namespace weft::trace::nccl {

struct ApiCall {
  std::string_view function;  ///< "AllReduce", "ncclAllReduce", "Send" ...
  std::int64_t count = -1;    ///< elements as passed to NCCL, -1 unknown
  std::string_view dtype;     ///< "ncclFloat32"; "" if `count` is in bytes
  std::string_view group;     ///< communicator
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;  ///< counted by communicator and function
  std::int32_t self = -1;      ///< global ranks, messages only
  std::int32_t peer = -1;
};

/// Unknown functions and types stay as they are spelt. Counts that do not fit are left unknown.
CollectiveDetail describe(Interner& names, const ApiCall& call);

}  // namespace weft::trace::nccl
