// SPDX-License-Identifier: Apache-2.0
// Computes the price of a round. It is the sum of a fixed time to start the round, a time per
// message, and the bytes divided by the bandwidth.
#pragma once

#include <string_view>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/reshard/round/traffic.h"

namespace weft::reshard {

/// Time in picoseconds. A byte at 25 GB/s takes 40 ps, so plans that differ by one byte have
/// different prices, and integers compare the same on every machine.
using Picos = std::int64_t;

struct Link {
  Picos step = 10'000'000;  ///< time to start a round in which anything moves
  Picos message = 0;        ///< time per message; a device receives messages one after the other
  std::int64_t bandwidth = 25'000'000'000;  ///< bytes per second into a device

  /// Bytes per second into a node from other nodes; 0: no limit. All devices of a node share it.
  std::int64_t node_bandwidth = 0;

  /// The most bytes that may be on their way into a device at once. Messages have at most half as
  /// many bytes. If a device receives more bytes in a round, the round runs as several rounds, and
  /// each of them costs a step. 0: no limit.
  Bytes window = 0;

  /// All sizes are multiplied by grow / shrink before they are priced. So a small array can be
  /// priced as if it were larger.
  Bytes grow = 1, shrink = 1;
};

/// Step cost and bandwidth: "10us,25GB/s", or "10us" with the default bandwidth. The cost of a
/// message stays 0. An Error (kUsage) for other texts.
Result<Link> parse_link(std::string_view text);
/// "25GB/s".
Result<std::int64_t> parse_bandwidth(std::string_view text);
/// "2us", "500ns", "0us".
Result<Picos> parse_duration(std::string_view text);

/// The price of `steps` rounds in which one device receives `messages` messages and `received`
/// bytes in total.
Picos price(const Link& link, std::int64_t steps, std::int64_t messages, Bytes received);
/// The price of one step with this traffic; 0 if nothing moves.
Picos price(const Link& link, const Traffic& traffic, Bytes item_size);
/// A lower bound on the price of any rounds that together bring one device `traffic.recv_max`
/// elements in at least `traffic.peers_max` messages.
Picos least_price(const Link& link, const Traffic& traffic, Bytes item_size);

/// The number of messages that the busiest device receives. This is one message per peer, or
/// several if the window is too small for the data of a peer.
std::int64_t messages(const Link& link, const Traffic& traffic, Bytes item_size);

}  // namespace weft::reshard
