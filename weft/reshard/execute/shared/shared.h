// SPDX-License-Identifier: Apache-2.0
// Devices that are processes of one host. What is sent is packed into memory that both share, in
// chunks that stay in the cache, and unpacked or added up from there: two copies, without a kernel
// in between. What several devices get is packed once.
#pragma once

#include <functional>
#include <memory>

#include "weft/reshard/execute/shared/neighbours.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

struct SharedOptions {
  /// Longest chunk; the same on all devices.
  Bytes chunk = 128 << 10;
  /// How long nothing may come or go.
  std::chrono::milliseconds timeout{30'000};
};

/// Neighbours with areas of a good size, or of the least that is of use where the host has little
/// memory to share. Areas are part of the connection and not of a run's staging; of its own, a run
/// holds as much at a time as the budget of its program allows. The longer devices have to wait for
/// each other's turn on a core, the more they have to have ready.
Result<Neighbours> make_neighbours(Device devices);
constexpr Bytes kSharedArea = 4 << 20, kLeastSharedArea = 1 << 20;

class SharedTransport : public Transport {
 public:
  /// `cancelled`: asked a few times a second while others are waited for; true: given up, with an
  /// Error (kCancelled).
  virtual void set_patience(std::chrono::milliseconds timeout, std::function<bool()> cancelled) = 0;
};

/// Device `self` of those that share `neighbours`. What it has packed may still be read by others
/// when a run returns; so a device that is lost then is an Error in the next run.
std::unique_ptr<SharedTransport> connect_shared(Neighbours neighbours, Device self,
                                                const SharedOptions& options);

}  // namespace weft::reshard::execute
