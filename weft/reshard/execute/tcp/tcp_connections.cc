// SPDX-License-Identifier: Apache-2.0
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

constexpr std::size_t kSecretLetters = 32;

/// What who connects says first.
struct Hello {
  std::array<char, 8> magic = {'w', 'e', 'f', 't', 't', 'c', 'p', '1'};
  std::array<char, kSecretLetters> secret = {};
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
                "'" + host + "' port '" + port + "' is no address in numbers, like 127.0.0.1");
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
  // Without it small messages wait for acknowledgements; a socket that refuses is only slower.
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return {};
}

std::string new_secret() {
  static constexpr char kLetters[] = "0123456789abcdef";
  std::random_device random;
  std::string secret(kSecretLetters, '0');
  for (char& letter : secret) letter = kLetters[random() % 16];
  return secret;
}

/// How long to wait before looking whether somebody has given up.
constexpr int kLookMs = 100;

/// Waits until one of the sockets is ready. False: the time is over.
Result<bool> ready(std::vector<pollfd>& entries, const Waiting& waiting) {
  for (;;) {
    const int count = poll(entries.data(), entries.size(), kLookMs);
    if (count < 0 && errno != EINTR) {
      return fail(ErrorCode::kIo, "cannot wait for others: " + system_error(errno));
    }
    if (count > 0) return true;
    if (waiting.given_up()) {
      return fail(ErrorCode::kCancelled, "given up while others were waited for");
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
  if (!(words >> host >> port >> secret) || secret.size() != kSecretLetters) {
    return fail(ErrorCode::kUsage, "'" + address + "' is not what a process listens at");
  }
  WEFT_ASSIGN(const Addresses found, look_up(host, port));
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return fail(ErrorCode::kIo, "no socket: " + system_error(errno));
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
  Hello hello;
  std::copy(secret.begin(), secret.end(), hello.secret.begin());
  hello.process = self;
  // The first bytes of a connection always fit into its buffer.
  if (send(socket.number(), &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
    return lost(peer, "hung up: " + system_error(errno));
  }
  return socket;
}

/// Somebody who has connected, and what was heard so far.
struct Guest {
  Descriptor socket;
  Hello hello;
  std::size_t heard = 0;
};

/// False: hung up.
bool listen_to(Guest& guest) {
  while (guest.heard < sizeof(Hello)) {
    char* place = reinterpret_cast<char*>(&guest.hello) + guest.heard;
    const ssize_t count = recv(guest.socket.number(), place, sizeof(Hello) - guest.heard, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    guest.heard += static_cast<std::size_t>(count);
  }
  return true;
}

/// Takes in those of higher number. Guests are heard side by side, since one that says nothing
/// must not keep the others out.
class Door {
 public:
  Door(const Listener& listener, std::int32_t self, std::vector<Descriptor>& sockets)
      : listener_(listener), self_(self), sockets_(sockets) {}

  Status wait_for_all(const Waiting& waiting) {
    while (const std::int32_t missing = first_missing()) {
      std::vector<pollfd> entries = {{listener_.number(), POLLIN, 0}};
      for (const Guest& guest : guests_) entries.push_back({guest.socket.number(), POLLIN, 0});
      WEFT_ASSIGN(const bool heard, ready(entries, waiting));
      if (!heard) return lost(missing, "did not connect in time");
      hear_guests();
      if (entries[0].revents != 0) WEFT_TRY(let_in());
    }
    return {};
  }

 private:
  /// 0: nobody, since it has the lowest number.
  std::int32_t first_missing() const {
    for (auto i = static_cast<std::size_t>(self_) + 1; i < sockets_.size(); ++i) {
      if (!sockets_[i].open()) return static_cast<std::int32_t>(i);
    }
    return 0;
  }

  Status let_in() {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.open()) return {};  // gone again
    WEFT_TRY(set_up(socket.number()));
    guests_.push_back({std::move(socket), {}, 0});
    return {};
  }

  void hear_guests() {
    std::vector<Guest> waiting;
    for (Guest& guest : guests_) {
      if (!listen_to(guest)) continue;
      if (guest.heard < sizeof(Hello)) {
        waiting.push_back(std::move(guest));
      } else if (expected(guest.hello)) {
        sockets_[static_cast<std::size_t>(guest.hello.process)] = std::move(guest.socket);
      }
    }
    guests_ = std::move(waiting);
  }

  bool expected(const Hello& hello) const {
    const std::string& secret = listener_.secret();
    return hello.magic == Hello{}.magic && hello.process > self_ &&
           static_cast<std::size_t>(hello.process) < sockets_.size() &&
           !sockets_[static_cast<std::size_t>(hello.process)].open() &&
           std::equal(hello.secret.begin(), hello.secret.end(), secret.begin(), secret.end());
  }

  const Listener& listener_;
  std::int32_t self_;
  std::vector<Descriptor>& sockets_;
  std::vector<Guest> guests_;
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
  // Those below are connected to: a listener holds who comes until it is asked, so nobody waits
  // for anybody.
  for (std::int32_t peer = 0; peer < self; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    WEFT_ASSIGN(sockets[i], connect_to(self, peer, addresses[i], waiting));
  }
  WEFT_TRY(Door(listener, self, sockets).wait_for_all(waiting));
  return sockets;
}

}  // namespace weft::reshard::execute
