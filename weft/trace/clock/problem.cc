// SPDX-License-Identifier: Apache-2.0
// First guess of the offsets: the ranks are the nodes of a graph. An edge joins two ranks that
// share matches. Its offset is the median difference of the ends in these matches. Less exact facts
// add edges of lower priority: transfers, exchanges with the same servers, a common host. A maximum
// spanning tree (by number of shared matches) then gives each rank an offset. The guess may be
// rough. It must only be good enough for the precision of doubles and for the robust weights of the
// fit.
//
// Observations, with their weight in the fit:
//   * matches: the ends of members agree up to a jitter that the fit estimates;
//   * clock ties: exact bounds from transfers, never outliers;
//   * hosts: the ranks of one host agree within 100 us, unless other observations outweigh this;
//   * exchanges with servers: they only say that clocks are roughly right.
#include "weft/trace/clock/problem.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "weft/base/median.h"

namespace weft::trace {
namespace {

// In ns. After the profilers have converted device times, the clocks of the ranks on one host still
// differ by tens of microseconds.
constexpr double kHostJitter = 100e3;
// If the exchanges of two ranks with a server end further apart than this, the clocks of the ranks
// differ. A smaller distance may have another cause: the server answers one rank after the other.
constexpr Nanos kFarApart = kSecond;
constexpr double kLeastApart = 1e6;  // ns; least uncertainty if two ranks share only exchanges
// In ns. The time stamps of a transfer are taken around its call, so no tie is more exact than
// this.
constexpr double kLeastTie = 1e3;

Nanos end_of(const Run& run, const Member& m) {
  return run.ranks[m.rank].events.end(m.event) + (run.ranks[m.rank].epoch - run.ranks[0].epoch);
}

using RankPair = std::pair<std::uint32_t, std::uint32_t>;

// Exchanges with parameter servers are special: a server answers one worker after another, so the
// members do not end together.
bool is_exchange(const Match& match) { return match.kind == CollectiveKind::kPushPull; }

// For each pair of ranks that share matches: the differences of their ends (first minus second).
// `exchanges` selects exchanges with servers, or all other matches. Lists only pairs that contain
// the first member of a match, so the cost is linear in members.
std::map<RankPair, std::vector<Nanos>> differences(const Run& run,
                                                   const std::vector<Match>& matches,
                                                   bool exchanges) {
  std::map<RankPair, std::vector<Nanos>> result;
  for (const Match& match : matches) {
    if (is_exchange(match) != exchanges) continue;
    for (std::size_t k = 1; k < match.members.size(); ++k) {
      Member a = match.members[0];
      Member b = match.members[k];
      if (a.rank > b.rank) std::swap(a, b);
      if (a.rank != b.rank) result[{a.rank, b.rank}].push_back(end_of(run, a) - end_of(run, b));
    }
  }
  return result;
}

// Sets guess, tied and fixed. Each rank takes its guess from the neighbour with which it shares
// most matches (Prim's algorithm). The root of each connected component is a fixed clock.
void guess_offsets(const Run& run, const std::vector<Match>& matches,
                   const std::vector<ClockTie>& ties, ClockObservations& out) {
  const std::size_t ranks = run.ranks.size();
  std::vector<std::vector<std::tuple<std::size_t, std::uint32_t, Nanos>>> edges(ranks);
  for (auto& [pair, list] : differences(run, matches, false)) {
    const Nanos add_to_second = median(list);
    edges[pair.first].emplace_back(list.size(), pair.second, add_to_second);
    edges[pair.second].emplace_back(list.size(), pair.first, -add_to_second);
  }
  // Priority 1: transfers between two ranks. They matter for ranks that share no match.
  std::map<RankPair, std::vector<Nanos>> tied;
  for (const ClockTie& tie : ties) tied[{tie.first, tie.second}].push_back(tie.middle());
  for (auto& [pair, list] : tied) {
    const Nanos add_to_second = median(list);
    edges[pair.first].emplace_back(1, pair.second, add_to_second);
    edges[pair.second].emplace_back(1, pair.first, -add_to_second);
  }
  // Priority 0: ranks that only exchange data with the same servers. Unless their clocks are far
  // apart, they are assumed to agree.
  for (auto& [pair, list] : differences(run, matches, true)) {
    const Nanos apart = median(list);
    const Nanos add_to_second = std::abs(apart) < kFarApart ? 0 : apart;
    edges[pair.first].emplace_back(0, pair.second, add_to_second);
    edges[pair.second].emplace_back(0, pair.first, -add_to_second);
    out.exchanged.push_back({pair.first, pair.second, std::abs(apart - add_to_second)});
  }
  // Priority 0, too: ranks of one host that share no match. Their clocks are assumed to agree.
  std::map<std::string, std::uint32_t> first_on_host;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (run.ranks[r].host.empty()) continue;
    auto [at, fresh] = first_on_host.emplace(run.ranks[r].host, r);
    if (fresh) continue;
    edges[r].emplace_back(0, at->second, 0);
    edges[at->second].emplace_back(0, r, 0);
  }
  std::vector<bool> seen(ranks, false);
  out.guess.assign(ranks, 0);
  out.tied.assign(ranks, false);
  out.problem.fixed.assign(ranks, false);
  for (std::uint32_t root = 0; root < ranks; ++root) {
    if (seen[root]) continue;
    out.problem.fixed[root] = true;
    // Ordered by shared matches, then by rank, so that the tree is deterministic.
    using Edge = std::tuple<std::size_t, std::int64_t, std::uint32_t, Nanos>;
    std::priority_queue<Edge> queue;
    queue.emplace(std::numeric_limits<std::size_t>::max(), 0, root, 0);
    while (!queue.empty()) {
      const auto [meetings, order, rank, guess] = queue.top();
      queue.pop();
      if (seen[rank]) continue;
      seen[rank] = true;
      out.guess[rank] = guess;
      out.tied[rank] = root == 0;
      for (const auto& [count, other, add] : edges[rank]) {
        if (!seen[other])
          queue.emplace(count, -static_cast<std::int64_t>(other), other, guess + add);
      }
    }
  }
}

// Whether all members of a collective of this kind end at the same time. In other kinds, some
// members may leave before all members have the data: the root of a broadcast, the leaves of a
// reduce.
bool ends_together(CollectiveKind kind) {
  return kind != CollectiveKind::kBroadcast && kind != CollectiveKind::kReduce &&
         kind != CollectiveKind::kGather && kind != CollectiveKind::kScatter;
}

// The key of a noise class. Calls of equal kind, group and size repeat in every step at the same
// places, so other work disturbs all of them by about the same amount.
using NoiseKey = std::tuple<CollectiveKind, std::string, Bytes, bool>;
NoiseKey noise_key(const Match& match) {
  return {match.kind, match.group, match.bytes, match.bytes_back != 0};
}

class Builder {
 public:
  Builder(const Run& run, ClockObservations& out) : run_(run), out_(out) {}

