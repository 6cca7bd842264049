// SPDX-License-Identifier: Apache-2.0
// A transport over TCP. It is for processes that have no other connection, such as processes of
// JAX, which offers only collectives. There is one endpoint per process. If processes have several
// devices, see merge.h.
//
// Between two processes there is one stream of bytes in each direction. The stream contains the
// fingerprint of the program, then the messages of all rounds in order, and then a word that says
// that all is done. One thread serves all streams at the same time, so no circle of processes can
// wait for each other. For each stream a small block of staging is enough.
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
  /// `sockets` is the result of connect_all(). In the programs that run, the devices are processes.
  explicit TcpTransport(std::vector<Descriptor> sockets);

  struct Patience {
    /// How long an awaited process may be silent.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
    /// Called a few times per second. If it returns true, the run ends in an Error (kCancelled).
    std::function<bool()> cancelled;
  };
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  /// In addition to what Transport::fill_neutral() does, compares the programs of all processes.
  Status fill_neutral(const Program& program, const Buffers& buffers) override;
  Status round(const Program& program, const Turn& turn, const Buffers& buffers) override;
  /// In addition to what Transport::finish() does, waits until all processes have received all
  /// their data. If a process is lost before that, all processes get an Error.
  Status finish(const Program& program, const Buffers& buffers) override;

 private:
  struct Peer {
    Descriptor socket;
    TcpStream out, in;
    Deadline deadline;  ///< the time until which something must have arrived from the peer
  };

  /// Sends `word` to all other processes. Returns an Error with the text `otherwise` if another
  /// process sends another word.
  Status exchange_words(std::uint64_t word, const char* otherwise);
  Status fill_streams(const Program& program, const Turn& turn, const Buffers& buffers,
                      std::vector<Staging>& blocks);
  Status run_streams();
  /// Serves one socket. Only data of order `order` may be received now, see TcpStream::order().
  Status advance_peer(std::size_t peer, short events, std::int64_t order);
  Status give_up(Error error);

  std::vector<Peer> peers_;
  Patience patience_;
  std::optional<Error> broken_;
};

}  // namespace weft::reshard::execute
