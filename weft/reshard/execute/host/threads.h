// SPDX-License-Identifier: Apache-2.0
// Devices that are threads of one process. A receiver copies from the sender's buffers into its
// own, once, without packing.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// One transport a device, each for a thread of its own, which may come to any round at any time. A
/// device that lets others wait longer than `timeout`, or whose transport is gone when others wait
/// for it, ends in an Error on all.
std::vector<std::unique_ptr<Transport>> connect_threads(Device devices,
                                                        std::chrono::milliseconds timeout);

}  // namespace weft::reshard::execute
