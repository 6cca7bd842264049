// SPDX-License-Identifier: Apache-2.0
// Translates the arguments of an NCCL call into a CollectiveDetail. NCCL profiler plug-ins, NCCL
// Inspector and NCCL's NVTX ranges all report the count that the caller passed. What this count
// means depends on the function: for an all-gather it is what one rank sends, for example.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/trace/events.h"

namespace weft::trace::nccl {

struct ApiCall {
  std::string_view function;  ///< "AllReduce", "ncclAllReduce", "Send" ...
  std::int64_t count = -1;    ///< elements as passed to NCCL; -1 if unknown
  std::string_view dtype;     ///< for example "ncclFloat32"; empty if `count` is in bytes
  std::string_view group;     ///< the communicator
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;  ///< sequence number; NCCL counts per communicator and function
  std::int32_t self = -1;      ///< the caller's rank in the job; only for messages
  std::int32_t peer = -1;      ///< the other end's rank in the job; only for messages
};

/// Keeps the spelling of unknown functions and types. Counts that would overflow become unknown.
CollectiveDetail describe(Interner& names, const ApiCall& call);

}  // namespace weft::trace::nccl
