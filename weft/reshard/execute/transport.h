// SPDX-License-Identifier: Apache-2.0
// How bytes get from device to device: the one interface of all executors.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program.h"

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

  /// Memory of the transport's kind for staging; counted, see execute.h.
  virtual Result<std::byte*> allocate(Bytes bytes) = 0;
  virtual void release(std::byte* memory) = 0;
};

}  // namespace weft::reshard::execute
