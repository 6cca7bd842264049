// SPDX-License-Identifier: Apache-2.0
// Pairing: an end of a connection is identified by its local address and its peer address. The
// other end has the two addresses swapped. Each end lists its transfers sorted by offset, and one
// merge finds all overlaps.
//
// Clock ties: let the clock of the second process be behind by `offset`. A transfer from first to
// second that took t > 0 shows a one-way time of t - offset, so offset > -(one-way time). The other
// direction gives offset < one-way time. The shortest one-way times give the tightest bounds. NTP
// bounds offsets in the same way.
#include "weft/trace/match/wire_match.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
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

/// One end of a connection.
struct End {
  std::uint32_t process = 0;
  std::uint32_t connection = 0;
  Nanos first = std::numeric_limits<Nanos>::max();  ///< start of the first transfer
  std::vector<std::uint32_t> sent, received;        ///< indices of transfers, sorted by offset
};

/// A loopback address stands for a different endpoint on each host. So a connection with such an
/// address is identified by its host too.
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
  // A port may be reused: then several connections have the same addresses, one after another.
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

/// What one send and its receive tell about the clocks of the two processes.
struct OneWayTime {
  Nanos at = 0;       ///< on the clock of the first process
  Nanos way = 0;      ///< see one_way()
  bool back = false;  ///< true: from the second process to the first
};

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
constexpr Nanos kShortestPiece = 100 * kMillisecond;
constexpr Nanos kPieces = 64;

/// The shortest one-way times in each direction.
struct Bounds {
  Nanos there = kNever;
  Nanos back = kNever;
};

/// Adds the ties between two processes, in order of time.
void tie(std::uint32_t first, std::uint32_t second, const std::vector<OneWayTime>& seen,
         std::vector<ClockTie>& ties) {
  const auto [begin, end] =
      std::minmax_element(seen.begin(), seen.end(),
                          [](const OneWayTime& a, const OneWayTime& b) { return a.at < b.at; });
  const Nanos piece = std::max(kShortestPiece, (end->at - begin->at) / kPieces + 1);
  std::map<Nanos, Bounds> pieces;
  for (const OneWayTime& s : seen) {
    Bounds& bounds = pieces[(s.at - begin->at) / piece];
    Nanos& shortest = s.back ? bounds.back : bounds.there;
    shortest = std::min(shortest, s.way);
  }
  for (const auto& [number, bounds] : pieces) {
    if (bounds.there == kNever || bounds.back == kNever || -bounds.there > bounds.back) continue;
    ties.push_back(
        {first, second, -bounds.there, bounds.back, begin->at + number * piece + piece / 2});
  }
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
    // If the two sides saw different numbers of connections with these addresses, it is unknown
    // which ones correspond.
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
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<OneWayTime>> seen;
  for (const WirePair& pair : match_transfers(run)) {
    if (pair.sender == pair.receiver) continue;
    const bool back = pair.sender > pair.receiver;
    const std::uint32_t first = back ? pair.receiver : pair.sender;
    const WireTransfer& transfer = wire_of(run, first).transfers[back ? pair.receive : pair.send];
    const Nanos at = epoch_of(run, first) + transfer.start + (back ? transfer.duration : 0);
    seen[{first, back ? pair.sender : pair.receiver}].push_back({at, one_way(run, pair), back});
  }
  std::vector<ClockTie> ties;
  for (const auto& [processes, times] : seen) {
    tie(processes.first, processes.second, times, ties);
  }
  return ties;
}

std::vector<ClockTie> ties_between_ranks(const Run& run, const std::vector<ClockTie>& ties) {
  const auto ranks = static_cast<std::uint32_t>(run.ranks.size());
  std::vector<ClockTie> result;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<ClockTie>>> servers;
  for (const ClockTie& tie : ties) {
    if (tie.second < ranks) result.push_back(tie);
    if (tie.first < ranks && tie.second >= ranks) servers[tie.second][tie.first].push_back(tie);
  }
  for (const auto& [server, workers] : servers) {
    const auto& [first, known] = *workers.begin();
    for (auto worker = std::next(workers.begin()); worker != workers.end(); ++worker) {
      for (const ClockTie& other : worker->second) {
        const ClockTie& near = *std::min_element(
            known.begin(), known.end(), [&](const ClockTie& a, const ClockTie& b) {
              return std::abs(a.at - other.at) < std::abs(b.at - other.at);
            });
        // This adds two offsets: from the worker's clock to the server's clock, and from there to
        // the clock of the first worker. The bounds of a difference are the differences of opposite
        // bounds.
        result.push_back(
            {first, worker->first, near.low - other.high, near.high - other.low, near.at});
      }
    }
  }
  return result;
}

}  // namespace weft::trace
