// SPDX-License-Identifier: Apache-2.0
// Makes synthetic recordings event by event, for the tests of build().
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/build.h"
#include "weft/trace/made_run.h"

namespace weft::graph {

using trace::EventKind;
using trace::MadeRank;

constexpr Nanos us = kMicrosecond;

/// One rank of a synthetic recording. Its functions add launches and kernels with given recorded
/// times.
struct Rank : MadeRank {
  using MadeRank::MadeRank;

  /// Adds a call and the device work that it puts on `stream`. Returns the event of the device
  /// work.
  std::uint32_t launch(const std::string& name, Nanos call, Nanos call_time, Nanos start,
                       Nanos duration, std::int64_t stream = 7) {
    runtime(call, call_time, ++correlation);
    return kernel(name, start + duration, duration, correlation, stream);
  }
  std::uint32_t call(const std::string& name, Nanos start, Nanos duration) {
    return add(EventKind::kRuntime, name, start, duration, ++correlation);
  }
  void step(std::int64_t number, Nanos start, Nanos end) {
    trace.steps.push_back({number, 0, start, end});
  }
  /// Moves an event to another host thread.
  void on_thread(std::uint32_t event, std::int64_t tid) {
    std::uint32_t lane = 0;
    while (lane < trace.lanes.size() &&
           (trace.lanes[lane].on_device || trace.lanes[lane].tid != tid)) {
      ++lane;
    }
    if (lane == trace.lanes.size()) trace.lanes.push_back({false, 0, tid, -1, ""});
    trace.events.lane[event] = lane;
  }

  std::uint32_t correlation = 0;
};

struct Made {
  trace::Run run;
  std::vector<trace::Match> matches;
  Diagnostics diagnostics;
  Graph graph;

  void add(Rank rank) { run.ranks.push_back(std::move(rank.trace)); }
  void match(trace::CollectiveKind kind, std::vector<trace::Member> members, Bytes bytes = 1024) {
    trace::Match m;
    m.kind = kind;
    m.group = "0";
    m.bytes = bytes;
    m.group_size = static_cast<std::int32_t>(members.size());
    m.members = std::move(members);
    matches.push_back(std::move(m));
  }
  /// Builds the graph and verifies it. If either fails, throws an exception, which fails the test.
  void build() {
    auto result = graph::build(run, matches, diagnostics);
    if (!result) throw std::runtime_error(result.error().text());
    graph = std::move(*result);
    const Status sound = verify(graph);
    if (!sound) throw std::runtime_error(sound.error().text());
  }

  OpId op(std::string_view name, std::int32_t rank = 0, int nth = 0) const {
    for (OpId id = 0; id < graph.size(); ++id) {
      if (graph.name(id) == name && graph.rank(id) == rank && nth-- == 0) return id;
    }
    ADD_FAILURE() << "no op " << name << " of rank " << rank;
    return 0;
  }
  OpId transfer(std::size_t collective = 0) const { return graph.collectives[collective].transfer; }
  std::optional<Edge> edge(OpId source, OpId destination) const {
    for (const Edge& e : graph.in_edges(destination)) {
      if (e.source == source) return e;
    }
    return std::nullopt;
  }
};

}  // namespace weft::graph
