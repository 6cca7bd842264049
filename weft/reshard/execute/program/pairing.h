// SPDX-License-Identifier: Apache-2.0
// Finds the sender's message that matches a message of the receiver. It needs the programs of both
// devices.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Matches the messages that one device receives in a turn. Call match() for them in their order.
/// Messages that add and messages that replace are counted separately.
class Pairing {
 public:
  /// Finds the sent message that matches `message`, which device `self` receives. `peer` is the
  /// turn of the sender. Returns an Error (kPeerFailed) if `peer` has no such message, or if the
  /// sizes of the two messages differ.
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

  std::map<std::pair<Device, bool>, std::size_t>
      next_;  ///< by peer and `add`: the first send without a match
};

}  // namespace weft::reshard::execute
