// SPDX-License-Identifier: Apache-2.0
// Chooses senders for many arrays that move together, such as the parameters of a model. Each array
// has its own plan, and round k of all plans runs at the same time. Senders are chosen for all
// arrays together. For example, a device that must send much of one array sends less of other
// arrays, if other devices hold copies of them.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// Gives all problems the same devices: the union of the devices of all problems. Then a Device
/// number means the same device in each of them. Clears node_of of the problems that change; call
/// set_nodes() afterwards.
void share_devices(std::vector<Problem>& problems);

/// The layouts that one array passes through. A hop leads from one layout to the next.
struct ArrayRoute {
  const Problem* problem = nullptr;
  std::vector<const Layout*> layouts;  ///< from the source on; hop i goes from layout i to i + 1
  /// Indexed by hop: the round in which it runs; negative if nothing moves.
  std::vector<std::int32_t> round;
};
/// `problem` and `plan` must outlive the route.
ArrayRoute make_route(const Problem& problem, const Plan& plan);

/// Indexed by array, then by hop: the pieces that move. These are the pieces of pieces(), but with
/// other senders where several devices hold copies. Senders are chosen so that the bytes sent in a
/// round are balanced over all arrays:
///   1. Pieces that only one device can send are assigned to this device first.
///   2. The other pieces follow, the largest first. Each piece is sent by the holder that has the
///      least to send so far. Holders on the receiver's node are preferred.
/// Every device that calls this function computes the same result.
using JointPieces = std::vector<std::vector<std::vector<Piece>>>;
JointPieces joint_pieces(const std::vector<ArrayRoute>& routes);

/// Whether any part that moves has several holders; otherwise there is no sender to choose.
bool has_sender_choice(const std::vector<ArrayRoute>& routes);

/// Bytes that each device sends and receives over all rounds.
struct JointLoads {
  std::vector<Bytes> sent, received;  ///< indexed by device
  /// The bytes of the device that sends (receives) most in a round, summed over all rounds. Rounds
  /// run one after the other, so the total time depends on these sums.
  Bytes sent_max = 0, received_max = 0;
};
JointLoads joint_loads(const std::vector<ArrayRoute>& routes, const JointPieces& pieces);

}  // namespace weft::reshard
