// SPDX-License-Identifier: Apache-2.0
#include "cli/info/summary.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "weft/base/parallel.h"
#include "weft/trace/launches.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/match/phase_calls.h"
#include "weft/trace/runs/runs.h"

namespace weft::cli {
namespace {

using trace::EventKind;

/// Counts the collectives of one rank, by kind. An op timeline has no launches and no calls of a
/// communication library: its collectives are phases. Which ranks take part in a phase follows from
/// the whole run, so phase_calls() gets the run.
std::vector<CollectiveSummary> count_collectives(const trace::Run& run, std::size_t rank) {
  const trace::RankTrace& trace = run.ranks[rank];
  const std::vector<trace::Call> calls = trace.phases.empty()
                                             ? communication_calls(trace, resolve_launches(trace))
                                             : phase_calls(run, rank);
  std::map<std::string, CollectiveSummary> by_name;
  for (const trace::Call& call : calls) {
    CollectiveSummary& entry = by_name[to_text(call.kind)];
    entry.name = to_text(call.kind);
    ++entry.count;
    if (call.bytes >= 0) ++(call.inferred ? entry.size_inferred : entry.with_size);
  }
  std::vector<CollectiveSummary> list;
  for (auto& [name, entry] : by_name) list.push_back(std::move(entry));
  return list;
}

std::vector<StepSummary> list_steps(const trace::RankTrace& rank) {
  std::vector<StepSummary> list;
  for (const trace::StepMark& step : rank.steps) {
    list.push_back({step.number, step.end - step.start});
  }
  if (!list.empty()) return list;
  // Op timelines have no step marks, but each of their ops names its step.
  std::map<std::int64_t, std::pair<Nanos, Nanos>> spans;
  for (std::size_t i = 0; i < rank.events.size(); ++i) {
    if (rank.events.kind[i] != EventKind::kPhase || rank.events.detail[i] == trace::kNone) continue;
    const std::int64_t step = rank.phases[rank.events.detail[i]].step;
    if (step < 0) continue;
    const auto [at, fresh] = spans.try_emplace(step, rank.events.start[i], rank.events.end(i));
    if (fresh) continue;
    at->second.first = std::min(at->second.first, rank.events.start[i]);
    at->second.second = std::max(at->second.second, rank.events.end(i));
  }
  for (const auto& [number, span] : spans) list.push_back({number, span.second - span.first});
  return list;
}

/// "rank 3" if the rank of the peer is known. Otherwise the address without the port, because each
/// connection has a different port: "10.0.0.2" of "10.0.0.2:4711".
std::string peer_name(const trace::WireConnection& connection) {
  if (connection.peer_rank >= 0) return "rank " + std::to_string(connection.peer_rank);
  return connection.peer.substr(0, connection.peer.rfind(':'));
}

WireSummary summarise_wire(const trace::Wire& wire) {
  WireSummary summary;
  summary.connections = static_cast<std::int64_t>(wire.connections.size());
  summary.transfers = static_cast<std::int64_t>(wire.transfers.size());
  std::map<std::string, PeerSummary> peers;
  std::vector<PeerSummary*> peer_of;
  for (const trace::WireConnection& connection : wire.connections) {
    const std::string name = peer_name(connection);
    peers[name].name = name;
    peer_of.push_back(&peers[name]);
  }
  for (const trace::WireTransfer& transfer : wire.transfers) {
    PeerSummary& peer = *peer_of[transfer.connection];
    ++peer.transfers;
    (transfer.outgoing ? peer.sent : peer.received) += transfer.bytes;
    (transfer.outgoing ? summary.sent : summary.received) += transfer.bytes;
  }
  for (auto& [name, peer] : peers) summary.peers.push_back(std::move(peer));
  return summary;
}

RankSummary summarise_rank(const trace::Run& run, std::size_t index) {
  const trace::RankTrace& rank = run.ranks[index];
  RankSummary summary;
  summary.trace = &rank;
  std::error_code error;
  const auto size = std::filesystem::file_size(rank.file, error);
  if (!error) summary.stored_bytes = static_cast<Bytes>(size);

  const trace::Events& events = rank.events;
  // A stream counts only if it did device work: profilers also list streams that were never used.
  std::vector<bool> lane_works(rank.lanes.size(), false);
  Nanos first = 0;
  Nanos last = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    first = i == 0 ? events.start[i] : std::min(first, events.start[i]);
    last = i == 0 ? events.end(i) : std::max(last, events.end(i));
    const EventKind kind = events.kind[i];
    if (kind == EventKind::kKernel) ++summary.kernels;
    if (kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset) {
      if (events.lane[i] < lane_works.size()) lane_works[events.lane[i]] = true;
    }
  }
  summary.streams = std::count(lane_works.begin(), lane_works.end(), true);
  summary.start = rank.epoch + first;
  summary.span = last - first;
  summary.steps = list_steps(rank);
  summary.collectives = count_collectives(run, index);
  summary.wire = summarise_wire(rank.wire);
  return summary;
}

}  // namespace

std::int64_t RankSummary::collective_count() const {
  std::int64_t count = 0;
  for (const CollectiveSummary& entry : collectives) count += entry.count;
  return count;
}

RunSummary summarise(const trace::Run& run) {
  RunSummary summary;
  summary.run = &run;
  summary.ranks.resize(run.ranks.size());
  parallel_for(run.ranks.size(), [&](std::size_t i) { summary.ranks[i] = summarise_rank(run, i); });
  const trace::MissingRanks missing = trace::missing_ranks(run);
  summary.missing_count = missing.count;
  summary.missing_ranks.assign(missing.first.begin(), missing.first.end());
  for (const trace::Bystander& bystander : run.bystanders) {
    summary.bystanders.push_back(summarise_wire(bystander.wire));
  }
  return summary;
}

}  // namespace weft::cli
