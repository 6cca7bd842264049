// SPDX-License-Identifier: Apache-2.0
// The communication a rank recorded: NCCL and RCCL kernels, and host-side collectives (gloo, MPI,
// UCC annotations), each with all that the kernel, the host op that launched it, and the period of
// the training step tell about it.
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
/// From a kernel, an op or an annotation name: "ncclDevKernel_AllReduce_Sum_f16_RING_LL",
/// "_allgather_base", "nccl:all_to_all", "grads-reduce-scatter". kOther if it names none.
CollectiveKind kind_from_name(std::string_view name);

/// One message inside a call. A call of a batch holds several.
struct Message {
  std::int32_t peer = -1;  ///< global rank
  bool send = false;
  Bytes bytes = -1;

  bool operator==(const Message&) const = default;
};

struct Call {
  std::uint32_t event = 0;  ///< index into RankTrace::events
  CollectiveKind kind = CollectiveKind::kOther;
  bool inferred = false;  ///< size, group and peers come from the same place in another step
  std::int32_t group_size = -1;
  std::string group;              ///< as recorded, empty if unknown
  std::int64_t sequence = -1;     ///< as recorded
  Bytes bytes = -1;               ///< the whole array, as link tables count it
  std::vector<Message> messages;  ///< point to point only; empty if the peers are unknown
};

/// In order of start. O(n log n) in the events of the rank.
std::vector<Call> communication_calls(const RankTrace& trace, const Launches& launches);

}  // namespace weft::trace
