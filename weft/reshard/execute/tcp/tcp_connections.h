// SPDX-License-Identifier: Apache-2.0
// TCP connections between processes, one per pair. The TCP transport uses them.
//
// Each process listens and tells the others its address. How it tells them is up to the caller;
// JAX, for example, has a key-value store. An address contains a secret. A connection that does not
// send the secret is closed. So strangers on the network can neither take part nor keep processes
// from connecting.
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
  /// Called a few times per second. If it returns true, waiting ends in an Error (kCancelled). May
  /// be empty.
  std::function<bool()> cancelled;

  bool given_up() const { return cancelled && cancelled(); }
  bool over() const { return std::chrono::steady_clock::now() >= until; }
};

/// An open file descriptor, closed by the destructor.
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
  /// Listens on a free port of `host`, a numeric IPv4 or IPv6 address.
  static Result<Listener> open(const std::string& host);

  /// "host port secret": what other processes need to connect.
  const std::string& address() const { return address_; }
  const std::string& secret() const { return secret_; }
  int number() const { return descriptor_.number(); }

 private:
  Descriptor descriptor_;
  std::string address_, secret_;
};

/// Connects to every other process. All processes must call this at the same time. `addresses` is
/// indexed by process. Returns non-blocking sockets, indexed by process; the socket of `self` is
/// not open. If a process does not connect in time, returns an Error (kPeerFailed) that names it.
Result<std::vector<Descriptor>> connect_all(const Listener& listener, std::int32_t self,
                                            const std::vector<std::string>& addresses,
                                            const Waiting& waiting);

}  // namespace weft::reshard::execute
