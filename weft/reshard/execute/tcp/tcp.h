// SPDX-License-Identifier: Apache-2.0
// A transport over TCP, between processes that have no other: JAX's, which can only run collectives
// together. One endpoint a process; where processes have several devices, see merge.h.
//
// Everything between two processes is one stream each way: who runs what, then the messages of all
// rounds in order, then that all is done. All streams go on side by side, in one thread, so no
// process waits for another that waits for it, and a small block of staging each is enough.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "weft/reshard/execute/tcp/tcp_connections.h"
#include "weft/reshard/execute/tcp/tcp_lane.h"

namespace weft::reshard::execute {

class TcpTransport final : public Transport {
 public:
  /// From connect_all(). Devices of programs are processes.
  explicit TcpTransport(std::vector<Descriptor> sockets);

  struct Patience {
    /// How long a process may say nothing that is waited for.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
    /// Asked a few times a second; true: given up, with an Error (kCancelled).
    std::function<bool()> cancelled;
  };
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  /// All processes tell each other which program they run.
  Status fill_neutral(const Program& program, const Buffers& buffers) override;
  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override;
  /// All processes tell each other that they have what they need: so a process that is lost before
  /// is an Error everywhere.
  Status finish(const Program& program, const Buffers& buffers) override;

 private:
  struct Peer {
    Descriptor socket;
    Lane out, in;
    Deadline deadline;  ///< until it must have been heard of
  };

  Status exchange_words(std::uint64_t word, const char* otherwise);
  Status fill_lanes(const Program& program, const Turn& turn, const Buffers& buffers,
                    std::vector<Staging>& blocks);
  Status run_lanes();
  /// `order`: what may be put in place now.
  Status go_on(std::size_t peer, short events, std::int64_t order);
  Status give_up(Error error);

  std::vector<Peer> peers_;
  Patience patience_;
  std::optional<Error> broken_;
};

}  // namespace weft::reshard::execute
