// SPDX-License-Identifier: Apache-2.0
// Connects processes. Each process connects to the processes with lower numbers, and accepts
// connections from the processes with higher numbers. The connecting process first sends a
// handshake with the secret and its number.
#include "weft/reshard/execute/tcp/tcp_connections.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

namespace weft::reshard::execute {
namespace {

constexpr std::size_t kSecretCharacters = 32;

/// The first message on a connection.
struct Handshake {
  std::array<char, 8> magic = {'w', 'e', 'f', 't', 't', 'c', 'p', '1'};
  std::array<char, kSecretCharacters> secret = {};
  std::int32_t process = 0;
};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> look_up(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return fail(ErrorCode::kUsage,
                "'" + host + "' port '" + port + "' is not a numeric address such as 127.0.0.1");
  }
  return Addresses(found, &freeaddrinfo);
}

std::string system_error(int number) { return std::strerror(number); }

Status set_up(int socket) {
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0) {
    return fail(ErrorCode::kIo, "cannot set up a socket: " + system_error(errno));
  }
  const int on = 1;
  // Without this option, small messages wait for acknowledgements. If the call fails, the socket is
  // only slower.
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return {};
}

std::string new_secret() {
  static constexpr char kCharacters[] = "0123456789abcdef";
  std::random_device random;
  std::string secret(kSecretCharacters, '0');
  for (char& character : secret) character = kCharacters[random() % 16];
  return secret;
}

/// How long to wait before checking again whether to give up.
constexpr int kPollTimeoutMs = 100;

/// Waits until one of the sockets is ready. Returns false if the deadline has passed.
Result<bool> ready(std::vector<pollfd>& entries, const Waiting& waiting) {
  for (;;) {
    const int count = poll(entries.data(), entries.size(), kPollTimeoutMs);
    if (count < 0 && errno != EINTR) {
      return fail(ErrorCode::kIo, "cannot wait for other processes: " + system_error(errno));
    }
    if (count > 0) return true;
    if (waiting.given_up()) {
      return fail(ErrorCode::kCancelled, "interrupted while waiting for other processes");
    }
    if (waiting.over()) return false;
  }
}

tl::unexpected<Error> lost(std::int32_t process, const std::string& why) {
  return fail(ErrorCode::kPeerFailed, "process " + std::to_string(process) + " " + why);
}

Result<Descriptor> connect_to(std::int32_t self, std::int32_t peer, const std::string& address,
                              const Waiting& waiting) {
  std::istringstream words(address);
  std::string host, port, secret;
  if (!(words >> host >> port >> secret) || secret.size() != kSecretCharacters) {
    return fail(ErrorCode::kUsage, "'" + address + "' is not an address of a listening process");
  }
  WEFT_ASSIGN(const Addresses found, look_up(host, port));
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return fail(ErrorCode::kIo, "cannot make a socket: " + system_error(errno));
  WEFT_TRY(set_up(socket.number()));
  if (connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return lost(peer, "cannot be reached: " + system_error(errno));
    std::vector<pollfd> entries = {{socket.number(), POLLOUT, 0}};
    WEFT_ASSIGN(const bool answered, ready(entries, waiting));
    if (!answered) return lost(peer, "does not answer");
    int status = 0;
    socklen_t length = sizeof(status);
    getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &status, &length);
    if (status != 0) return lost(peer, "cannot be reached: " + system_error(status));
  }
  Handshake handshake;
  std::copy(secret.begin(), secret.end(), handshake.secret.begin());
  handshake.process = self;
  // The first bytes of a connection always fit into its send buffer, so one call sends them all.
  if (send(socket.number(), &handshake, sizeof(handshake), MSG_NOSIGNAL) != sizeof(handshake)) {
    return lost(peer, "hung up: " + system_error(errno));
  }
  return socket;
}

/// A connection that was accepted, and the part of its handshake that has arrived.
struct PendingPeer {
  Descriptor socket;
  Handshake handshake;
  std::size_t received = 0;
};

/// Reads the bytes that have arrived. Returns false if the connection was closed.
bool read_handshake(PendingPeer& peer) {
  while (peer.received < sizeof(Handshake)) {
    char* place = reinterpret_cast<char*>(&peer.handshake) + peer.received;
    const ssize_t count = recv(peer.socket.number(), place, sizeof(Handshake) - peer.received, 0);
    if (count < 0 && errno == EINTR) continue;
    // Nothing more has arrived: keep the connection and read again later.
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    peer.received += static_cast<std::size_t>(count);
  }
  return true;
}

