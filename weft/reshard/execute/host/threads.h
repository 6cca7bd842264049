// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are threads of one process. The receiver copies directly from the
// sender's buffers into its own buffers. Nothing is packed.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// Returns one transport per device. Each device runs on its own thread. Threads may reach a round
/// at different times. All devices get an Error if a device lets others wait longer than `timeout`,
/// or if its transport is destroyed while others wait for it.
std::vector<std::unique_ptr<Transport>> connect_threads(Device devices,
                                                        std::chrono::milliseconds timeout);

}  // namespace weft::reshard::execute
