// SPDX-License-Identifier: Apache-2.0
// Analyses stragglers in four stages. peer_groups() puts ops that should take equally long into one
// group. ideal_times() computes the mean or median of each group. This is the ideal time of the ops
// in the group. Scenario replays the job with ideal times for some ops and recorded times for the
// others. judge() examines one suspect (a worker or a stage) with the help of Scenario. It computes
// the step in two cases: only the suspect has ideal times, or everything except the suspect has
// ideal times. name_culprit() then decides which suspect, if any, explains most of the lost time.
#include "weft/sim/stragglers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "weft/base/parallel.h"
#include "weft/sim/replay.h"

namespace weft::sim {
namespace {

using graph::EdgeId;
using graph::Graph;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;

bool moves_data(OpKind kind) {
  return kind == OpKind::kTransfer || kind == OpKind::kPush || kind == OpKind::kPull;
}

Nanos rounded_mean(Nanos sum, std::int64_t count) { return (sum + count / 2) / count; }

Nanos median(std::vector<Nanos>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return rounded_mean(*std::max_element(values.begin(), middle) + *middle, 2);
}

/// Returns a class for each lane. Lanes with the same class do the same work on different ranks.
/// Streams are matched by their number. A thread id means nothing in another process, so the
/// busiest host threads of all ranks are matched, then the second busiest ones, and so on. Each
/// link has a separate class.
std::vector<std::uint32_t> lane_classes(const Graph& graph) {
  std::vector<std::size_t> ops_on(graph.lanes.size());
  for (graph::LaneId lane : graph.ops.lane) ++ops_on[lane];
  std::vector<graph::LaneId> order(graph.lanes.size());
  for (graph::LaneId i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](graph::LaneId a, graph::LaneId b) { return ops_on[a] > ops_on[b]; });
  std::map<std::int32_t, int> threads_seen;
  std::map<std::pair<graph::LaneKind, std::string>, std::uint32_t> classes;
  std::vector<std::uint32_t> out(graph.lanes.size());
  for (graph::LaneId id : order) {
    const graph::Lane& lane = graph.lanes[id];
    std::string name = lane.name;
    if (lane.rank >= 0 && lane.kind == graph::LaneKind::kHost) {
      name = std::to_string(threads_seen[lane.rank]++);
    } else if (lane.rank >= 0) {
      name = name.substr(name.find('/') + 1);  // "r2/stream 7" becomes "stream 7"
    }
    const auto next = static_cast<std::uint32_t>(classes.size());
    out[id] = classes.try_emplace({lane.kind, std::move(name)}, next).first->second;
  }
  return out;
}

/// Hash of a key that consists of several integers. Every op and edge needs several lookups, so a
/// hash table is used instead of a std::map.
struct TupleHash {
  template <std::size_t n>
  std::size_t operator()(const std::array<std::uint32_t, n>& key) const {
    std::uint64_t hash = 0;
    for (std::uint32_t part : key) hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};
template <std::size_t n, class Value>
using TupleMap = std::unordered_map<std::array<std::uint32_t, n>, Value, TupleHash>;

/// Returns the peer group of each op. Groups are numbered from 0, in the order of their first op.
std::vector<std::uint32_t> peer_groups(const Graph& graph, PeerRule rule) {
  TupleMap<5, std::uint32_t> groups;
  // position[{name, kind, step, lane}]: the number of such ops so far. If n such ops came before an
  // op, the op is number n of its name on its lane.
  TupleMap<4, std::uint32_t> position;
  std::vector<std::uint32_t> out(graph.size());
  std::vector<std::uint32_t> classes;
  if (rule == PeerRule::kSamePosition) classes = lane_classes(graph);
  for (OpId op = 0; op < graph.size(); ++op) {
    const auto kind = static_cast<std::uint32_t>(graph.ops.kind[op]);
    std::array<std::uint32_t, 5> key{graph.ops.name[op], kind, 0, 0, 0};
    if (rule != PeerRule::kSameName) {
      const graph::LaneId lane = graph.ops.lane[op];
      const auto step = static_cast<std::uint32_t>(graph.ops.step[op]);
      const std::uint32_t nth = position[{graph.ops.name[op], kind, step, lane}]++;
      key = rule == PeerRule::kSamePosition
                ? std::array{graph.ops.name[op], kind, step, classes[lane], nth}
                : std::array{graph.ops.name[op], kind, 0u, lane, nth};
    }
    out[op] = groups.try_emplace(key, static_cast<std::uint32_t>(groups.size())).first->second;
  }
  return out;
}

/// Returns the ranks of an op: the rank of its lane or, for a transfer, the ranks of all members.
std::vector<std::int32_t> ranks_of(const Graph& graph, OpId op) {
  const std::uint32_t collective = graph.ops.collective[op];
  if (!moves_data(graph.ops.kind[op]) || collective == kNoId) return {graph.rank(op)};
  std::vector<std::int32_t> ranks;
  for (OpId arrival : graph.collectives[collective].arrivals) ranks.push_back(graph.rank(arrival));
  return ranks;
}

/// Says which transfers belong to a set of ranks.
enum class Extent {
  kOwn,        ///< transfers whose members are all in the set
  kWithLinks,  ///< transfers with at least one member in the set
};

/// Returns one entry per op: true if it belongs to the given ranks (sorted).
std::vector<bool> ops_of(const Graph& graph, const std::vector<std::int32_t>& ranks,
                         Extent extent) {
  const auto in = [&](std::int32_t rank) {
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  };
  const auto member = [&](OpId arrival) { return in(graph.rank(arrival)); };
  std::vector<bool> out(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::uint32_t c = graph.ops.collective[op];
    if (!moves_data(graph.ops.kind[op]) || c == kNoId) {
      out[op] = in(graph.rank(op));
      continue;
    }
    const std::vector<OpId>& arrivals = graph.collectives[c].arrivals;
    out[op] = extent == Extent::kOwn
                  ? !arrivals.empty() && std::all_of(arrivals.begin(), arrivals.end(), member)
                  : std::any_of(arrivals.begin(), arrivals.end(), member);
  }
  return out;
}

/// Replays the job with ideal times for a chosen set of ops. Every replay starts from a copy of
/// `base_`, so that suspects can be judged in parallel.
class Scenario {
 public:
  Scenario(const Graph& graph, const IdealTimes& ideal, const StragglerOptions& options)
      : graph_(graph), ideal_(ideal), keep_delays_(options.keep_delays), base_(graph) {
    if (!keep_delays_) {
      for (EdgeId e = 0; e < graph.edges.size(); ++e) base_.set_delay(e, 0);
    }
  }

