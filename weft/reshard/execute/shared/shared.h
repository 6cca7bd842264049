// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are processes of one host. The sender packs chunks that stay in the
// cache into memory that both processes share, and the receiver unpacks or adds them from there:
// two copies, without a system call in between. What several devices receive is packed only once.
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
/// too little memory to share. Areas belong to the connection and not to the staging of a run: with
/// a budget, a run uses only as much of its area at a time as the budget allows. The longer devices
/// have to wait for a core, the more they should be able to pack ahead.
Result<SharedSegment> make_shared_segment(Device devices);
constexpr Bytes kSharedArea = 4 << 20, kLeastSharedArea = 1 << 20;

class SharedTransport : public Transport {
 public:
  /// `cancelled`: called a few times per second while the device waits for others. If it returns
  /// true, the run ends in an Error (kCancelled).
  virtual void set_patience(std::chrono::milliseconds timeout, std::function<bool()> cancelled) = 0;
};

/// Connects as device `self`. When a run returns, others may still read what this device has
/// packed; if one of them is lost then, the next run ends in an Error.
std::unique_ptr<SharedTransport> connect_shared(SharedSegment segment, Device self,
                                                const SharedOptions& options);

}  // namespace weft::reshard::execute
