// SPDX-License-Identifier: Apache-2.0
// Many arrays that move together, such as the parameters of a model. Each array has its own plan,
// and round k of all plans runs at the same time. So senders are chosen for all arrays at once: a
// device that must send much of one array sends less of arrays of which other devices hold copies.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// Extends all problems to the union of their devices, so that a Device means the same device in
/// all of them. Clears node_of of the problems that change; call set_nodes() afterwards.
void share_devices(std::vector<Problem>& problems);

/// The layouts that one array passes through. A hop leads from one layout to the next.
struct ArrayRoute {
  const Problem* problem = nullptr;
  std::vector<const Layout*> layouts;  ///< starts with the source; one more than hops
  /// By hop: the round in which it runs; negative if nothing moves.
  std::vector<std::int32_t> round;
};
/// `problem` and `plan` must outlive the route.
ArrayRoute make_route(const Problem& problem, const Plan& plan);

/// By array, then by hop: the pieces that move. They are those of pieces(), but where several
/// devices hold copies, senders are chosen so that the bytes sent in a round are balanced over all
/// arrays. Pieces that only one device can send count first; then, largest piece first, each goes
/// to the holder with the least to send, preferring the receiver's node. Every device that calls
/// this computes the same result.
using JointPieces = std::vector<std::vector<std::vector<Piece>>>;
JointPieces joint_pieces(const std::vector<ArrayRoute>& routes);

/// Whether any part that moves has several holders; otherwise there is no sender to choose.
bool has_sender_choice(const std::vector<ArrayRoute>& routes);

/// Bytes that each device sends and receives over all rounds.
struct JointLoads {
  std::vector<Bytes> sent, received;  ///< by device
  /// The bytes of the busiest sender (receiver) of each round, summed over the rounds. Rounds run
  /// one after the other, so the total time depends on these sums.
  Bytes sent_max = 0, received_max = 0;
};
JointLoads joint_loads(const std::vector<ArrayRoute>& routes, const JointPieces& pieces);

}  // namespace weft::reshard
