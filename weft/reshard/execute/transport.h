// SPDX-License-Identifier: Apache-2.0
// The interface of all transports, which carry bytes from device to device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Addresses of a program's buffers, indexed by the number of the buffer. The transport determines
/// the kind of memory: GPU memory for NCCL, otherwise the host's.
using Buffers = std::vector<std::byte*>;

/// One device's end of its connections to all others. Not thread-safe.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Runs one turn. Returns when everything that the device receives is in its buffers, and
  /// everything that it sends may be overwritten. A peer may fail to take part within the timeout,
  /// or may run another program. Then the result is an Error (kPeerFailed) on this and every other
  /// device. After that, every call of the transport returns the same Error.
  virtual Status round(const Program& program, const Turn& turn, const Buffers& buffers) = 0;

  /// Runs before the first round. Fills all regions of program.neutral with the neutral element.
  /// Returns an Error (kUsage) if the transport cannot reduce the elements of an array that may
  /// need it.
  virtual Status fill_neutral(const Program& program, const Buffers& buffers);
  /// Runs after each round of a program in place: does the turn's shuffles.
  virtual Status shuffle(const Turn& turn, const Buffers& buffers);
  /// Runs after the last round: divides averages.
  virtual Status finish(const Program& program, const Buffers& buffers);

  /// Whether buffers are in the host's memory.
  virtual bool memory_of_host() const { return true; }

  /// Allocates memory for staging, of the transport's kind, aligned for elements of every type.
  /// take_peak() counts it.
  Result<std::byte*> allocate(Bytes bytes);
  void release(std::byte* memory);
  /// The most bytes that were allocated at the same time since the last call.
  Bytes take_peak();

 protected:
  /// Counts `held` bytes for the peak. The transport holds these bytes in addition to the allocated
  /// bytes.
  void note_peak(Bytes held) { peak_ = std::max(peak_, live_ + held); }

  /// Allocates the memory. It is memory of the host, unless a transport overrides this function.
  /// Returns nullptr if there is not enough.
  virtual std::byte* take_memory(Bytes bytes);
  virtual void return_memory(std::byte* memory);

 private:
  std::map<std::byte*, Bytes> allocated_;
  Bytes live_ = 0, peak_ = 0;
};

/// Memory from a transport, given back by the destructor.
class Staging {
 public:
  static Result<Staging> of(Transport& transport, Bytes bytes);
  Staging(Staging&& other) noexcept
      : transport_(other.transport_), memory_(std::exchange(other.memory_, nullptr)) {}
  Staging& operator=(Staging&& other) noexcept {
    std::swap(transport_, other.transport_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Staging() {
    if (memory_ != nullptr) transport_->release(memory_);
  }

  std::byte* data() const { return memory_; }  ///< nullptr if it has no bytes

 private:
  Staging(Transport& transport, std::byte* memory) : transport_(&transport), memory_(memory) {}

  Transport* transport_;
  std::byte* memory_;
};

}  // namespace weft::reshard::execute
