// SPDX-License-Identifier: Apache-2.0
// What a round costs: a time to start, a time a message, and bytes over bandwidth.
#pragma once

#include <string_view>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/reshard/round/traffic.h"

namespace weft::reshard {

/// Time in picoseconds: a byte at 25 GB/s takes 40 of them, and plans differ by single bytes.
using Picos = std::int64_t;

struct Link {
  Picos step = 10'000'000;  ///< to start a round in which anything moves
  Picos message = 0;        ///< each message that a device receives, one after the other
  std::int64_t bandwidth = 25'000'000'000;  ///< bytes a second into a device

  std::int64_t node_bandwidth = 0;  ///< bytes a second into a node from others; 0: no limit

  /// Bytes that may be on their way into a device at once, as messages of half of it at most: a
  /// round that brings more is run as several, each of which has to be started. 0: no limit.
  Bytes window = 0;

  /// Sizes are priced times grow / shrink, as if the array were larger.
  Bytes grow = 1, shrink = 1;
};

/// "10us,25GB/s"; the message cost stays 0.
Result<Link> parse_link(std::string_view text);
/// "25GB/s".
Result<std::int64_t> parse_bandwidth(std::string_view text);
/// "2us", "500ns", "0us".
Result<Picos> parse_duration(std::string_view text);

Picos price(const Link& link, std::int64_t steps, std::int64_t messages, Bytes received);
Picos price(const Link& link, const Traffic& traffic, Bytes item_size);
/// What any rounds cost together that bring a device as much, in at least as many messages.
Picos least_price(const Link& link, const Traffic& traffic, Bytes item_size);

/// Messages that the device with most of them receives, which a window cuts into several each.
std::int64_t messages(const Link& link, const Traffic& traffic, Bytes item_size);

}  // namespace weft::reshard
