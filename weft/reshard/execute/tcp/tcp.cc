// SPDX-License-Identifier: Apache-2.0
// Runs turns over TCP. Sums must not depend on which process is faster. So each piece of incoming
// data has an order (TcpStream::order()). Only streams whose next piece has the lowest order are
// read. The data of the other streams waits in the buffers of their sockets.
#include "weft/reshard/execute/tcp/tcp.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "weft/base/parallel.h"

namespace weft::reshard::execute {
namespace {

constexpr Bytes kBlock = 256 << 10;
/// The most bytes that one stream transfers before the next stream is served.
constexpr std::size_t kMostPerVisit = 1 << 20;
constexpr std::chrono::milliseconds kPollTimeout{100};  ///< how often to ask `cancelled`
constexpr Bytes kGrain = 1 << 20;
constexpr std::uint64_t kAllDone = 0x5765667420646F6Eu;

Error lost(std::size_t peer, const std::string& why) {
  return {ErrorCode::kPeerFailed, "process " + std::to_string(peer) + " " + why, {}, -1};
}

/// The Error for a closed connection. It does not show whether the peer has ended or has given up.
Error hung_up(std::size_t peer) {
  return lost(peer, "has ended, or has given up because of another process");
}

void run_moves(const Program& program, const Turn& turn, const Buffers& buffers) {
  std::vector<Task> tasks;
  for (const Move& move : turn.moves) {
    const Task task = make_task(program, move.from, buffers, move.to, buffers, false);
    for (Task& part : split(task, kGrain)) tasks.push_back(std::move(part));
  }
  parallel_for(tasks.size(), [&](std::size_t i) { tasks[i].run(); });
}

}  // namespace

TcpTransport::TcpTransport(std::vector<Descriptor> sockets) {
  for (Descriptor& socket : sockets) peers_.push_back({std::move(socket), {}, {}, {}});
}

Status TcpTransport::fill_neutral(const Program& program, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  // Compare programs before any data is sent, because streams have no headers that would reveal a
  // mismatch later.
  WEFT_TRY(exchange_words(program.fingerprint,
                          "runs another program: all processes must start the same "
                          "redistributions in the same order"));
  return Transport::fill_neutral(program, buffers);
}

Status TcpTransport::finish(const Program& program, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  // No process returns before all processes have received their data. So if a process is lost, all
  // others get an Error.
  WEFT_TRY(exchange_words(kAllDone, "is not at the end of this run"));
  return Transport::finish(program, buffers);
}

Status TcpTransport::round(const Program& program, const Turn& turn, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  if (!program.in_place.empty()) {
    return fail(ErrorCode::kUsage, "programs in place do not run over TCP");
  }
  std::vector<Staging> blocks;
  if (auto filled = fill_streams(program, turn, buffers, blocks); !filled) {
    return give_up(filled.error());
  }
  // Moves come first, because messages are added to data that stays on the device.
  run_moves(program, turn, buffers);
  return run_streams();
}

Status TcpTransport::exchange_words(std::uint64_t word, const char* otherwise) {
  std::vector<std::uint64_t> mine(peers_.size(), word), theirs(peers_.size(), word);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].socket.open()) continue;
    peers_[i].out = TcpStream(reinterpret_cast<std::byte*>(&mine[i]), sizeof(word));
    peers_[i].in = TcpStream(reinterpret_cast<std::byte*>(&theirs[i]), sizeof(word));
  }
  WEFT_TRY(run_streams());
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (theirs[i] != word) return give_up(lost(i, otherwise));
  }
  return {};
}

