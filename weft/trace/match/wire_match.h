// SPDX-License-Identifier: Apache-2.0
// Which transfers of different processes are the same bytes: those of one connection, seen from its
// two ends, whose ranges overlap. Exact, and independent of clocks; so the pairs say how far clocks
// can be apart.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Bytes that one call sent and another received. Processes count through Run::ranks and then
/// through Run::bystanders.
struct WirePair {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t send = 0;  ///< index into the transfers of the sender
  std::uint32_t receive = 0;
  Bytes bytes = 0;  ///< that both calls moved

  bool operator==(const WirePair&) const = default;
};

const Wire& wire_of(const Run& run, std::uint32_t process);
Nanos epoch_of(const Run& run, std::uint32_t process);

/// By sender, connection and offset. Connections of which one end is not recorded have none, nor
/// those whose offsets say nothing. O(n log n) in all transfers.
std::vector<WirePair> match_transfers(const Run& run);

/// From the start of the send to the end of the receive, each on its own process's clock: the way,
/// the wait for the receiver, and what the clocks differ by.
Nanos one_way(const Run& run, const WirePair& pair);

/// What transfers tell about two clocks: nothing is received before it is sent. To be added to the
/// times of `second` to get those of `first`: something in [low, high].
struct ClockTie {
  std::uint32_t first = 0;  ///< processes; first < second
  std::uint32_t second = 0;
  Nanos low = 0;
  Nanos high = 0;
  Nanos at = 0;  ///< when it was seen, on the clock of `first`, since the Unix epoch

  Nanos middle() const { return low + (high - low) / 2; }
};

/// For processes that sent each other something, both ways: one for each tenth of a second, or for
/// each 64th of the recording if that is longer, so that drift does not make bounds contradict each
/// other. Those that do all the same, because a clock was set, are left out.
std::vector<ClockTie> clock_ties(const Run& run);

/// The same between ranks alone: those of above, and those of ranks that both talked to one
/// bystander, as workers do to their parameter server.
std::vector<ClockTie> ties_between_ranks(const Run& run, const std::vector<ClockTie>& ties);

}  // namespace weft::trace
