// SPDX-License-Identifier: Apache-2.0
// A transport on top of a wire, which carries contiguous bytes (wire.h). Regions are packed into
// chunks that stay in the cache. Chunks are unpacked as they arrive, while other chunks are in
// flight. Contiguous regions are sent and received without packing.
#pragma once

#include <chrono>
#include <memory>

#include "weft/reshard/execute/transport.h"
#include "weft/reshard/execute/wire.h"

namespace weft::reshard::execute {

struct MessageOptions {
  /// The run ends in an Error if nothing was sent or received for this long.
  std::chrono::milliseconds timeout{30'000};
  /// Longest packed piece of a message, at least one element; the same on all devices.
  Bytes chunk = 256 << 10;
  /// Chunks per direction for which staging is allocated, if the program's budget allows it.
  std::size_t window = 8;
};

std::unique_ptr<Transport> make_message_transport(std::unique_ptr<Wire> wire,
                                                  const MessageOptions& options);

}  // namespace weft::reshard::execute
