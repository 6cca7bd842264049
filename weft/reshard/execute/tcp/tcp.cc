// SPDX-License-Identifier: Apache-2.0
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
/// Of one stream, before others have their turn.
constexpr std::size_t kAtOnce = 1 << 20;
constexpr std::chrono::milliseconds kLook{100};  ///< how often somebody may give up
constexpr Bytes kGrain = 1 << 20;
constexpr std::uint64_t kAllDone = 0x5765667420646F6Eu;

Error lost(std::size_t peer, const std::string& why) {
  return {ErrorCode::kPeerFailed, "process " + std::to_string(peer) + " " + why, {}, -1};
}

Error hung_up(std::size_t peer) {
  return lost(peer, "has ended, or has given up because of another one");
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
  WEFT_TRY(exchange_words(program.fingerprint,
                          "is about to do something else: all processes must ask for the same, in "
                          "the same order"));
  return Transport::fill_neutral(program, buffers);
}

Status TcpTransport::finish(const Program& program, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  WEFT_TRY(exchange_words(kAllDone, "ended otherwise"));
  return Transport::finish(program, buffers);
}

Status TcpTransport::round(const Program& program, const Turn& turn, const Buffers& buffers) {
  if (broken_) return tl::unexpected(*broken_);
  if (!program.in_place.empty()) {
    return fail(ErrorCode::kUsage, "programs in place do not run over TCP");
  }
  std::vector<Staging> blocks;
  if (auto filled = fill_lanes(program, turn, buffers, blocks); !filled) {
    return give_up(filled.error());
  }
  // What is added comes on top of what stays.
  run_moves(program, turn, buffers);
  return run_lanes();
}

Status TcpTransport::exchange_words(std::uint64_t word, const char* otherwise) {
  std::vector<std::uint64_t> mine(peers_.size(), word), theirs(peers_.size(), word);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].socket.open()) continue;
    peers_[i].out = Lane(reinterpret_cast<std::byte*>(&mine[i]), sizeof(word));
    peers_[i].in = Lane(reinterpret_cast<std::byte*>(&theirs[i]), sizeof(word));
  }
  WEFT_TRY(run_lanes());
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (theirs[i] != word) return give_up(lost(i, otherwise));
  }
  return {};
}

Status TcpTransport::fill_lanes(const Program& program, const Turn& turn, const Buffers& buffers,
                                std::vector<Staging>& blocks) {
  // By direction and peer: whether there is something to pack.
  std::array<std::vector<char>, 2> packs;
  std::int64_t lanes = 0;
  Bytes longest = 0, element = 1;
  const std::array lists = {&turn.sends, &turn.receives};
  for (std::size_t way = 0; way < 2; ++way) {
    packs[way].resize(peers_.size());
    for (const Message& message : *lists[way]) {
      if (!needs_block(message)) continue;
      lanes += packs[way][message.peer] == 0;
      packs[way][message.peer] = 1;
      longest = std::max(longest, message.bytes);
      for (const Region& region : message.regions) element = std::max(element, region.element);
    }
  }
  // A budget has cut messages so that four of them fit in; all blocks together take no more.
  const Bytes share = lanes > 0 ? 4 * longest / lanes : 0;
  const Bytes block = std::max(std::min(kBlock, share), element);
  for (std::size_t way = 0; way < 2; ++way) {
    std::vector<std::byte*> memory(peers_.size(), nullptr);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      (way == 0 ? peers_[i].out : peers_[i].in) = Lane();
      if (packs[way][i] == 0) continue;
      WEFT_ASSIGN(Staging staging, Staging::of(*this, block));
      memory[i] = staging.data();
      blocks.push_back(std::move(staging));
    }
    std::int64_t number = 0;
    for (const Message& message : *lists[way]) {
      Peer& peer = peers_[message.peer];
      if (way == 0) {
        peer.out.send(program, message, buffers, memory[message.peer], block);
      } else {
        peer.in.receive(program, message, number++, buffers, memory[message.peer], block);
      }
    }
  }
  return {};
}

Status TcpTransport::run_lanes() {
  const auto until = [&] { return std::chrono::steady_clock::now() + patience_.timeout; };
  for (Peer& peer : peers_) peer.deadline = until();
  for (;;) {
    std::int64_t order = Lane::kNever;
    for (const Peer& peer : peers_) order = std::min(order, peer.in.order());
    std::vector<pollfd> entries;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = peers_[i];
      const bool hears = !peer.in.done() && peer.in.order() == order;
      const int events = (peer.out.done() ? 0 : POLLOUT) | (hears ? POLLIN : 0);
      if (events == 0) {
        peer.deadline = until();  // nothing is waited for
        continue;
      }
      entries.push_back({peer.socket.number(), static_cast<short>(events), 0});
      who.push_back(i);
    }
    if (entries.empty()) return {};
    const int count = poll(entries.data(), entries.size(), static_cast<int>(kLook.count()));
    if (count < 0 && errno != EINTR) {
      return give_up({ErrorCode::kIo, std::string("poll: ") + std::strerror(errno), {}, -1});
    }
    if (patience_.cancelled && patience_.cancelled()) {
      return give_up({ErrorCode::kCancelled, "given up while others were waited for", {}, -1});
    }
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Peer& peer = peers_[who[i]];
      if (count > 0 && entries[i].revents != 0) {
        WEFT_TRY(go_on(who[i], entries[i].revents, order));
        peer.deadline = until();
      } else if (now > peer.deadline) {
        return give_up(
            lost(who[i], "said nothing for " + std::to_string(patience_.timeout.count()) + " ms"));
      }
    }
  }
}

Status TcpTransport::go_on(std::size_t number, short events, std::int64_t order) {
  Peer& peer = peers_[number];
  const int socket = peer.socket.number();
  const bool ends = (events & (POLLHUP | POLLERR)) != 0;
  std::size_t budget = kAtOnce;
  while (!peer.out.done() && (ends || (events & POLLOUT) != 0) && budget > 0) {
    const Lane::Bit bit = peer.out.to_send();
    const ssize_t count = send(socket, bit.memory, std::min(bit.bytes, budget), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return give_up(hung_up(number));
    peer.out.sent(static_cast<std::size_t>(count));
    budget -= static_cast<std::size_t>(count);
  }
  budget = kAtOnce;
  while (!peer.in.done() && peer.in.order() == order && (ends || (events & POLLIN) != 0) &&
         budget > 0) {
    const Lane::Bit bit = peer.in.to_receive();
    const ssize_t count = recv(socket, bit.memory, std::min(bit.bytes, budget), 0);
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
  // Others find out at once, instead of waiting in vain.
  for (Peer& peer : peers_) peer.socket = Descriptor();
  return tl::unexpected(*broken_);
}

}  // namespace weft::reshard::execute
