// SPDX-License-Identifier: Apache-2.0
// Many arrays moved together, such as a model's parameters. Each has a plan of its own; round k of
// all of them runs at the same time, so who sends what is settled for all at once: a device that
// has much to send of one array sends less of those that it shares with others.
#pragma once

#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"
#include "weft/reshard/round/exchange.h"

namespace weft::reshard {

/// All arrays on the devices of any of them, so that a number means the same device in all. Nodes
/// are to be set afterwards.
void share_devices(std::vector<Problem>& problems);

/// An array on its way.
struct ArrayRoute {
  const Problem* problem = nullptr;
  std::vector<const Layout*> layouts;  ///< the source first
  /// In which round each way from one to the next is gone; negative: in none, nothing moves.
  std::vector<std::int32_t> round;
};
/// Both must outlive it.
ArrayRoute make_route(const Problem& problem, const Plan& plan);

/// Of each array, then of each way, what moves: as pieces() tells, but with senders among copies
/// balanced over all arrays of a round, in bytes. What only one device can send is counted first;
/// then the largest piece goes to the copy with least to send, one of the receiver's node if there
/// is any. The same for every device that asks.
using JointPieces = std::vector<std::vector<std::vector<Piece>>>;
JointPieces joint_pieces(const std::vector<ArrayRoute>& routes);

/// Whether anything is held twice that is to be sent: else who sends is no question.
bool has_sender_choice(const std::vector<ArrayRoute>& routes);

/// What each device sends and receives, over all rounds.
struct JointLoads {
  std::vector<Bytes> sent, received;
  /// The busiest sender of each round, added up: what the time of the whole depends on.
  Bytes sent_max = 0, received_max = 0;
};
JointLoads joint_loads(const std::vector<ArrayRoute>& routes, const JointPieces& pieces);

}  // namespace weft::reshard
