// SPDX-License-Identifier: Apache-2.0
// Measures how much memory a plan takes on the device that needs the most. To do so, it makes the
// programs of the plan and adds up what they allocate.
#pragma once

#include <string>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

struct Footprint {
  bool in_place = false;
  std::string reason;  ///< if in_place was requested: why the plan cannot run in place
  Bytes in = 0;        ///< the largest source and the largest target of any device
  Bytes out = 0;
  Bytes staging = 0;   ///< memory for arrays between rounds, or for their sub-rounds
  Bytes messages = 0;  ///< messages in flight, and marks of moves in place; 0 without a budget
  Bytes message = 0;   ///< the longest message
  Bytes window = 0;    ///< bytes in flight to a device at once, see Link; 0: no limit
  Bytes live = 0;      ///< everything that is alive at once on one device
};

/// `options.in_place` asks for one buffer instead of two. If the plan does not allow that, the
/// result is the footprint with two buffers. If there are at most kAllDevices devices, the
/// footprint considers every device. Otherwise it considers only the devices with the largest
/// source and the largest target.
Result<Footprint> footprint(const Problem& problem, const Plan& plan,
                            const ProgramOptions& options);
constexpr Device kAllDevices = 64;

/// The cheapest plan within the budget. It uses one buffer if `run` asks for that and if it is
/// possible.
Result<Plan> make_plan_for(const Problem& problem, const PlannerOptions& options,
                           const ProgramOptions& run);

}  // namespace weft::reshard::execute
