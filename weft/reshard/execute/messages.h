// SPDX-License-Identifier: Apache-2.0
// A transport for wires that carry contiguous bytes. Regions are packed into chunks that stay in
// the cache, and unpacked as they arrive, while others are under way; what lies side by side goes
// without either.
#pragma once

#include <chrono>
#include <memory>

#include "weft/reshard/execute/transport.h"
#include "weft/reshard/execute/wire.h"

namespace weft::reshard::execute {

struct MessageOptions {
  /// Ends in an Error when nothing has come or gone for so long.
  std::chrono::milliseconds timeout{30'000};
  /// Longest piece that a message is sent in, at least an element; the same on all devices.
  Bytes chunk = 256 << 10;
  /// Chunks a direction that staging is taken for, where the program's budget allows it.
  std::size_t window = 8;
};

std::unique_ptr<Transport> make_message_transport(std::unique_ptr<Wire> wire,
                                                  const MessageOptions& options);

}  // namespace weft::reshard::execute
