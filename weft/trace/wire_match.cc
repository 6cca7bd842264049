// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/wire_match.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weft::trace {
namespace {

const std::string& host_of(const Run& run, std::uint32_t process) {
  const std::size_t ranks = run.ranks.size();
  return process < ranks ? run.ranks[process].host : run.bystanders[process - ranks].host;
}

std::uint32_t process_count(const Run& run) {
  return static_cast<std::uint32_t>(run.ranks.size() + run.bystanders.size());
}

/// One end of a connection, with its transfers by direction and offset.
struct End {
  std::uint32_t process = 0;
  std::uint32_t connection = 0;
  Nanos first = std::numeric_limits<Nanos>::max();
  std::vector<std::uint32_t> sent, received;
};

/// Addresses of the loopback mean something else on every host.
std::string scope(const Run& run, std::uint32_t process, const WireConnection& connection) {
  const bool loopback = connection.peer.starts_with("127.") || connection.peer.starts_with("[::1]");
  return loopback ? host_of(run, process) : std::string();
}

using EndKey = std::pair<std::string, std::pair<std::string, std::string>>;  // scope, local, peer

std::map<EndKey, std::vector<End>> collect_ends(const Run& run) {
  std::map<EndKey, std::vector<End>> ends;
  for (std::uint32_t p = 0; p < process_count(run); ++p) {
    const Wire& wire = wire_of(run, p);
    std::vector<End> own(wire.connections.size());
    for (std::uint32_t t = 0; t < wire.transfers.size(); ++t) {
      const WireTransfer& transfer = wire.transfers[t];
      End& end = own[transfer.connection];
      end.first = std::min(end.first, transfer.start + epoch_of(run, p));
      (transfer.outgoing ? end.sent : end.received).push_back(t);
    }
    for (std::uint32_t c = 0; c < own.size(); ++c) {
      const WireConnection& connection = wire.connections[c];
      End& end = own[c];
      if (!connection.whole || connection.local.empty()) continue;
      if (end.sent.empty() && end.received.empty()) continue;
      end.process = p;
      end.connection = c;
      const auto by_offset = [&](std::uint32_t a, std::uint32_t b) {
        return wire.transfers[a].offset < wire.transfers[b].offset;
      };
      std::stable_sort(end.sent.begin(), end.sent.end(), by_offset);
      std::stable_sort(end.received.begin(), end.received.end(), by_offset);
      ends[{scope(run, p, connection), {connection.local, connection.peer}}].push_back(
          std::move(end));
    }
  }
  // Ports are used again: one connection after the other.
  for (auto& [key, list] : ends) {
    std::stable_sort(list.begin(), list.end(),
                     [](const End& a, const End& b) { return a.first < b.first; });
  }
  return ends;
}

void match_direction(const Run& run, const End& from, const End& to, std::vector<WirePair>& pairs) {
  const std::vector<WireTransfer>& sends = wire_of(run, from.process).transfers;
  const std::vector<WireTransfer>& receives = wire_of(run, to.process).transfers;
  std::size_t s = 0;
  std::size_t r = 0;
  while (s < from.sent.size() && r < to.received.size()) {
    const WireTransfer& send = sends[from.sent[s]];
    const WireTransfer& receive = receives[to.received[r]];
    const std::int64_t send_end = send.offset + send.bytes;
    const std::int64_t receive_end = receive.offset + receive.bytes;
    const std::int64_t common =
        std::min(send_end, receive_end) - std::max(send.offset, receive.offset);
    if (common > 0) {
      pairs.push_back({from.process, to.process, from.sent[s], to.received[r], common});
    }
    ++(send_end <= receive_end ? s : r);
  }
}

struct Bounds {
  Nanos there = std::numeric_limits<Nanos>::max();  ///< shortest one-way times
  Nanos back = std::numeric_limits<Nanos>::max();
};

using Processes = std::pair<std::uint32_t, std::uint32_t>;

/// What to add to the second of two processes, if they talked both ways.
std::optional<ClockTie> tie_of(const std::map<Processes, Bounds>& all, std::uint32_t a,
                               std::uint32_t b) {
  const auto found = all.find({std::min(a, b), std::max(a, b)});
  constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
  if (found == all.end() || found->second.there == kNever || found->second.back == kNever) {
    return std::nullopt;
  }
  const ClockTie tie{std::min(a, b), std::max(a, b), -found->second.there, found->second.back};
  if (tie.low > tie.high) return std::nullopt;
  if (a < b) return tie;
  return ClockTie{a, b, -tie.high, -tie.low};
}

}  // namespace

const Wire& wire_of(const Run& run, std::uint32_t process) {
  const std::size_t ranks = run.ranks.size();
  return process < ranks ? run.ranks[process].wire : run.bystanders[process - ranks].wire;
}

Nanos epoch_of(const Run& run, std::uint32_t process) {
  const std::size_t ranks = run.ranks.size();
  return process < ranks ? run.ranks[process].epoch : run.bystanders[process - ranks].epoch;
}

std::vector<WirePair> match_transfers(const Run& run) {
  const auto ends = collect_ends(run);
  std::vector<WirePair> pairs;
  for (const auto& [key, list] : ends) {
    const auto other = ends.find({key.first, {key.second.second, key.second.first}});
    // Where ends are missing nobody can tell which of several connections they were.
    if (other == ends.end() || other->second.size() != list.size()) continue;
    for (std::size_t i = 0; i < list.size(); ++i) {
      match_direction(run, list[i], other->second[i], pairs);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const WirePair& a, const WirePair& b) {
    return std::pair(a.sender, a.receiver) < std::pair(b.sender, b.receiver);
  });
  return pairs;
}

Nanos one_way(const Run& run, const WirePair& pair) {
  const WireTransfer& send = wire_of(run, pair.sender).transfers[pair.send];
  const WireTransfer& receive = wire_of(run, pair.receiver).transfers[pair.receive];
  return receive.start + receive.duration + epoch_of(run, pair.receiver) -
         (send.start + epoch_of(run, pair.sender));
}

std::vector<ClockTie> clock_ties(const Run& run) {
  std::map<Processes, Bounds> all;
  for (const WirePair& pair : match_transfers(run)) {
    if (pair.sender == pair.receiver) continue;
    Bounds& bounds =
        all[{std::min(pair.sender, pair.receiver), std::max(pair.sender, pair.receiver)}];
    Nanos& shortest = pair.sender < pair.receiver ? bounds.there : bounds.back;
    shortest = std::min(shortest, one_way(run, pair));
  }
  const auto ranks = static_cast<std::uint32_t>(run.ranks.size());
  std::vector<ClockTie> ties;
  std::map<std::uint32_t, std::vector<std::uint32_t>> workers_of;  // by bystander
  for (const auto& [processes, bounds] : all) {
    const auto [a, b] = processes;
    const auto tie = tie_of(all, a, b);
    if (!tie) continue;
    if (b < ranks) ties.push_back(*tie);
    if (a < ranks && b >= ranks) workers_of[b].push_back(a);
  }
  for (const auto& [server, workers] : workers_of) {
    for (std::size_t i = 1; i < workers.size(); ++i) {
      // second + to_server = server's time; + to_first = first's time.
      const ClockTie to_server = *tie_of(all, server, workers[i]);
      const ClockTie to_first = *tie_of(all, workers[0], server);
      ties.push_back(
          {workers[0], workers[i], to_server.low + to_first.low, to_server.high + to_first.high});
    }
  }
  return ties;
}

}  // namespace weft::trace
