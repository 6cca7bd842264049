// SPDX-License-Identifier: Apache-2.0
// How each round of a plan can be done in one buffer, and whether it can.
#pragma once

#include <vector>

#include "weft/reshard/execute/program/homes.h"

namespace weft::reshard::execute {

/// How a round is done without a second buffer.
enum class Kind { kNothing, kSlice, kGather, kReduce, kAddUp, kSwap };

struct Leg {
  Kind kind = Kind::kNothing;
  std::vector<Piece> pieces;  ///< of all devices
  std::int64_t shares = 1;    ///< that swaps and sums are done in
  Bytes staging = 0;          ///< of the device that needs most
  /// By device: what it sends is free for others as soon as it is sent.
  std::vector<char> gives_up;

  std::int32_t turns() const {
    switch (kind) {
      case Kind::kNothing:
        return 0;
      case Kind::kSlice:
      case Kind::kReduce:
        return 1;
      case Kind::kGather:
        return 2;
      case Kind::kSwap:
        return static_cast<std::int32_t>(shares);
      case Kind::kAddUp:
        return static_cast<std::int32_t>(shares + 1);
    }
    return 0;
  }
};

/// What a device has in one of the layouts, in elements.
std::int64_t held(const Course& course, std::size_t layout, Device device);
/// The most that a device holds on its way: the size of its buffer, in elements.
std::int64_t most_held(const Course& course, Device device);

/// One for each way of the course. `allowance`: staging that a device may use; 0: no limit; a leg
/// whose smallest share takes more says so. An Error (kInfeasible) where a round needs a second
/// buffer.
Result<std::vector<Leg>> make_legs(const Course& course, Bytes allowance);

}  // namespace weft::reshard::execute
