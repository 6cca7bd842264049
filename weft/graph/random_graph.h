// SPDX-License-Identifier: Apache-2.0
// Makes random graphs of small jobs, for tests. The jobs have several ranks with host threads,
// compute and communication streams, launches, event waits, blocking calls and collectives. The
// same seed gives the same graph.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/graph/builder.h"

namespace weft::graph {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_(seed) {}

  /// A job with up to `max_ranks` ranks and about `size` ops.
  Graph job(int max_ranks, int size) {
    GraphBuilder builder;
    const int ranks = static_cast<int>(pick(1, max_ranks));
    const LaneId link = builder.add_lane(LaneKind::kLink, -1, "link");
    std::vector<std::array<LaneId, 4>> lanes;  // per rank: host, two compute streams, communication
    for (int r = 0; r < ranks; ++r) {
      const std::string prefix = std::to_string(r);
      lanes.push_back({builder.add_lane(LaneKind::kHost, r, prefix + "/host"),
                       builder.add_lane(LaneKind::kStream, r, prefix + "/s1"),
                       builder.add_lane(LaneKind::kStream, r, prefix + "/s2"),
                       builder.add_lane(LaneKind::kStream, r, prefix + "/comm")});
    }
    std::vector<OpId> last(builder.draft().lanes.size(), kNoId);
    const auto add = [&](OpKind kind, LaneId lane) {
      OpSpec spec;
      spec.kind = kind;
      spec.lane = lane;
      spec.duration = kind == OpKind::kArrive ? 0 : time();
      const OpId op = builder.add_op(spec);
      if (last[lane] != kNoId) builder.add_edge(last[lane], op, EdgeKind::kOrder, delay());
      return last[lane] = op;
    };
    const auto wait = [&](LaneId lane, OpId op, EdgeKind kind) {
      if (last[lane] != kNoId && last[lane] != op) builder.add_edge(last[lane], op, kind, delay());
    };
    while (static_cast<int>(builder.draft().size()) < size) {
      const auto& [host, s1, s2, comm] = lanes[pick(0, ranks - 1)];
      switch (pick(0, 5)) {
        case 0:
          add(OpKind::kHost, host);
          break;
        case 1:
        case 2: {  // launch a kernel
          const OpId launch = add(OpKind::kLaunch, host);
          builder.add_edge(launch, add(OpKind::kKernel, pick(0, 1) ? s1 : s2), EdgeKind::kLaunch,
                           delay());
          break;
        }
        case 3: {  // one compute stream waits for the other, or for communication
          const OpId kernel = add(OpKind::kKernel, s1);
          wait(pick(0, 1) ? s2 : comm, kernel, EdgeKind::kEventWait);
          break;
        }
        case 4: {  // a blocking call
          add(OpKind::kHost, host);
          const OpId sync = add(OpKind::kSync, host);
          wait(s1, sync, EdgeKind::kHostSync);
          break;
        }
        default: {
          std::vector<int> members(static_cast<std::size_t>(ranks));
          std::iota(members.begin(), members.end(), 0);
          std::shuffle(members.begin(), members.end(), random_);
          members.resize(static_cast<std::size_t>(pick(1, ranks)));
          Collective collective;
          for (int member : members) {
            const auto& own = lanes[static_cast<std::size_t>(member)];
            const OpId arrival = add(OpKind::kArrive, own[3]);
            if (pick(0, 3) > 0) wait(own[1], arrival, EdgeKind::kEventWait);
            collective.arrivals.push_back(arrival);
          }
          const OpId transfer = add(OpKind::kTransfer, link);
          for (OpId arrival : collective.arrivals) {
            builder.add_edge(arrival, transfer, EdgeKind::kCollective);
          }
          collective.transfer = transfer;
          // The next op of each member's stream waits for the transfer.
          for (int member : members) last[lanes[static_cast<std::size_t>(member)][3]] = transfer;
          builder.add_collective(collective);
        }
      }
    }
    return *std::move(builder).finish();
  }

  /// Makes a random directed acyclic graph. All its ops are on one lane, but its edges do not
  /// follow the order of the lane.
  Graph tangle(int size) {
    GraphBuilder builder;
    builder.add_lane(LaneKind::kStream, 0, "s");
    for (int i = 0; i < size; ++i) {
      OpSpec spec;
      spec.duration = time();
      const OpId op = builder.add_op(spec);
      for (std::int64_t e = op == 0 ? 0 : pick(0, 3); e > 0; --e) {
        builder.add_edge(static_cast<OpId>(pick(0, op - 1)), op, EdgeKind::kData, delay());
      }
    }
    return *std::move(builder).finish();
  }

  std::vector<double> slowdowns(std::size_t n) {
    std::vector<double> all;
    std::uniform_real_distribution<double> factor(1.0, 3.0);
    for (std::size_t i = 0; i < n; ++i) all.push_back(pick(0, 3) == 0 ? 1.0 : factor(random_));
    return all;
  }

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  /// Returns a random time. Some times are zero, and others differ by orders of magnitude. So tests
  /// meet ops that end at the same time, and ops that are much shorter than others.
  Nanos time() { return pick(0, 4) == 0 ? 0 : pick(0, pick(0, 1) ? 10 : 1000); }
  Nanos delay() { return pick(0, 2) == 0 ? pick(0, 50) : 0; }

 private:
  std::mt19937 random_;
};

}  // namespace weft::graph
