// SPDX-License-Identifier: Apache-2.0
// Carries contiguous bytes from device to device. The transport of messages.h runs on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// One device's end of the connections to all other devices. Messages from one device to another
/// arrive in the order in which they were started. Both ends know the length of each message. After
/// an Error only abort() may be called.
class Wire {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  /// The number that the caller gives a message in flight.
  using Ticket = std::size_t;

  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  /// Declares the program to which the following messages belong. These messages match only
  /// messages of the same program.
  virtual void enter(std::uint64_t fingerprint) = 0;

  /// Starts a message. Its bytes must not move or change until done() returns the ticket.
  virtual Status send(Device to, const std::byte* data, Bytes bytes, Ticket ticket) = 0;
  virtual Status receive(Device from, std::byte* data, Bytes bytes, Ticket ticket) = 0;

  /// Returns the tickets of messages that have completed since the last call. There may be none;
  /// then the call lets other threads use the core for a moment. Returns an Error (kPeerFailed) if
  /// a peer has given up or runs another program.
  virtual Result<std::vector<Ticket>> done() = 0;

  /// Gives up all messages in flight and tells all peers why, without waiting for them. Returns
  /// whether the wire may still read or write memory that it was given. If so, the caller must not
  /// free that memory.
  virtual bool abort(const Error& why) = 0;
};

}  // namespace weft::reshard::execute