  void add(const Match& match) {
    if (match.members.size() < 2 || is_exchange(match)) return;
    const auto noise =
        noises_.emplace(noise_key(match), static_cast<std::uint32_t>(noises_.size()));
    ClockObservation o;
    o.first = static_cast<std::uint32_t>(out_.problem.samples.size());
    o.count = static_cast<std::uint32_t>(match.members.size());
    o.noise = noise.first->second;
    std::vector<Member> members = match.members;
    // The members of such a collective need not end together. So they get a large jitter, and count
    // only if there are no better observations.
    if (!ends_together(match.kind)) o.scale = kHostJitter * 10;
    if (match.is_message()) describe_message(match, members, o);
    for (const Member& m : members) {
      add_sample(m.rank, end_of(run_, m), run_.ranks[m.rank].events.duration[m.event]);
    }
    out_.problem.observations.push_back(o);
  }

  /// Adds an observation that pulls the clocks towards the middle of the tie's bounds. The bounds
  /// are two standard deviations away from the middle.
  void add(const ClockTie& tie) {
    ClockObservation o;
    o.first = static_cast<std::uint32_t>(out_.problem.samples.size());
    o.count = 2;
    o.scale = std::max(kLeastTie, static_cast<double>(tie.high - tie.low) / 4);
    o.hard = true;
    const Nanos at = tie.at - run_.ranks[0].epoch;
    add_sample(tie.first, at, 0);
    add_sample(tie.second, at - tie.middle(), 0);
    out_.problem.observations.push_back(o);
  }

  /// Adds observations that the ranks of one host agree, up to kHostJitter.
  void add_hosts() {
    std::map<std::string, std::vector<std::uint32_t>> hosts;
    for (std::uint32_t r = 0; r < run_.ranks.size(); ++r) {
      if (!run_.ranks[r].host.empty()) hosts[run_.ranks[r].host].push_back(r);
    }
    for (const auto& [host, ranks] : hosts) {
      if (ranks.size() < 2) continue;
      ClockObservation o;
      o.first = static_cast<std::uint32_t>(out_.problem.samples.size());
      o.count = static_cast<std::uint32_t>(ranks.size());
      o.scale = kHostJitter;
      for (const std::uint32_t r : ranks) {
        ClockSample s;
        s.clock = r;
        s.end = static_cast<double>(out_.guess[r]);
        out_.problem.samples.push_back(s);
        out_.duration.push_back(0);
      }
      out_.problem.observations.push_back(o);
    }
  }

