// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are threads of one process. The receiver copies straight from the
// sender's buffers into its own, without packing.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// One transport per device, each for a thread of its own. Threads may reach a round at different
/// times. If a device lets others wait longer than `timeout`, or its transport is destroyed while
/// others wait for it, all devices get an Error.
std::vector<std::unique_ptr<Transport>> connect_threads(Device devices,
                                                        std::chrono::milliseconds timeout);

}  // namespace weft::reshard::execute
