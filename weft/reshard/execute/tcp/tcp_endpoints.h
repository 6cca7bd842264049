// SPDX-License-Identifier: Apache-2.0
// For tests: the TCP endpoints of several processes, all in one process. Each endpoint is connected
// on its own thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/reshard/execute/tcp/tcp.h"

namespace weft::reshard::execute {

inline std::vector<std::unique_ptr<TcpTransport>> connect_tcp(std::size_t count) {
  std::vector<Listener> listeners;
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    listeners.push_back(std::move(*Listener::open("127.0.0.1")));
    addresses.push_back(listeners[i].address());
  }
  std::vector<std::unique_ptr<TcpTransport>> endpoints(count);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const Waiting soon{std::chrono::steady_clock::now() + std::chrono::seconds(20), {}};
      auto sockets = connect_all(listeners[i], static_cast<std::int32_t>(i), addresses, soon);
      endpoints[i] = std::make_unique<TcpTransport>(std::move(sockets.value()));
    });
  }
  threads.clear();
  return endpoints;
}

}  // namespace weft::reshard::execute
