// SPDX-License-Identifier: Apache-2.0
// TCP connections between processes, one a pair: what the TCP transport runs on.
//
// Each process listens and tells the others its address, by whatever means they share (JAX has a
// key-value store). An address carries a secret, and who connects without it is turned away, so
// that a stranger on the network can neither take part nor keep others from doing so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::reshard::execute {

using Deadline = std::chrono::steady_clock::time_point;

/// When to stop waiting for others.
struct Waiting {
  Deadline until;
  /// Asked a few times a second; true: given up, with an Error (kCancelled). May be empty.
  std::function<bool()> cancelled;

  bool given_up() const { return cancelled && cancelled(); }
  bool over() const { return std::chrono::steady_clock::now() >= until; }
};

/// An open file descriptor, closed at the end of its life.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release();

 private:
  int number_ = -1;
};

class Listener {
 public:
  /// On a free port of `host`, an IPv4 or IPv6 address in numbers.
  static Result<Listener> open(const std::string& host);

  /// "host port secret": what the others need.
  const std::string& address() const { return address_; }
  const std::string& secret() const { return secret_; }
  int number() const { return descriptor_.number(); }

 private:
  Descriptor descriptor_;
  std::string address_, secret_;
};

/// Connects to every other process, which all do the same at the same time. `addresses`: by
/// process. What comes back is by process too, with a hole at `self`; sockets do not block. An
/// Error (kPeerFailed) names who did not come in time.
Result<std::vector<Descriptor>> connect_all(const Listener& listener, std::int32_t self,
                                            const std::vector<std::string>& addresses,
                                            const Waiting& waiting);

}  // namespace weft::reshard::execute
