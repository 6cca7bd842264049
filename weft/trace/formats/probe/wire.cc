// SPDX-License-Identifier: Apache-2.0
// Turns the records of the socket probe into transfers. Addresses are kept as text, "10.0.0.1:4000"
// or "[::1]:4000": the matching of transfers compares the text of one end with the text of the
// other end, and people can read it.
#include "weft/trace/formats/probe/wire.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace weft::trace::probe {
namespace {

constexpr Nanos kLongestTransfer = std::int64_t{1} << 60;
constexpr Bytes kLargestTransfer = std::int64_t{1} << 35;  ///< no system call transfers more

std::string endpoint(bool v6, std::string_view address, std::uint64_t port) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(v6 ? AF_INET6 : AF_INET, address.data(), text, sizeof text);
  return (v6 ? "[" + std::string(text) + "]" : std::string(text)) + ":" + std::to_string(port);
}

}  // namespace

bool WireRecords::add(LogRecord& record) {
  Fields& fields = record.fields;
  if (record.type == RecordType::kConnection) {
    const std::uint64_t number = fields.number();
    const std::uint64_t family = fields.number();
    const std::uint64_t partial = fields.number();
    const std::size_t size = family == 6 ? 16 : 4;
    const std::string_view local = fields.bytes(size);
    const std::uint64_t local_port = fields.number();
    const std::string_view peer = fields.bytes(size);
    const std::uint64_t peer_port = fields.number();
    if (!fields.ok() || local_port > 65535 || peer_port > 65535) return false;
    const auto index = static_cast<std::uint32_t>(wire_.connections.size());
    // A number is used once per process; a second record of it is damage.
    if (!connection_of_.try_emplace(number, index).second) return false;
    WireConnection connection;
    connection.local = endpoint(family == 6, local, local_port);
    connection.peer = endpoint(family == 6, peer, peer_port);
    connection.whole = partial == 0;
    wire_.connections.push_back(std::move(connection));
    return true;
  }
  if (record.type != RecordType::kSend && record.type != RecordType::kReceive) return true;
  WireTransfer transfer;
  transfer.start = record.time;
  transfer.duration = fields.amount();
  const std::uint64_t number = fields.number();
  transfer.offset = fields.amount();
  transfer.bytes = fields.amount();
  transfer.outgoing = record.type == RecordType::kSend;
  if (!fields.ok() || transfer.duration > kLongestTransfer || transfer.bytes > kLargestTransfer)
    return false;
  wire_.transfers.push_back(transfer);
  numbers_.push_back(number);
  return true;
}

// Connections are looked up only here: a thread may write a transfer to its chunk before another
// thread writes the record of the connection.
Wire WireRecords::finish(Nanos& epoch, std::int64_t& orphans) {
  std::vector<WireTransfer> kept;
  epoch = std::numeric_limits<Nanos>::max();
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const auto found = connection_of_.find(numbers_[i]);
    if (found == connection_of_.end()) {
      ++orphans;
      continue;
    }
    kept.push_back(wire_.transfers[i]);
    kept.back().connection = found->second;
    epoch = std::min(epoch, kept.back().start);
  }
  if (kept.empty()) epoch = 0;
  for (WireTransfer& transfer : kept) transfer.start -= epoch;
  std::stable_sort(kept.begin(), kept.end(),
                   [](const WireTransfer& a, const WireTransfer& b) { return a.start < b.start; });
  wire_.transfers = std::move(kept);
  return std::move(wire_);
}

RankTrace rank_of_transfers(const LogHeader& from, const std::string& file, Nanos epoch,
                            Wire wire) {
  RankTrace trace;
  trace.file = file;
  trace.rank = from.rank;
  trace.world = from.world;
  trace.host = from.host;
  trace.process = from.process;
  trace.epoch = epoch;
  trace.facts.total_events = static_cast<std::int64_t>(wire.transfers.size());
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> lanes;
  const NameId send = trace.names.intern("send");
  const NameId receive = trace.names.intern("receive");
  for (const WireTransfer& transfer : wire.transfers) {
    const auto next = static_cast<std::uint32_t>(trace.lanes.size());
    const auto [lane, fresh] = lanes.try_emplace({transfer.connection, transfer.outgoing}, next);
    if (fresh) {
      const WireConnection& connection = wire.connections[transfer.connection];
      trace.lanes.push_back(
          {false, from.process, next, -1,
           connection.local + (transfer.outgoing ? " -> " : " <- ") + connection.peer});
    }
    trace.events.add(EventKind::kAnnotation, transfer.start, transfer.duration,
                     transfer.outgoing ? send : receive, lane->second);
  }
  trace.wire = std::move(wire);
  return trace;
}

}  // namespace weft::trace::probe