  /// Returns the time of every step if the ops in `is_ideal`, and the gaps before them, had ideal
  /// times.
  std::vector<Nanos> steps_if(const std::vector<bool>& is_ideal) const {
    Replay replay = base_;
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (!is_ideal[op]) continue;
      replay.set_duration(op, ideal_.duration[op]);
      if (!keep_delays_) continue;
      for (EdgeId e = graph_.first_edge[op]; e < graph_.first_edge[op + 1]; ++e) {
        replay.set_delay(e, ideal_.delay[e]);
      }
    }
    replay.run();
    return step_times(graph_, replay.starts(), replay.ends());
  }

  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  const IdealTimes& ideal_;
  bool keep_delays_;
  Replay base_;
};

Nanos mean(const std::vector<Nanos>& times) {
  Nanos sum = 0;
  for (Nanos t : times) sum += t;
  return rounded_mean(sum, static_cast<std::int64_t>(times.size()));
}

std::vector<graph::Worker> workers_of(const Graph& graph, const StragglerOptions& options) {
  std::vector<graph::Worker> workers = options.workers;
  if (workers.empty()) {
    std::set<std::int32_t> ranks;
    for (const graph::Lane& lane : graph.lanes) {
      if (lane.rank >= 0) ranks.insert(lane.rank);
    }
    for (std::int32_t rank : ranks) workers.push_back({rank, rank, 0});
  }
  std::sort(workers.begin(), workers.end(),
            [](const graph::Worker& a, const graph::Worker& b) { return a.rank < b.rank; });
  return workers;
}

/// Keeps the `most` workers with the largest excess. The excess of a worker is its recorded minus
/// its ideal time, summed over its ops and the transfers in which it takes part.
void keep_most_suspect(const Graph& graph, const IdealTimes& ideal, std::size_t most,
                       std::vector<graph::Worker>& workers) {
  if (workers.size() <= most) return;
  std::unordered_map<std::int32_t, Nanos> excess;
  for (OpId op = 0; op < graph.size(); ++op) {
    const Nanos more = graph.ops.duration[op] - ideal.duration[op];
    for (std::int32_t rank : ranks_of(graph, op)) excess[rank] += more;
  }
  std::stable_sort(workers.begin(), workers.end(),
                   [&](const graph::Worker& a, const graph::Worker& b) {
                     return excess[a.rank] > excess[b.rank];
                   });
  workers.resize(most);
}

/// A worker or a stage that may be the culprit.
struct Suspect {
  Blame blame;
  std::vector<std::int32_t> ranks;  ///< sorted
};

/// Fills suspect.blame by three replays.
void judge(const Scenario& scenario, const StragglerReport& report, Suspect& suspect) {
  Blame& blame = suspect.blame;
  std::vector<bool> own = ops_of(scenario.graph(), suspect.ranks, Extent::kOwn);
  blame.step_without = mean(scenario.steps_if(own));
  blame.step_without_with_links =
      mean(scenario.steps_if(ops_of(scenario.graph(), suspect.ranks, Extent::kWithLinks)));
  own.flip();
  blame.step_alone = mean(scenario.steps_if(own));
  const auto lost = static_cast<double>(report.simulated_step - report.ideal_step);
  if (lost == 0) return;
  blame.share = static_cast<double>(report.simulated_step - blame.step_without) / lost;
  blame.share_with_links =
      static_cast<double>(report.simulated_step - blame.step_without_with_links) / lost;
}

/// Returns the suspects that are stages if `stages` is true, otherwise those that are workers. The
/// suspect with the largest share comes first.
std::vector<Blame> ranked(const std::vector<Suspect>& suspects, bool stages) {
  std::vector<Blame> out;
  for (const Suspect& s : suspects) {
    if ((s.blame.rank < 0) == stages) out.push_back(s.blame);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Blame& a, const Blame& b) { return a.step_without < b.step_without; });
  return out;
}