  /// If only exchanges with servers connect two clocks, the clocks keep the offset of the first
  /// guess. As the uncertainty of this offset, takes the time by which the ends of the two ranks'
  /// exchanges differ.
  void add_exchanges() {
    for (const auto& [first, second, apart] : out_.exchanged) {
      ClockObservation o;
      o.first = static_cast<std::uint32_t>(out_.problem.samples.size());
      o.count = 2;
      o.scale = std::max(kLeastApart, static_cast<double>(apart));
      for (const std::uint32_t r : {first, second}) {
        ClockSample s;
        s.clock = r;
        s.end = 0;
        out_.problem.samples.push_back(s);
        out_.duration.push_back(0);
      }
      out_.problem.observations.push_back(o);
    }
  }

  void finish() {
    out_.problem.noises = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(noises_.size()));
    out_.problem.pairs = static_cast<std::uint32_t>(pairs_.size());
  }

 private:
  void add_sample(std::uint32_t rank, Nanos end, Nanos duration) {
    ClockSample s;
    s.clock = rank;
    s.end = static_cast<double>(end + out_.guess[rank] - out_.origin);
    s.place = s.end / out_.half_span;
    out_.problem.samples.push_back(s);
    out_.duration.push_back(static_cast<double>(duration));
  }

  // Sets the lag of a message. If the messages go in one direction only, the receive ends after the
  // send. If the same two kernels send in the two directions, the member that arrived last finds
  // its data waiting and ends first. Its kernel is shorter than the kernel of the other member, and
  // the difference grows with the waiting time of the other member. So the durations show which
  // member ended first, without comparing clocks.
  void describe_message(const Match& match, std::vector<Member>& members, ClockObservation& o) {
    if (members[0].rank > members[1].rank) std::swap(members[0], members[1]);
    const auto pair = std::tuple(members[0].rank, members[1].rank, match.bytes_back != 0);
    o.pair = static_cast<std::int32_t>(
        pairs_.emplace(pair, static_cast<std::uint32_t>(pairs_.size())).first->second);
    if (match.bytes_back == 0) {
      o.one_way = true;
      o.lag = members[0] == match.members[1] ? 1 : -1;
      return;
    }
    auto duration = [&](const Member& m) {
      return static_cast<double>(run_.ranks[m.rank].events.duration[m.event]);
    };
    const double a = duration(members[0]);
    const double b = duration(members[1]);
    o.lag = std::clamp((a - b) / std::max(1.0, std::min(a, b)), -1.0, 1.0);
  }

  const Run& run_;
  ClockObservations& out_;
  std::map<NoiseKey, std::uint32_t> noises_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> pairs_;
};

}  // namespace

ClockObservations observe_clocks(const Run& run, const std::vector<Match>& matches,
                                 const std::vector<ClockTie>& ties) {
  ClockObservations out;
  out.problem.clocks = static_cast<std::uint32_t>(run.ranks.size());
  out.problem.with_rate.assign(run.ranks.size(), false);
  guess_offsets(run, matches, ties, out);
  Nanos first = std::numeric_limits<Nanos>::max();
  Nanos last = std::numeric_limits<Nanos>::min();
  for (const Match& match : matches) {
    if (match.members.size() < 2) continue;
    for (const Member& m : match.members) {
      const Nanos end = end_of(run, m) + out.guess[m.rank];
      first = std::min(first, end);
      last = std::max(last, end);
    }
  }
  for (const ClockTie& tie : ties) {
    const Nanos at = tie.at - run.ranks[0].epoch + out.guess[tie.first];
    first = std::min(first, at);
    last = std::max(last, at);
  }
  if (first <= last) {
    out.origin = first + (last - first) / 2;
    out.half_span = std::max(1.0, static_cast<double>(last - first) / 2);
  }
  Builder builder(run, out);
  for (const Match& match : matches) builder.add(match);
  for (const ClockTie& tie : ties) builder.add(tie);
  builder.add_hosts();
  builder.add_exchanges();
  builder.finish();
  return out;
}

}  // namespace weft::trace
