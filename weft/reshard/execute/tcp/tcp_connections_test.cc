// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/tcp/tcp_connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <sstream>
#include <thread>

namespace weft::reshard::execute {
namespace {

Waiting in(std::chrono::milliseconds time) { return {std::chrono::steady_clock::now() + time, {}}; }
Waiting soon() { return in(std::chrono::seconds(20)); }

/// Connects and sends `words`, without the secret.
Descriptor knock(const Listener& listener, const std::string& words) {
  std::istringstream address(listener.address());
  std::string host;
  std::uint16_t port = 0;
  address >> host >> port;
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &place.sin_addr);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(socket.number(), reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0);
  EXPECT_EQ(send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(words.size()));
  return socket;
}

struct Processes {
  std::vector<Listener> listeners;
  std::vector<std::string> addresses;

  explicit Processes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto listener = Listener::open("127.0.0.1");
      EXPECT_TRUE(listener) << listener.error().message;
      addresses.push_back(listener->address());
      listeners.push_back(std::move(*listener));
    }
  }

  auto connect(std::size_t self, const Waiting& waiting) const {
    return connect_all(listeners[self], static_cast<std::int32_t>(self), addresses, waiting);
  }
};

TEST(TcpConnections, EveryProcessReachesEveryOther) {
  const Processes all(5);
  std::vector<Result<std::vector<Descriptor>>> sockets(5);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] { sockets[i] = all.connect(i, soon()); });
    }
  }
  for (std::size_t from = 0; from < 5; ++from) {
    ASSERT_TRUE(sockets[from]) << sockets[from].error().message;
    EXPECT_FALSE((*sockets[from])[from].open());
    for (std::size_t to = 0; to < 5; ++to) {
      if (from == to) continue;
      const char word = static_cast<char>('a' + 5 * from + to);
      ASSERT_EQ(send((*sockets[from])[to].number(), &word, 1, 0), 1);
      char received = 0;
      const int other = (*sockets[to])[from].number();
      while (recv(other, &received, 1, 0) != 1) std::this_thread::yield();
      EXPECT_EQ(received, word);
    }
  }
}

TEST(TcpConnections, StrangersAreRejectedAndDelayNobody) {
  const Processes all(2);
  const Descriptor silent = knock(all.listeners[0], "");
  const Descriptor rude = knock(all.listeners[0], "GET / HTTP/1.1\r\nHost: nobody.example\r\n\r\n");
  Result<std::vector<Descriptor>> other;
  std::jthread thread([&] { other = all.connect(1, soon()); });
  const auto sockets = all.connect(0, soon());
  thread.join();
  ASSERT_TRUE(sockets) << sockets.error().message;
  ASSERT_TRUE(other) << other.error().message;
}

TEST(TcpConnections, AMissingProcessIsNamed) {
  const Processes all(3);
  const auto late = all.connect(1, in(std::chrono::milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kPeerFailed);
  EXPECT_NE(late.error().message.find("process 2"), std::string::npos) << late.error().message;
}

TEST(TcpConnections, WaitingCanBeCancelled) {
  const Processes all(2);
  Waiting waiting = soon();
  waiting.cancelled = [] { return true; };
  const auto sockets = all.connect(0, waiting);
  ASSERT_FALSE(sockets);
  EXPECT_EQ(sockets.error().code, ErrorCode::kCancelled);
}

TEST(TcpConnections, AProcessThatIsGoneIsNamedAtOnce) {
  Processes all(2);
  { const Listener gone = std::move(all.listeners[0]); }
  const auto sockets = all.connect(1, soon());
  ASSERT_FALSE(sockets);
  EXPECT_EQ(sockets.error().code, ErrorCode::kPeerFailed);
  EXPECT_NE(sockets.error().message.find("process 0"), std::string::npos);
}

TEST(TcpConnections, HostNamesAreRefused) {
  const auto listener = Listener::open("localhost");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::reshard::execute