void name_culprit(StragglerReport& report, const StragglerOptions& options,
                  std::size_t most_replicas) {
  if (report.slowdown < 1 + options.noticeable) return;
  const auto explains_most = [&](const std::vector<Blame>& list) {
    return !list.empty() && list.front().share >= options.majority;
  };
  const auto name = [&](CulpritKind kind, const Blame& blame) {
    report.culprit = kind;
    report.culprit_rank = blame.rank;
    report.culprit_replica = blame.replica;
    report.culprit_stage = blame.stage;
  };
  // One slow worker also makes its stage slow, so workers are examined before stages. If every
  // stage has one worker, the two cannot be told apart. Then the stage is named, because an uneven
  // cut of the model is more likely.
  if (explains_most(report.workers) && (report.stages.empty() || most_replicas > 1)) {
    return name(CulpritKind::kWorker, report.workers.front());
  }
  if (explains_most(report.stages)) return name(CulpritKind::kStage, report.stages.front());
  // A bad link makes the workers at both of its ends look slow. The cause is one worker's network
  // port only if the share of this worker is clearly above that of every other worker.
  const auto stands_out = [&](std::vector<Blame> list) -> const Blame* {
    std::stable_sort(list.begin(), list.end(), [](const Blame& a, const Blame& b) {
      return a.share_with_links > b.share_with_links;
    });
    if (list.size() < 2 || list[0].share_with_links < options.majority ||
        list[1].share_with_links > list[0].share_with_links - options.majority / 2) {
      return nullptr;
    }
    return &*std::find_if(report.workers.begin(), report.workers.end(),
                          [&](const Blame& b) { return b.rank == list[0].rank; });
  };
  if (const Blame* port = stands_out(report.workers)) name(CulpritKind::kLinks, *port);
}

}  // namespace

