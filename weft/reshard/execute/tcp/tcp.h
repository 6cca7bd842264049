// SPDX-License-Identifier: Apache-2.0
// A transport over TCP, between processes that have no other connection, such as those of JAX,
// which can only run collectives. One endpoint per process; if processes have several devices, see
// merge.h.
//
// Between two processes there is one stream of bytes in each direction: the fingerprint of the
// program, the messages of all rounds in order, then a word that says that all is done. One thread
// serves all streams side by side, so no circle of processes can wait for each other, and a small
// block of staging per stream is enough.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "weft/reshard/execute/tcp/tcp_connections.h"
#include "weft/reshard/execute/tcp/tcp_stream.h"

namespace weft::reshard::execute {

class TcpTransport final : public Transport {
 public:
  /// `sockets`: from connect_all(). The devices of programs are processes.
  explicit TcpTransport(std::vector<Descriptor> sockets);

  struct Patience {
    /// How long an awaited process may be silent.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
    /// Called a few times per second. If it returns true, the run ends in an Error (kCancelled).
    std::function<bool()> cancelled;
  };
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  /// Also compares the programs of all processes.
  Status fill_neutral(const Program& program, const Buffers& buffers) override;
  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override;
  /// Also waits until all processes have all they need: if one is lost before, all get an Error.
  Status finish(const Program& program, const Buffers& buffers) override;

 private:
  struct Peer {
    Descriptor socket;
    TcpStream out, in;
    Deadline deadline;  ///< until it must have been heard from
  };

  /// Sends `word` to all others. An Error with the text `otherwise` if one sends another word.
  Status exchange_words(std::uint64_t word, const char* otherwise);
  Status fill_streams(const Program& program, const Turn& turn, const Buffers& buffers,
                      std::vector<Staging>& blocks);
  Status run_streams();
  /// Serves one socket. `order`: only data of this order may be received now.
  Status advance_peer(std::size_t peer, short events, std::int64_t order);
  Status give_up(Error error);

  std::vector<Peer> peers_;
  Patience patience_;
  std::optional<Error> broken_;
};

}  // namespace weft::reshard::execute