/// Accepts the processes with higher numbers. All handshakes are read at the same time, because a
/// connection that sends nothing must not delay other connections.
class Acceptor {
 public:
  Acceptor(const Listener& listener, std::int32_t self, std::vector<Descriptor>& sockets)
      : listener_(listener), self_(self), sockets_(sockets) {}

  Status wait_for_all(const Waiting& waiting) {
    while (const std::int32_t missing = first_missing()) {
      std::vector<pollfd> entries = {{listener_.number(), POLLIN, 0}};
      for (const PendingPeer& peer : pending_) entries.push_back({peer.socket.number(), POLLIN, 0});
      WEFT_ASSIGN(const bool received, ready(entries, waiting));
      if (!received) return lost(missing, "did not connect in time");
      read_handshakes();
      if (entries[0].revents != 0) WEFT_TRY(accept_one());
    }
    return {};
  }

 private:
  /// The lowest number of a missing process. 0 if none is missing, because process 0 connects to no
  /// other process and is never accepted.
  std::int32_t first_missing() const {
    for (auto i = static_cast<std::size_t>(self_) + 1; i < sockets_.size(); ++i) {
      if (!sockets_[i].open()) return static_cast<std::int32_t>(i);
    }
    return 0;
  }

  Status accept_one() {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.open()) return {};  // the other side has hung up already
    WEFT_TRY(set_up(socket.number()));
    pending_.push_back({std::move(socket), {}, 0});
    return {};
  }

  void read_handshakes() {
    std::vector<PendingPeer> waiting;
    for (PendingPeer& peer : pending_) {
      if (!read_handshake(peer)) continue;
      if (peer.received < sizeof(Handshake)) {
        waiting.push_back(std::move(peer));
      } else if (expected(peer.handshake)) {
        sockets_[static_cast<std::size_t>(peer.handshake.process)] = std::move(peer.socket);
      }
    }
    pending_ = std::move(waiting);
  }

  /// Whether the handshake comes from an awaited process that knows the secret. A second connection
  /// from the same process is refused, so that nobody can replace an established connection.
  bool expected(const Handshake& handshake) const {
    const std::string& secret = listener_.secret();
    return handshake.magic == Handshake{}.magic && handshake.process > self_ &&
           static_cast<std::size_t>(handshake.process) < sockets_.size() &&
           !sockets_[static_cast<std::size_t>(handshake.process)].open() &&
           std::equal(handshake.secret.begin(), handshake.secret.end(), secret.begin(),
                      secret.end());
  }

  const Listener& listener_;
  std::int32_t self_;
  std::vector<Descriptor>& sockets_;
  std::vector<PendingPeer> pending_;
};

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (open()) close(number_);
}

int Descriptor::release() { return std::exchange(number_, -1); }

Result<Listener> Listener::open(const std::string& host) {
  WEFT_ASSIGN(const Addresses found, look_up(host, "0"));
  Listener listener;
  listener.descriptor_ =
      Descriptor(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int number = listener.number();
  sockaddr_storage place = {};
  socklen_t length = sizeof(place);
  std::array<char, NI_MAXSERV> port = {};
  if (number < 0 || bind(number, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(number, SOMAXCONN) != 0 ||
      getsockname(number, reinterpret_cast<sockaddr*>(&place), &length) != 0) {
    return fail(ErrorCode::kIo, "cannot listen at " + host + ": " + system_error(errno));
  }
  getnameinfo(reinterpret_cast<sockaddr*>(&place), length, nullptr, 0, port.data(), port.size(),
              NI_NUMERICSERV);
  listener.secret_ = new_secret();
  listener.address_ = host + " " + port.data() + " " + listener.secret_;
  return listener;
}

Result<std::vector<Descriptor>> connect_all(const Listener& listener, std::int32_t self,
                                            const std::vector<std::string>& addresses,
                                            const Waiting& waiting) {
  std::vector<Descriptor> sockets(addresses.size());
  // Connect to lower numbers first. This does not wait for other processes, because a listening
  // socket queues connections until they are accepted.
  for (std::int32_t peer = 0; peer < self; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    WEFT_ASSIGN(sockets[i], connect_to(self, peer, addresses[i], waiting));
  }
  WEFT_TRY(Acceptor(listener, self, sockets).wait_for_all(waiting));
  return sockets;
}

}  // namespace weft::reshard::execute
