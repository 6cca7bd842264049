// SPDX-License-Identifier: Apache-2.0
// How much memory a plan takes on the device that needs most, read off the programs themselves.
#pragma once

#include <string>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

struct Footprint {
  bool in_place = false;
  std::string reason;  ///< where it was asked for and is not: why
  Bytes in = 0;        ///< the larger source and target of all devices
  Bytes out = 0;
  Bytes staging = 0;   ///< arrays between rounds, or shares of them
  Bytes messages = 0;  ///< on their way, and marks of moves in place; 0 without a budget
  Bytes message = 0;   ///< the longest
  Bytes window = 0;    ///< that may be on its way into a device at once, see Link; 0: no limit
  Bytes live = 0;      ///< all that lives at once on one device
};

/// `in_place` asks for one buffer for both ends; where the plan does not allow that, the footprint
/// is that of two. Every device up to kAllDevices, beyond that those with the largest ends.
Result<Footprint> footprint(const Problem& problem, const Plan& plan,
                            const ProgramOptions& options);
constexpr Device kAllDevices = 64;

/// The cheapest plan within the budget, for one buffer where that is asked for and possible.
Result<Plan> make_plan_for(const Problem& problem, const PlannerOptions& options,
                           const ProgramOptions& run);

}  // namespace weft::reshard::execute
