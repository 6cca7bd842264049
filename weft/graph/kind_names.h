// SPDX-License-Identifier: Apache-2.0
// Lists the names that the text form uses for all kinds (of ops, lanes, edges and collectives), in
// the order of the enumerators. Private to this room.
#pragma once

#include <array>
#include <string_view>

namespace weft::graph {

inline constexpr std::array<std::string_view, 9> kOpKindNames = {
    "host", "launch", "sync", "kernel", "copy", "arrive", "transfer", "push", "pull"};
inline constexpr std::array<std::string_view, 3> kLaneKindNames = {"host", "stream", "link"};
inline constexpr std::array<std::string_view, 7> kEdgeKindNames = {
    "order", "launch", "event_wait", "host_sync", "thread", "collective", "data"};
inline constexpr std::array<std::string_view, 12> kCollectiveKindNames = {
    "other",  "allreduce", "allgather", "reducescatter", "broadcast", "reduce",
    "gather", "scatter",   "alltoall",  "sendrecv",      "barrier",   "pushpull"};

}  // namespace weft::graph
