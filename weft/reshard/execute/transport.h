// SPDX-License-Identifier: Apache-2.0
// How bytes get from device to device: the one interface of all executors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Where a program's buffers lie, by number. Memory is the transport's kind: of the host, or of the
/// GPU for NCCL.
using Buffers = std::vector<std::byte*>;

/// One device's end of the links to all others. Not for several threads at once.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Carries out one turn: returns when what the device receives is in place and what it sends may
  /// be overwritten. A peer that does not take part within the timeout, or takes part in another
  /// program, ends in an Error (kPeerFailed) here and on every other device; after that the
  /// transport answers every call with the same Error.
  virtual Status round(const Program& program, const Turn& turn, const Buffers& buffers) = 0;

  /// Before the first round: the neutral element in all regions of program.neutral. An Error
  /// (kUsage) where the transport cannot add up an array that may have to be.
  virtual Status fill_neutral(const Program& program, const Buffers& buffers);
  /// After each round of a program in place: what overlaps is put in order.
  virtual Status shuffle(const Turn& turn, const Buffers& buffers);
  /// After the last: averages are divided.
  virtual Status finish(const Program& program, const Buffers& buffers);

  /// Whether buffers are memory of the host.
  virtual bool memory_of_host() const { return true; }

  /// Memory of the transport's kind for staging, counted. Aligned for all types of elements.
  Result<std::byte*> allocate(Bytes bytes);
  void release(std::byte* memory);
  /// Most that was allocated at once since the last call.
  Bytes take_peak();

 protected:
  /// So many bytes are held beside what was allocated: they count for the peak.
  void note_peak(Bytes held) { peak_ = std::max(peak_, live_ + held); }

  /// The memory itself, of the host unless overridden; nullptr: there is none left.
  virtual std::byte* take_memory(Bytes bytes);
  virtual void return_memory(std::byte* memory);

 private:
  std::map<std::byte*, Bytes> allocated_;
  Bytes live_ = 0, peak_ = 0;
};

/// Memory from a transport, returned at the end of its life.
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

  std::byte* data() const { return memory_; }  ///< nullptr where it has no bytes

 private:
  Staging(Transport& transport, std::byte* memory) : transport_(&transport), memory_(memory) {}

  Transport* transport_;
  std::byte* memory_;
};

}  // namespace weft::reshard::execute
