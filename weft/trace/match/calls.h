// SPDX-License-Identifier: Apache-2.0
// Lists the communication of one rank: NCCL and RCCL kernels, and host-side collectives (gloo, MPI,
// UCC annotations). The arguments of a call (kind, group, size, peers) come from the kernel, from
// the host op that launched it, or from the corresponding call in another training step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/collective_kind.h"
#include "weft/trace/events.h"
#include "weft/trace/launches.h"

namespace weft::trace {

const char* to_text(CollectiveKind kind);
/// Returns the kind that the name of a kernel, op or annotation contains. Understands, for example,
/// "ncclDevKernel_AllReduce_Sum_f16_RING_LL", "_allgather_base", "nccl:all_to_all" and
/// "grads-reduce-scatter". Returns kOther if the name contains no kind.
CollectiveKind kind_from_name(std::string_view name);

/// One message of a call. A call that carries a batch has several.
struct Message {
  std::int32_t peer = -1;  ///< global rank
  bool send = false;
  Bytes bytes = -1;

  bool operator==(const Message&) const = default;
};

struct Call {
  std::uint32_t event = 0;  ///< index into RankTrace::events
  CollectiveKind kind = CollectiveKind::kOther;
  bool inferred = false;  ///< size, group and peers come from the same call in another step
  std::int32_t group_size = -1;
  std::string group;              ///< as recorded, empty if unknown
  std::int64_t sequence = -1;     ///< as recorded
  Bytes bytes = -1;               ///< size of the whole array (docs/formats/links.md)
  std::vector<Message> messages;  ///< point-to-point only; empty if the peers are unknown
};

/// Returns all calls of the rank, in order of start. Takes O(n log n) time in the events of the
/// rank.
std::vector<Call> communication_calls(const RankTrace& trace, const Launches& launches);

}  // namespace weft::trace