std::vector<Nanos> step_times(const Graph& graph, std::span<const Nanos> starts,
                              std::span<const Nanos> ends) {
  constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
  std::vector<Nanos> last(graph.steps.size(), kNever);  // last[step index]: latest end of its ops
  Nanos first = std::numeric_limits<Nanos>::max();
  // The index of the previous op's step. Most ops have the same step as the op before them.
  std::size_t at = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::int64_t step = graph.ops.step[op];
    if (step < 0) continue;
    if (at >= graph.steps.size() || graph.steps[at] != step) {
      at = static_cast<std::size_t>(std::lower_bound(graph.steps.begin(), graph.steps.end(), step) -
                                    graph.steps.begin());
    }
    last[at] = std::max(last[at], ends[op]);
    if (at == 0) first = std::min(first, starts[op]);
  }
  std::vector<Nanos> times(graph.steps.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (last[i] == kNever) continue;
    const Nanos begin = i == 0 ? first : last[i - 1];
    times[i] = std::max<Nanos>(last[i] - begin, 0);
    // A step may end before the step before it does. Then the next step begins at the later of the
    // two ends.
    if (i > 0) last[i] = std::max(last[i], last[i - 1]);
  }
  return times;
}

namespace {

/// Ranks run the same program if at least this share of their ops has a peer on every rank.
constexpr double kSameProgram = 0.8;

/// Returns one entry per op: true if fewer than half of the ranks have the op although the ranks
/// run the same program. Examples are logging and checkpoints of one rank. `group` has the peer
/// group of every op.
std::vector<bool> extra_work(const Graph& graph, const std::vector<std::uint32_t>& group,
                             std::size_t groups) {
  std::set<std::int32_t> ranks;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.rank >= 0) ranks.insert(lane.rank);
  }
  std::vector<std::size_t> members(groups);
  std::size_t own = 0, everywhere = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.rank(op) >= 0) ++members[group[op]];
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.rank(op) < 0) continue;
    ++own;
    if (members[group[op]] == ranks.size()) ++everywhere;
  }
  std::vector<bool> extra(graph.size());
  if (static_cast<double>(everywhere) < kSameProgram * static_cast<double>(own)) return extra;
  for (OpId op = 0; op < graph.size(); ++op) {
    const OpKind kind = graph.ops.kind[op];
    const bool local = graph.rank(op) >= 0 && kind != OpKind::kArrive && !moves_data(kind);
    // The recording begins at a different op on every rank. So ops before the first step never
    // count as extra work.
    extra[op] = local && graph.ops.step[op] >= 0 && 2 * members[group[op]] < ranks.size();
  }
  return extra;
}

/// With two ranks, the longer of two times is a delay if it is this many times as long as the
/// other. Work that is only somewhat longer may be more work, which even input would divide between
/// both ranks. A pause does not depend on the amount of work.
constexpr Nanos kLongWork = 10;
constexpr Nanos kLongPause = 2;
/// Differences below this are noise.
constexpr Nanos kLeastDelay = 100 * kMicrosecond;

/// The usual time of two peers. It is their mean, unless one of them has a clear delay: two ranks
/// have no majority, and with the mean, a rank that sleeps would be charged only half of its sleep.
Nanos usual_of_two(Nanos a, Nanos b, Nanos factor) {
  const auto [shorter, longer] = std::minmax(a, b);
  const bool delayed = longer - shorter >= kLeastDelay && longer / factor >= shorter;
  return delayed ? shorter : rounded_mean(a + b, 2);
}

}  // namespace

