// SPDX-License-Identifier: Apache-2.0
// Finds the message of the sender that belongs to one of the receiver, where both are at hand.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Goes through the messages that one device receives in a turn, in their order, those that add
/// apart from the others.
class Pairing {
 public:
  /// The message that `message.peer`, whose turn is `peer`, sends to `self` for it. An Error
  /// (kPeerFailed) where there is none, or one of another size.
  Result<const Message*> match(Device self, const Message& message, const Turn& peer) {
    std::size_t& next = next_[{message.peer, message.add}];
    const auto other = [&](const Message& sent) {
      return sent.peer != self || sent.add != message.add;
    };
    while (next < peer.sends.size() && other(peer.sends[next])) ++next;
    if (next == peer.sends.size() || !fits(message, peer.sends[next])) {
      return fail(ErrorCode::kPeerFailed,
                  "devices " + std::to_string(message.peer) + " and " + std::to_string(self) +
                      " disagree about a message: they run different programs");
    }
    return &peer.sends[next++];
  }

 private:
  static bool fits(const Message& received, const Message& sent) {
    return received.bytes == sent.bytes;
  }

  std::map<std::pair<Device, bool>, std::size_t> next_;  ///< where to go on among sends of a peer
};

}  // namespace weft::reshard::execute
