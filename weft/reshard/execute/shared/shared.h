// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are processes of one host. The sender packs chunks into memory that
// both processes share. The receiver unpacks or adds them from there. Chunks are so short that they
// stay in the cache in between. There are two copies and no system call. Data for several receivers
// is packed only once.
#pragma once

#include <functional>
#include <memory>

#include "weft/reshard/execute/shared/shared_segment.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

struct SharedOptions {
  /// Longest chunk, in bytes; the same on all devices.
  Bytes chunk = 128 << 10;
  /// The run ends in an Error if nothing was sent or received for this long.
  std::chrono::milliseconds timeout{30'000};
};

/// Creates a segment with areas of kSharedArea bytes, or of kLeastSharedArea bytes if the host has
/// too little memory to share. The areas belong to the connection. They do not count as staging of
/// a run. If a run has a budget, it never uses more of its area at a time than the budget allows.
/// Large areas help if devices wait long for a processor core, because other devices can pack ahead
/// meanwhile.
Result<SharedSegment> make_shared_segment(Device devices);
constexpr Bytes kSharedArea = 4 << 20, kLeastSharedArea = 1 << 20;

class SharedTransport : public Transport {
 public:
  /// Sets how long the device waits for others. `cancelled` is called a few times per second while
  /// it waits. If `cancelled` returns true, the run ends in an Error (kCancelled).
  virtual void set_patience(std::chrono::milliseconds timeout, std::function<bool()> cancelled) = 0;
};

/// Connects as device `self`. When a run of this device returns, other devices may still read
/// chunks that it has packed. If one of those devices is lost then, the next run ends in an Error.
std::unique_ptr<SharedTransport> connect_shared(SharedSegment segment, Device self,
                                                const SharedOptions& options);

}  // namespace weft::reshard::execute