Status TcpTransport::fill_streams(const Program& program, const Turn& turn, const Buffers& buffers,
                                  std::vector<Staging>& blocks) {
  // Indexed by direction and peer: whether any message has to be packed.
  std::array<std::vector<char>, 2> packs;
  std::int64_t streams = 0;
  Bytes longest = 0, element = 1;
  const std::array lists = {&turn.sends, &turn.receives};
  for (std::size_t direction = 0; direction < 2; ++direction) {
    packs[direction].resize(peers_.size());
    for (const Message& message : *lists[direction]) {
      if (!needs_block(message)) continue;
      streams += packs[direction][message.peer] == 0;
      packs[direction][message.peer] = 1;
      longest = std::max(longest, message.bytes);
      for (const Region& region : message.regions) element = std::max(element, region.element);
    }
  }
  // Messages are cut so that four of them fit into the budget. All blocks together take at most as
  // much memory as four messages.
  const Bytes share = streams > 0 ? 4 * longest / streams : 0;
  const Bytes block = std::max(std::min(kBlock, share), element);
  for (std::size_t direction = 0; direction < 2; ++direction) {
    std::vector<std::byte*> memory(peers_.size(), nullptr);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      (direction == 0 ? peers_[i].out : peers_[i].in) = TcpStream();
      if (packs[direction][i] == 0) continue;
      WEFT_ASSIGN(Staging staging, Staging::of(*this, block));
      memory[i] = staging.data();
      blocks.push_back(std::move(staging));
    }
    std::int64_t number = 0;
    for (const Message& message : *lists[direction]) {
      Peer& peer = peers_[message.peer];
      if (direction == 0) {
        peer.out.send(program, message, buffers, memory[message.peer], block);
      } else {
        peer.in.receive(program, message, number++, buffers, memory[message.peer], block);
      }
    }
  }
  return {};
}

Status TcpTransport::run_streams() {
  const auto until = [&] { return std::chrono::steady_clock::now() + patience_.timeout; };
  for (Peer& peer : peers_) peer.deadline = until();
  for (;;) {
    std::int64_t order = TcpStream::kNever;
    for (const Peer& peer : peers_) order = std::min(order, peer.in.order());
    std::vector<pollfd> entries;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = peers_[i];
      const bool hears = !peer.in.done() && peer.in.order() == order;
      const int events = (peer.out.done() ? 0 : POLLOUT) | (hears ? POLLIN : 0);
      if (events == 0) {
        peer.deadline = until();  // nothing is expected from this peer
        continue;
      }
      entries.push_back({peer.socket.number(), static_cast<short>(events), 0});
      who.push_back(i);
    }
    if (entries.empty()) return {};
    const int count = poll(entries.data(), entries.size(), static_cast<int>(kPollTimeout.count()));
    if (count < 0 && errno != EINTR) {
      return give_up({ErrorCode::kIo, std::string("poll: ") + std::strerror(errno), {}, -1});
    }
    if (patience_.cancelled && patience_.cancelled()) {
      return give_up(
          {ErrorCode::kCancelled, "interrupted while waiting for other processes", {}, -1});
    }
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Peer& peer = peers_[who[i]];
      if (count > 0 && entries[i].revents != 0) {
        WEFT_TRY(advance_peer(who[i], entries[i].revents, order));
        peer.deadline = until();
      } else if (now > peer.deadline) {
        return give_up(
            lost(who[i], "sent nothing for " + std::to_string(patience_.timeout.count()) + " ms"));
      }
    }
  }
}

Status TcpTransport::advance_peer(std::size_t number, short events, std::int64_t order) {
  Peer& peer = peers_[number];
  const int socket = peer.socket.number();
  // After a hang-up or an error, try to send and receive nevertheless. The calls tell the reason,
  // and they still read data that arrived before.
  const bool ends = (events & (POLLHUP | POLLERR)) != 0;
  std::size_t budget = kMostPerVisit;
  while (!peer.out.done() && (ends || (events & POLLOUT) != 0) && budget > 0) {
    const TcpStream::Extent extent = peer.out.to_send();
    const ssize_t count = send(socket, extent.memory, std::min(extent.bytes, budget), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return give_up(hung_up(number));
    peer.out.sent(static_cast<std::size_t>(count));
    budget -= static_cast<std::size_t>(count);
  }
  budget = kMostPerVisit;
  while (!peer.in.done() && peer.in.order() == order && (ends || (events & POLLIN) != 0) &&
         budget > 0) {
    const TcpStream::Extent extent = peer.in.to_receive();
    const ssize_t count = recv(socket, extent.memory, std::min(extent.bytes, budget), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) return give_up(hung_up(number));
    peer.in.received(static_cast<std::size_t>(count));
    budget -= static_cast<std::size_t>(count);
  }
  return {};
}

Status TcpTransport::give_up(Error error) {
  broken_ = std::move(error);
  // Close the sockets, so that other processes notice at once instead of after their timeout.
  for (Peer& peer : peers_) peer.socket = Descriptor();
  return tl::unexpected(*broken_);
}

}  // namespace weft::reshard::execute