IdealTimes ideal_times(const Graph& graph, const StragglerOptions& options) {
  const std::vector<std::uint32_t> group = peer_groups(graph, options.peers);
  const std::size_t groups =
      group.empty() ? 0 : *std::max_element(group.begin(), group.end()) + std::size_t{1};
  std::vector<std::vector<Nanos>> durations(groups);
  for (OpId op = 0; op < graph.size(); ++op) {
    durations[group[op]].push_back(graph.ops.duration[op]);
  }
  // With all rules except kSameName, a group is small. One peer that sleeps would distort the mean
  // of a small group, so the median is used instead.
  const bool robust = options.peers != PeerRule::kSameName;
  // Work before the first step is different for each rank: ranks start at different times.
  const auto usual = [&](std::vector<Nanos>& peers, Nanos factor, std::int32_t step) {
    const bool pair = options.peers == PeerRule::kSamePosition && peers.size() == 2 && step >= 0;
    return pair ? usual_of_two(peers[0], peers[1], factor) : median(peers);
  };
  std::vector<Nanos> typical(groups, -1);
  IdealTimes ideal;
  ideal.duration.resize(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    Nanos& value = typical[group[op]];
    if (value < 0) {
      std::vector<Nanos>& peers = durations[group[op]];
      value = robust || moves_data(graph.ops.kind[op]) ? usual(peers, kLongWork, graph.ops.step[op])
                                                       : mean(peers);
    }
    ideal.duration[op] = value;
  }
  std::vector<bool> extra(graph.size());
  if (options.peers == PeerRule::kSamePosition) extra = extra_work(graph, group, groups);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (extra[op]) ideal.duration[op] = 0;
  }

  ideal.delay.assign(graph.edges.size(), 0);
  if (!options.keep_delays) return ideal;
  // Two edges are peers if their sources are peers, their destinations are peers, and their kinds
  // are equal.
  TupleMap<3, std::vector<Nanos>> delays;
  const auto for_each_edge = [&](auto visit) {
    for (OpId op = 0; op < graph.size(); ++op) {
      for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
        const graph::Edge& edge = graph.edges[e];
        visit(e, delays[{group[edge.source], group[op], static_cast<std::uint32_t>(edge.kind)}]);
      }
    }
  };
  for_each_edge(
      [&](EdgeId e, std::vector<Nanos>& peers) { peers.push_back(graph.edges[e].delay); });
  for_each_edge([&](EdgeId e, std::vector<Nanos>& peers) {
    // The first visit of a group replaces its values by their mean or median. Later visits find
    // only this one value.
    const std::int32_t step = graph.ops.step[graph.edges[e].source];
    if (peers.size() > 1) peers.assign(1, robust ? usual(peers, kLongPause, step) : mean(peers));
    ideal.delay[e] = peers.front();
  });
  for (OpId op = 0; op < graph.size(); ++op) {
    if (!extra[op]) continue;
    for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) ideal.delay[e] = 0;
  }
  return ideal;
}

std::vector<bool> own_work(const Graph& graph, const std::vector<std::int32_t>& ranks) {
  return ops_of(graph, ranks, Extent::kOwn);
}

Graph without_stragglers(const Graph& graph, const StragglerOptions& options) {
  IdealTimes ideal = ideal_times(graph, options);
  Graph out = graph;
  out.ops.duration = std::move(ideal.duration);
  for (EdgeId e = 0; e < out.edges.size(); ++e) out.edges[e].delay = ideal.delay[e];
  return out;
}

Result<StragglerReport> analyse_stragglers(const Graph& graph, const StragglerOptions& options) {
  if (graph.steps.empty() || graph.size() == 0) {
    return fail(
        ErrorCode::kUsage,
        "stragglers can only be found in complete steps, but the recording has none; record "
        "at least one complete step");
  }
  const IdealTimes ideal = ideal_times(graph, options);
  const Scenario scenario(graph, ideal, options);
  StragglerReport report;
  report.simulated_steps = scenario.steps_if(std::vector<bool>(graph.size(), false));
  report.ideal_steps = scenario.steps_if(std::vector<bool>(graph.size(), true));
  report.simulated_step = mean(report.simulated_steps);
  report.ideal_step = mean(report.ideal_steps);
  if (report.ideal_step > 0) {
    report.slowdown =
        static_cast<double>(report.simulated_step) / static_cast<double>(report.ideal_step);
  }

  std::vector<graph::Worker> workers = workers_of(graph, options);
  std::map<std::int32_t, std::vector<std::int32_t>> stages;
  std::size_t most_replicas = 0;
  for (const graph::Worker& w : workers) {
    stages[w.stage].push_back(w.rank);
    most_replicas = std::max(most_replicas, stages[w.stage].size());
  }
  keep_most_suspect(graph, ideal, options.most_workers, workers);
  std::vector<Suspect> suspects;
  for (const graph::Worker& w : workers) {
    Suspect suspect;
    suspect.blame.rank = w.rank;
    suspect.blame.stage = w.stage;
    suspect.blame.replica = w.replica;
    suspect.ranks = {w.rank};
    suspects.push_back(std::move(suspect));
  }
  if (stages.size() > 1) {
    for (const auto& [stage, ranks] : stages) {
      Suspect suspect;
      suspect.blame.stage = stage;
      suspect.ranks = ranks;
      suspects.push_back(std::move(suspect));
    }
  }
  parallel_for(suspects.size(), [&](std::size_t i) { judge(scenario, report, suspects[i]); });
  report.workers = ranked(suspects, false);
  report.stages = ranked(suspects, true);
  name_culprit(report, options, most_replicas);
  return report;
}

}  // namespace weft::sim
