// SPDX-License-Identifier: Apache-2.0
// How much memory a plan takes on the device that needs most, measured on its programs.
#pragma once

#include <string>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

struct Footprint {
  bool in_place = false;
  std::string reason;  ///< if in place was asked for and is not possible: why
  Bytes in = 0;        ///< the largest source and the largest target of any device
  Bytes out = 0;
  Bytes staging = 0;   ///< arrays between rounds, or sub-rounds of them
  Bytes messages = 0;  ///< in flight, and marks of moves in place; 0 without a budget
  Bytes message = 0;   ///< the longest
  Bytes window = 0;    ///< bytes in flight to a device at once, see Link; 0: no limit
  Bytes live = 0;      ///< everything that is alive at once on one device
};

/// `options.in_place` asks for one buffer instead of two. If the plan does not allow that, the
/// result is the footprint with two buffers. Looks at every device if there are at most
/// kAllDevices, else only at those with the largest source and target.
Result<Footprint> footprint(const Problem& problem, const Plan& plan,
                            const ProgramOptions& options);
constexpr Device kAllDevices = 64;

/// The cheapest plan within the budget; with one buffer if that is asked for and possible.
Result<Plan> make_plan_for(const Problem& problem, const PlannerOptions& options,
                           const ProgramOptions& run);

}  // namespace weft::reshard::execute
