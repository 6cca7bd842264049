// SPDX-License-Identifier: Apache-2.0
// Decides for each round of a plan how it can run with one buffer instead of two, or that this is
// impossible.
#pragma once

#include <vector>

#include "weft/reshard/execute/program/placement.h"

namespace weft::reshard::execute {

/// How a round runs with one buffer. in_place.cc describes each kind.
enum class InPlaceKind {
  kNothing,        ///< no data changes its place
  kSlice,          ///< every device keeps a part of its data and receives nothing
  kGather,         ///< every device keeps all its data and receives more
  kReduceScatter,  ///< a reduction in which no device keeps data that it sends
  kReduceStaged,   ///< a reduction in which devices also keep data that they send, as in an
                   ///< all-reduce
  kExchange,       ///< devices replace their data by the data that they receive
};

struct InPlaceRound {
  InPlaceKind kind = InPlaceKind::kNothing;
  std::vector<Piece> pieces;  ///< of all devices
  /// The number of sub-rounds. A reduction through staging (kReduceStaged) and an exchange are
  /// divided into sub-rounds, so that only the data of one sub-round needs staging.
  std::int64_t sub_rounds = 1;
  Bytes staging = 0;  ///< on the device that needs the most
  /// Indexed by device: whether the memory of data may be overwritten as soon as a sub-round has
  /// sent the data.
  std::vector<char> frees_sent;

  std::int32_t turns() const {
    switch (kind) {
      case InPlaceKind::kNothing:
        return 0;
      case InPlaceKind::kSlice:
      case InPlaceKind::kReduceScatter:
        return 1;
      case InPlaceKind::kGather:
        return 2;
      case InPlaceKind::kExchange:
        return static_cast<std::int32_t>(sub_rounds);
      case InPlaceKind::kReduceStaged:
        return static_cast<std::int32_t>(sub_rounds + 1);
    }
    return 0;
  }
};

/// How many elements a device holds in one layout of the route.
std::int64_t elements_held(const Route& route, std::size_t layout, Device device);
/// The most elements that a device holds in any layout: the size of its buffer.
std::int64_t most_elements_held(const Route& route, Device device);

/// Returns one InPlaceRound per hop of the route. `allowance` is the bytes of staging that a device
/// may use; 0: no limit. If even the smallest sub-round needs more, InPlaceRound::staging says how
/// much. Returns an Error (kInfeasible) if a round needs a second buffer.
Result<std::vector<InPlaceRound>> make_in_place_rounds(const Route& route, Bytes allowance);

}  // namespace weft::reshard::execute
