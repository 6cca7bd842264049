// SPDX-License-Identifier: Apache-2.0
// Joins all-reduces into packs. For each step and group, fill() sorts the all-reduces in program
// order and divides them into packs. join() then turns the transfer of the first member into the
// transfer of the pack. This transfer gets the arrivals of all members and the out-edges of all
// their transfers. The other transfers are removed. Ops that ran between two members are the
// difficult part. They started before the pack ends, so they cannot wait for it. Their edges from
// the members are dropped.
#include "weft/predict/packs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "weft/predict/launch_order.h"

namespace weft::predict {
namespace {

using graph::Edge;
using graph::EdgeKind;
using graph::OpId;

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(ErrorCode::kUsage,
              "allreduce.pack_mb cannot be answered from this recording: " + why);
}

using Pack = std::vector<std::uint32_t>;  ///< indices into Graph::collectives

class PackJoiner {
 public:
  PackJoiner(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links)
      : graph_(graph), cap_(cap), links_(links), order_(graph) {}

  Result<graph::Edit> run() {
    fill_sizes();
    std::map<std::tuple<std::int32_t, std::string, std::int32_t>, Pack> by_step;
    for (std::uint32_t c = 0; c < graph_.collectives.size(); ++c) {
      const graph::Collective& collective = graph_.collectives[c];
      if (collective.kind != graph::CollectiveKind::kAllReduce ||
          collective.transfer == graph::kNoId || step_of(c) < 0) {
        continue;
      }
      if (bytes_[c] < 0) return refuse("it does not contain the sizes of all-reduces");
      by_step[{step_of(c), collective.group, collective.ranks}].push_back(c);
    }
    bool any = false;
    for (auto& [key, all] : by_step) {
      any = any || all.size() > 1;
      for (const Pack& pack : fill(all)) {
        if (pack.size() > 1) WEFT_TRY(join(pack));
      }
    }
    if (!any) {
      return refuse("no step has two all-reduces that could be joined; record with smaller packs");
    }
    return std::move(edit_);
  }

 private:
  /// Fills in unknown sizes. If the size of an all-reduce was not recorded, uses the size of the
  /// all-reduce with the same group and sequence number in another step.
  void fill_sizes() {
    std::map<std::pair<std::string, std::int64_t>, Bytes> known;
    for (const graph::Collective& c : graph_.collectives) {
      if (c.bytes >= 0 && c.sequence >= 0) known[{c.group, c.sequence}] = c.bytes;
    }
    for (const graph::Collective& c : graph_.collectives) {
      const auto like = known.find({c.group, c.sequence});
      bytes_.push_back(c.bytes >= 0 || like == known.end() ? c.bytes : like->second);
    }
  }

  std::int32_t step_of(std::uint32_t c) const {
    return graph_.ops.step[graph_.collectives[c].transfer];
  }
  /// Returns the recorded time at which the last member of the collective arrived.
  Nanos last_arrival(std::uint32_t c) const {
    Nanos last = 0;
    for (const OpId arrival : graph_.collectives[c].arrivals) {
      last = std::max(last, graph_.ops.recorded_start[arrival]);
    }
    return last;
  }

  std::vector<Pack> fill(Pack& all) const {
    std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple{graph_.collectives[a].sequence, last_arrival(a), a} <
             std::tuple{graph_.collectives[b].sequence, last_arrival(b), b};
    });
    std::vector<Pack> packs;
    Bytes filled = 0;
    for (const std::uint32_t c : all) {
      if (packs.empty() || filled > cap_) {
        packs.emplace_back();
        filled = 0;
      }
      packs.back().push_back(c);
      filled += bytes_[c];
    }
    return packs;
  }

  /// Joins the members of one pack into the first of them.
  Status join(const Pack& pack) {
    graph::Collective joined = graph_.collectives[pack.front()];
    Nanos all_arrived = 0;
    joined.bytes = 0;
    std::set<OpId> own;  // arrivals and transfers of all members
    for (const std::uint32_t c : pack) {
      const graph::Collective& member = graph_.collectives[c];
      all_arrived = std::max(all_arrived, last_arrival(c));
      own.insert(member.arrivals.begin(), member.arrivals.end());
      own.insert(member.transfer);
      joined.bytes += bytes_[c];
      if (c == pack.front()) continue;
      joined.arrivals.insert(joined.arrivals.end(), member.arrivals.begin(), member.arrivals.end());
    }
    // A line fitted to the recorded sizes must not be extrapolated here: larger all-reduces may
    // take more time per byte (docs/design/prediction.md).
    if (!links_.has_table(joined.kind, joined.ranks)) {
      return refuse(
          "it contains no all-reduces as large as the joined ones; give a link table with --links");
    }
    const auto estimate = links_.transfer(joined.kind, joined.ranks, joined.bytes);
    const OpId transfer = joined.transfer;
    edit_.durations.emplace_back(transfer, estimate->time);
    // An op that started before all members had arrived cannot wait for the pack. It belongs to
    // other work.
    for (const OutEdge& out : order_.out_edges(transfer)) {
      if (own.contains(out.destination) ||
          graph_.ops.recorded_start[out.destination] < all_arrived) {
        edit_.removed_edges.push_back(out.edge);
      }
    }
    for (const std::uint32_t c : pack) {
      if (c == pack.front()) continue;
      const graph::Collective& member = graph_.collectives[c];
      for (const OpId arrival : member.arrivals) {
        edit_.edges.push_back({arrival, transfer, EdgeKind::kCollective, 0, false});
      }
      for (const OutEdge& out : order_.out_edges(member.transfer)) {
        if (own.contains(out.destination) ||
            graph_.ops.recorded_start[out.destination] < all_arrived) {
          continue;
        }
        const Edge& edge = graph_.edges[out.edge];
        edit_.edges.push_back({transfer, out.destination, edge.kind, edge.delay, edge.inferred});
      }
      edit_.removed_ops.push_back(member.transfer);
      graph::Collective empty = member;
      empty.transfer = graph::kNoId;
      empty.arrivals.clear();
      edit_.collectives.push_back({c, std::move(empty)});
    }
    edit_.collectives.push_back({pack.front(), std::move(joined)});
    return {};
  }

  const graph::Graph& graph_;
  const Bytes cap_;
  const cost::LinkModel& links_;
  const LaunchOrder order_;
  graph::Edit edit_;
  std::vector<Bytes> bytes_;  ///< bytes_[collective]: its size; -1 if unknown
};

}  // namespace

Result<graph::Edit> join_packs(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links) {
  return PackJoiner(graph, cap, links).run();
}

}  // namespace weft::predict
