// SPDX-License-Identifier: Apache-2.0
// Measures the speed of replay on synthetic graphs, so that it needs no recording:
// - ops per second of full replays of a graph of more than a million ops;
// - incremental replays per second after one change, with and without contention. The graph is one
//   step that resembles Megatron with tensor parallelism over 8 ranks: 700 kernels and 1,500 host
//   calls per rank, and 84 all-reduces.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weft/graph/builder.h"
#include "weft/sim/contention.h"
#include "weft/sim/critical_path.h"
#include "weft/sim/replay.h"

namespace {

using namespace weft;
using graph::OpId;
using graph::OpKind;

struct Shape {
  int ranks = 8;
  int steps = 1;
  int kernels = 700;      ///< kernels per rank and step
  int host_calls = 1500;  ///< host calls per rank and step, launches included
  int collectives = 84;   ///< collectives per step; all ranks take part in each
  int extra_edges = 0;    ///< dependencies per kernel, beyond stream order and launch
};

/// A job in which hosts launch kernels ahead of their devices. After every `kernels / collectives`
/// kernels all ranks join an all-reduce on the communication stream. The compute streams wait for
/// every second all-reduce; the others overlap with the kernels that follow.
graph::Graph make_job(const Shape& shape) {
  using namespace graph;
  std::mt19937 random(1);
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  GraphBuilder builder;
  struct Rank {
    LaneId host, compute, comm;
    OpId last_host, last_kernel, last_comm;
    Nanos clock;
  };
  const LaneId link = builder.add_lane(LaneKind::kLink, -1, "link");
  std::vector<Rank> ranks;
  for (int r = 0; r < shape.ranks; ++r) {
    ranks.push_back({builder.add_lane(LaneKind::kHost, r, "host " + std::to_string(r)),
                     builder.add_lane(LaneKind::kStream, r, "compute " + std::to_string(r)),
                     builder.add_lane(LaneKind::kStream, r, "comm " + std::to_string(r)), kNoId,
                     kNoId, kNoId, 0});
  }
  const auto add = [&](OpKind kind, LaneId lane, OpId& last, Nanos duration, Nanos recorded,
                       Nanos gap) {
    OpSpec spec;
    spec.kind = kind;
    spec.lane = lane;
    spec.duration = duration;
    spec.recorded_start = recorded;
    const OpId op = builder.add_op(spec);
    if (last != kNoId) builder.add_edge(last, op, EdgeKind::kOrder, gap);
    return last = op;
  };
  // Spreads `total` items evenly over the kernels of a step. Returns the number for kernel k.
  const auto share = [&shape](int k, int total) {
    return (k + 1) * total / shape.kernels - k * total / shape.kernels;
  };
  int collectives = 0;
  OpId last_transfer = kNoId;
  for (int i = 0; i < shape.steps * shape.kernels; ++i) {
    const int k = i % shape.kernels;
    for (Rank& rank : ranks) {
      for (int c = share(k, shape.host_calls); c > 0; --c) {
        rank.clock += 5000;
        add(c == 1 ? OpKind::kLaunch : OpKind::kHost, rank.host, rank.last_host, pick(2000, 8000),
            rank.clock, pick(0, 500));
      }
      const OpId launch = rank.last_host;
      const OpId kernel = add(OpKind::kKernel, rank.compute, rank.last_kernel, pick(5000, 40000),
                              rank.clock + 4000, pick(0, 1500));
      builder.add_edge(launch, kernel, EdgeKind::kLaunch, 4000);
      for (int e = 0; e < shape.extra_edges; ++e) {
        const auto back = std::min(kernel, static_cast<OpId>(pick(1, 200)));
        builder.add_edge(kernel - back, kernel, EdgeKind::kData);
      }
    }
    if (share(k, shape.collectives) == 0) continue;
    Collective collective;
    collective.kind = CollectiveKind::kAllReduce;
    collective.ranks = shape.ranks;
    for (Rank& rank : ranks) {
      const OpId arrival = add(OpKind::kArrive, rank.comm, rank.last_comm, 0, rank.clock + 5000, 0);
      builder.add_edge(rank.last_kernel, arrival, EdgeKind::kEventWait, 2000);
      collective.arrivals.push_back(arrival);
    }
    collective.transfer =
        add(OpKind::kTransfer, link, last_transfer, pick(100000, 600000), ranks[0].clock + 6000, 0);
    for (Rank& rank : ranks) {
      builder.add_edge(rank.last_comm, collective.transfer, EdgeKind::kCollective);
      rank.last_comm = collective.transfer;
      // The compute stream waits for every second all-reduce; the others overlap with kernels.
      if (collectives % 2 == 0) {
        const OpId next = add(OpKind::kKernel, rank.compute, rank.last_kernel, pick(5000, 40000),
                              rank.clock + 7000, 0);
        builder.add_edge(collective.transfer, next, EdgeKind::kEventWait, 1000);
      }
    }
    builder.add_collective(collective);
    ++collectives;
  }
  return *std::move(builder).finish();
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_shape(const char* name, const graph::Graph& graph) {
  std::printf("%s: %zu ops, %.2f edges per op, %zu collectives\n", name, graph.size(),
              static_cast<double>(graph.edges.size()) / static_cast<double>(graph.size()),
              graph.collectives.size());
}

void bench_sweep() {
  Shape shape;
  shape.steps = 75;
  shape.extra_edges = 4;
  graph::Graph graph;
  const double build = seconds_of([&] { graph = make_job(shape); });
  print_shape("big", graph);
  const double verify = seconds_of([&] { (void)graph::verify(graph).has_value(); });
  sim::Replay replay(graph);
  std::vector<double> times;
  for (int i = 0; i < 30; ++i) times.push_back(seconds_of([&] { replay.run(); }));
  std::sort(times.begin(), times.end());
  const auto n = static_cast<double>(graph.size());
  std::printf("  build %.2f s, verify %.1f M ops/s\n", build, n / verify / 1e6);
  std::printf("  full replay: median %.1f M ops/s, worst %.1f M ops/s\n", n / times[15] / 1e6,
              n / times.back() / 1e6);
  std::size_t length = 0;
  const double path = seconds_of([&] { length = sim::critical_path(replay).size(); });
  std::printf("  critical path of %zu ops in %.2f ms\n", length, path * 1e3);
}

constexpr int kChanges = 20000;

std::vector<OpId> kernels_of(const graph::Graph& graph) {
  std::vector<OpId> kernels;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.kind[op] == OpKind::kKernel) kernels.push_back(op);
  }
  return kernels;
}

