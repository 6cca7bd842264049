// SPDX-License-Identifier: Apache-2.0
// Finds which transfers of different processes moved the same bytes: a send at one end of a
// connection and a receive at the other end, if their byte ranges overlap. This is exact and does
// not depend on clocks. Each pair limits how much the clocks of the two processes can differ,
// because no byte is received before it is sent.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Bytes that one call sent and another call received. Processes are numbered: first Run::ranks,
/// then Run::bystanders.
struct WirePair {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t send = 0;     ///< index into the transfers of the sender
  std::uint32_t receive = 0;  ///< index into the transfers of the receiver
  Bytes bytes = 0;            ///< number of bytes that the two calls have in common

  bool operator==(const WirePair&) const = default;
};

const Wire& wire_of(const Run& run, std::uint32_t process);
Nanos epoch_of(const Run& run, std::uint32_t process);

/// Returns all pairs, sorted by sender, connection and offset. A connection has no pairs if only
/// one of its ends was recorded, or if the offsets of an end do not count from the first byte of
/// the connection (WireConnection::whole). O(n log n) in all transfers.
std::vector<WirePair> match_transfers(const Run& run);

/// Returns the time from the start of the send to the end of the receive, each on the clock of its
/// process. It contains the transfer, the wait for the receiver, and the offset between the two
/// clocks.
Nanos one_way(const Run& run, const WirePair& pair);

/// Bounds for the offset between two clocks: what to add to a time of `second` to get the time of
/// `first` lies in [low, high]. The bounds follow from the fact that no byte is received before it
/// is sent.
struct ClockTie {
  std::uint32_t first = 0;  ///< numbers of the two processes; first < second
  std::uint32_t second = 0;
  Nanos low = 0;
  Nanos high = 0;
  Nanos at = 0;  ///< when the bounds hold, on the clock of `first`, since the Unix epoch

  Nanos middle() const { return low + (high - low) / 2; }
};

/// Returns ties for all pairs of processes that sent bytes to each other in both directions. The
/// recording is divided into pieces, and there is one tie per piece. A piece lasts a tenth of a
/// second, or a 64th of the recording if that is longer. Within a piece, clocks drift too little to
/// make the bounds contradict each other. If the bounds still contradict each other, because
/// somebody set a clock, the piece is left out.
std::vector<ClockTie> clock_ties(const Run& run);

/// Returns the ties between two ranks: the ties of `ties` that connect two ranks, and further ties
/// that follow from bystanders. If two ranks are tied to the same bystander, as two workers are
/// tied to their parameter server, a tie between the two ranks follows.
std::vector<ClockTie> ties_between_ranks(const Run& run, const std::vector<ClockTie>& ties);

}  // namespace weft::trace
