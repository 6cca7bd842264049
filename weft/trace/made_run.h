// SPDX-License-Identifier: Apache-2.0
// For tests: builds synthetic traces and runs event by event.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds events to a RankTrace. Lane 0 is a host thread. A stream gets a lane when it is first used.
class MadeRank {
 public:
  explicit MadeRank(std::int32_t rank, std::int32_t world) {
    trace.rank = rank;
    trace.world = world;
    trace.lanes.emplace_back();
  }

  std::uint32_t add(EventKind kind, const std::string& name, Nanos start, Nanos duration,
                    std::uint32_t correlation = 0, std::int64_t stream = -1) {
    Events& e = trace.events;
    std::uint32_t lane = 0;
    if (stream >= 0) {
      for (lane = 1; lane < trace.lanes.size() && trace.lanes[lane].tid != stream;) ++lane;
      if (lane == trace.lanes.size()) trace.lanes.push_back({true, 0, stream, 0, ""});
    }
    e.start.push_back(start);
    e.duration.push_back(duration);
    e.name.push_back(trace.names.intern(name));
    e.lane.push_back(lane);
    e.correlation.push_back(correlation);
    e.external_id.push_back(-1);
    e.kind.push_back(kind);
    e.detail.push_back(kNone);
    return static_cast<std::uint32_t>(e.size() - 1);
  }

  std::uint32_t host(const std::string& name, Nanos start, Nanos duration) {
    const std::uint32_t event = add(EventKind::kHostOp, name, start, duration);
    trace.events.detail[event] = static_cast<std::uint32_t>(trace.host_ops.size());
    trace.host_ops.emplace_back();
    return event;
  }
  std::uint32_t annotation(const std::string& name, Nanos start, Nanos duration) {
    return add(EventKind::kAnnotation, name, start, duration);
  }
  std::uint32_t runtime(Nanos start, Nanos duration, std::uint32_t correlation) {
    return add(EventKind::kRuntime, "cudaLaunchKernel", start, duration, correlation);
  }
  /// Adds a kernel that ends at `end`.
  std::uint32_t kernel(const std::string& name, Nanos end, Nanos duration,
                       std::uint32_t correlation = 0, std::int64_t stream = 20) {
    const std::uint32_t event =
        add(EventKind::kKernel, name, end - duration, duration, correlation, stream);
    trace.events.detail[event] = static_cast<std::uint32_t>(trace.kernels.size());
    trace.kernels.emplace_back();
    return event;
  }

  /// Adds the arguments of a collective to a kernel or host op. Elements have 4 bytes.
  CollectiveDetail& describe(std::uint32_t event, const std::string& name, std::int64_t elements,
                             const std::string& group = "0", std::int32_t group_size = -1) {
    CollectiveDetail detail;
    detail.name = trace.names.intern(name);
    detail.dtype = trace.names.intern("Float");
    detail.group = trace.names.intern(group);
    detail.in_elements = detail.out_elements = elements;
    detail.group_size = group_size > 0 ? group_size : trace.world;
    const auto index = static_cast<std::uint32_t>(trace.collectives.size());
    trace.collectives.push_back(detail);
    const std::uint32_t at = trace.events.detail[event];
    if (trace.events.kind[event] == EventKind::kKernel) {
      trace.kernels[at].collective = index;
    } else {
      trace.host_ops[at].collective = index;
    }
    return trace.collectives.back();
  }

  RankTrace trace;
};

/// A job that does `count` all-reduces, each of them on all ranks. There is about one all-reduce
/// per `period` (plus or minus a tenth), and the ends of its members differ by at most twice
/// `jitter`. Every seventh all-reduce is smaller than the others. So the sizes repeat periodically,
/// as the sizes of the buckets of training steps do.
struct MadeJob {
  int ranks = 4;
  int count = 60;
  Nanos period = 10 * kMillisecond;
  Nanos jitter = 20 * kMicrosecond;
  bool sizes = true;  ///< kernels carry arguments
  unsigned seed = 1;
};

inline constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)";

inline Run made_run(const MadeJob& job) {
  std::mt19937 random(job.seed);
  auto pick = [&](Nanos low, Nanos high) {
    return std::uniform_int_distribution<Nanos>(low, high)(random);
  };
  std::vector<MadeRank> ranks;
  for (int r = 0; r < job.ranks; ++r) ranks.emplace_back(r, job.ranks);
  Nanos t = kSecond;
  for (int k = 0; k < job.count; ++k) {
    t += job.period + pick(-job.period / 10, job.period / 10);
    for (MadeRank& rank : ranks) {
      const Nanos waited = pick(0, job.period / 3);
      const std::uint32_t event =
          rank.kernel(kAllReduceKernel, t + pick(-job.jitter, job.jitter), waited + kMillisecond);
      if (job.sizes) rank.describe(event, "allreduce", k % 7 == 0 ? 1000 : 50000);
    }
  }
  Run run;
  run.world = job.ranks;
  for (MadeRank& rank : ranks) run.ranks.push_back(std::move(rank.trace));
  return run;
}

/// Removes events, as if the profiler had lost them. `which` is ascending.
inline void drop_events(RankTrace& trace, const std::vector<std::uint32_t>& which) {
  Events kept;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (next < which.size() && which[next] == i) {
      ++next;
      continue;
    }
    const Events& e = trace.events;
    kept.start.push_back(e.start[i]);
    kept.duration.push_back(e.duration[i]);
    kept.name.push_back(e.name[i]);
    kept.lane.push_back(e.lane[i]);
    kept.correlation.push_back(e.correlation[i]);
    kept.external_id.push_back(e.external_id[i]);
    kept.kind.push_back(e.kind[i]);
    kept.detail.push_back(e.detail[i]);
  }
  trace.events = std::move(kept);
}

}  // namespace weft::trace
