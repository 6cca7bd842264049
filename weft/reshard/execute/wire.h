// SPDX-License-Identifier: Apache-2.0
// Contiguous bytes from device to device: what the transport of messages.h runs on.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// One device's end. Messages from one device to another arrive in the order in which they were
/// started, and both ends say how long each is. After an Error only abort() may be called.
class Wire {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  /// The caller's number of a message under way.
  using Ticket = std::size_t;

  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  /// Messages that follow belong to this program, and are received as parts of the same one only.
  virtual void enter(std::uint64_t fingerprint) = 0;

  /// Start a message; its bytes must stay where they are until the ticket is done.
  virtual Status send(Device to, const std::byte* data, Bytes bytes, Ticket ticket) = 0;
  virtual Status receive(Device from, std::byte* data, Bytes bytes, Ticket ticket) = 0;

  /// Tickets that have become done: possibly none, after a moment in which others may have the
  /// core. An Error (kPeerFailed) where a peer has given up, or is seen to run another program.
  virtual Result<std::vector<Ticket>> done() = 0;

  /// Gives up what is under way and tells all others why, without waiting for them. Returns whether
  /// what it was given may still be read or written, so that it must not be freed.
  virtual bool abort(const Error& why) = 0;
};

}  // namespace weft::reshard::execute