/// Makes one kernel between half as long and one and a half times as long. Returns the kernel.
OpId change_one(const graph::Graph& graph, const std::vector<OpId>& kernels, std::mt19937& random,
                std::vector<Nanos>& work) {
  const OpId op = kernels[random() % kernels.size()];
  work[op] = graph.ops.duration[op] * (50 + static_cast<int>(random() % 100)) / 100;
  return op;
}

/// Returns a sum of results. main() prints it, so that the compiler cannot remove the replays.
Nanos bench_updates(const graph::Graph& graph, std::mt19937& random) {
  sim::Replay replay(graph);
  replay.run();
  const std::vector<OpId> kernels = kernels_of(graph);
  std::vector<Nanos> work = graph.ops.duration;
  std::size_t visited = 0;
  Nanos sum = 0;
  double time = seconds_of([&] {
    for (int i = 0; i < kChanges; ++i) {
      const OpId op = change_one(graph, kernels, random, work);
      replay.set_duration(op, work[op]);
      visited += replay.update();
      sum += replay.makespan();
    }
  });
  std::printf("  one kernel changed: %.0f re-replays/s, %.0f ops visited each\n", kChanges / time,
              static_cast<double>(visited) / kChanges);

  // Most transfers are on the critical path. So if one transfer changes, all later ops of all ranks
  // get other times. This is the expensive case of an incremental replay.
  visited = 0;
  time = seconds_of([&] {
    for (int i = 0; i < kChanges; ++i) {
      const OpId op = graph.collectives[random() % graph.collectives.size()].transfer;
      replay.set_duration(op, 100000 + static_cast<Nanos>(random() % 500000));
      visited += replay.update();
      sum += replay.makespan();
    }
  });
  std::printf("  one transfer changed: %.0f re-replays/s, %.0f ops visited each\n", kChanges / time,
              static_cast<double>(visited) / kChanges);

  // This loop does what a search for a plan does: it tries a change, reads the makespan, and undoes
  // the change.
  replay.checkpoint();
  time = seconds_of([&] {
    for (int i = 0; i < kChanges; ++i) {
      const OpId op = kernels[random() % kernels.size()];
      replay.set_duration(op, graph.ops.duration[op] / 2);
      replay.update();
      sum += replay.makespan();
      replay.rollback();
    }
  });
  std::printf("  changed and rolled back: %.0f/s\n", kChanges / time);
  return sum;
}

Nanos bench_contention(const graph::Graph& graph, std::mt19937& random) {
  const std::vector<OpId> kernels = kernels_of(graph);
  std::vector<Nanos> work = graph.ops.duration;
  std::vector<double> slowdown(graph.size(), 1.0);
  for (OpId op : kernels) slowdown[op] = 1.0 + static_cast<double>(random() % 100) / 200;
  sim::Contention contention(graph, slowdown);
  sim::Replay contended(graph);
  int rounds = 0;
  double time = seconds_of([&] { rounds = contention.settle(contended, work).rounds; });
  std::printf("  contention from scratch: %.2f ms, %d rounds\n", time * 1e3, rounds);
  // Without rounds, settle() falls back to its event-driven pass at once.
  sim::ContentionOptions no_rounds;
  no_rounds.max_rounds = 0;
  sim::Replay by_events(graph);
  time = seconds_of([&] { contention.settle(by_events, work, no_rounds); });
  std::printf("  contention by the event-driven pass: %.2f ms\n", time * 1e3);
  constexpr int kSettles = 1000;
  rounds = 0;
  Nanos sum = 0;
  time = seconds_of([&] {
    for (int i = 0; i < kSettles; ++i) {
      change_one(graph, kernels, random, work);
      rounds += contention.settle(contended, work).rounds;
      sum += contended.makespan();
    }
  });
  std::printf("  contention after one change: %.0f/s, %.1f rounds each\n", kSettles / time,
              static_cast<double>(rounds) / kSettles);
  return sum;
}

}  // namespace

int main() {
  bench_sweep();
  const graph::Graph graph = make_job({});
  print_shape("step", graph);
  std::mt19937 random(2);
  const Nanos sum = bench_updates(graph, random) + bench_contention(graph, random);
  std::printf("  (checksum %lld)\n", static_cast<long long>(sum));
}
