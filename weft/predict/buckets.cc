// SPDX-License-Identifier: Apache-2.0
// find() collects the gradients and all-reduces of each step, and finds out which gradients each
// all-reduce carried. Replacement goes through the steps. For every new bucket it adds a launch and
// an arrival per rank, and a transfer. Then it removes the recorded buckets that have no place any
// more. Ops that waited for them wait for new buckets.
#include "weft/predict/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "weft/graph/names.h"
#include "weft/predict/launch_cost.h"

namespace weft::predict {
namespace {

using graph::Edge;
using graph::EdgeId;
using graph::EdgeKind;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;

/// DDP closes its first bucket at this size, so that the first all-reduce starts early.
constexpr Bytes kFirstBucket = 1024 * 1024;

tl::unexpected<Error> cannot_change(const std::string& why) {
  return fail(ErrorCode::kUsage, "the buckets cannot be changed with this recording: " + why);
}

/// A bucket is closed by the gradient with which it reaches the cap. Returns whether this is true
/// of a bucket. The last bucket of a step is closed by the end of the backward pass instead.
bool closes_at(Bytes cap, Bytes bytes, Bytes last_gradient, bool last_bucket) {
  return bytes - last_gradient < cap && (last_bucket || bytes >= cap);
}

}  // namespace

Result<GradientBuckets> GradientBuckets::find(const graph::Graph& graph) {
  GradientBuckets found(graph);
  found.find_gradients();
  found.find_all_reduces();
  std::erase_if(found.steps_, [](const auto& entry) { return entry.second.buckets.empty(); });
  WEFT_TRY(found.check());
  for (auto& [number, step] : found.steps_) found.find_ends(step);
  return found;
}

void GradientBuckets::find_gradients() {
  const graph::Ops& ops = graph_->ops;
  for (OpId op = 0; op < graph_->size(); ++op) {
    if (ops.step[op] < 0 || ops.kind[op] != OpKind::kHost) continue;
    if (graph_->name(op) == graph::kGradientReady) {
      steps_[ops.step[op]].ready[graph_->rank(op)].push_back(op);
    }
  }
  for (auto& [number, step] : steps_) {
    for (auto& [rank, ready] : step.ready) {
      std::sort(ready.begin(), ready.end(),
                [&](OpId a, OpId b) { return ops.recorded_start[a] < ops.recorded_start[b]; });
    }
  }
}

/// An all-reduce carries gradients if two things are true. The thread that runs the backward pass
/// launched it. And the first gradient of the step was ready before this launch. Other all-reduces
/// (of metrics, for example) stay as they are.
void GradientBuckets::find_all_reduces() {
  const graph::Ops& ops = graph_->ops;
  for (std::uint32_t c = 0; c < graph_->collectives.size(); ++c) {
    const graph::Collective& collective = graph_->collectives[c];
    if (collective.kind != graph::CollectiveKind::kAllReduce || collective.transfer == kNoId) {
      continue;
    }
    const auto step = steps_.find(ops.step[collective.transfer]);
    if (step == steps_.end()) continue;
    Bucket bucket{c, 0, {}};
    bool carries_gradients = false;
    for (const OpId arrival : collective.arrivals) {
      const OpId launch = order_.launch_of(arrival);
      const auto ready = step->second.ready.find(graph_->rank(arrival));
      if (launch == kNoId || ready == step->second.ready.end()) continue;
      const OpId first = ready->second.front();
      bucket.members[graph_->rank(arrival)] = {launch, arrival};
      carries_gradients =
          carries_gradients || (ops.lane[launch] == ops.lane[first] &&
                                ops.recorded_start[launch] >= ops.recorded_start[first]);
    }
    if (carries_gradients) step->second.buckets.push_back(std::move(bucket));
  }
  for (auto& [number, step] : steps_) {
    std::sort(step.buckets.begin(), step.buckets.end(), [&](const Bucket& a, const Bucket& b) {
      return ops.recorded_start[a.members.begin()->second.launch] <
             ops.recorded_start[b.members.begin()->second.launch];
    });
  }
}

/// DDP puts gradients into buckets in the order in which they became ready in the first step. Where
/// they become ready in the same order in later steps, their sizes show where each bucket ends.
/// Otherwise a bucket ends with the last gradient before its launch.
void GradientBuckets::find_ends(Step& step) const {
  const auto& [rank, first] = *step.buckets.front().members.begin();
  const std::vector<OpId>& ready = step.ready.at(rank);
  step.exact = ends_from_sizes(step);
  if (step.exact) return;
  std::size_t end = 0;
  for (Bucket& bucket : step.buckets) {
    const auto member = bucket.members.find(rank);
    if (member != bucket.members.end()) {
      const Nanos launched = graph_->ops.recorded_start[member->second.launch];
      while (end < ready.size() && graph_->ops.recorded_start[ready[end]] <= launched) ++end;
    }
    bucket.end = end;
  }
  step.buckets.back().end = ready.size();
}

bool GradientBuckets::ends_from_sizes(Step& step) const {
  const std::vector<OpId>& ready = step.ready.at(step.buckets.front().members.begin()->first);
  Bytes all_ready = 0, all_moved = 0;
  for (const OpId op : ready) all_ready += graph_->ops.bytes[op];
  for (const Bucket& bucket : step.buckets) {
    const Bytes bytes = graph_->collectives[bucket.collective].bytes;
    if (bytes < 0) return false;
    all_moved += bytes;
  }
  if (all_ready <= 0) return false;
  // The ratio is 1, or less if gradients are compressed before they move.
  const double ratio = static_cast<double>(all_moved) / static_cast<double>(all_ready);
  std::size_t end = 0;
  Bytes gathered = 0, moved = 0;
  for (Bucket& bucket : step.buckets) {
    moved += graph_->collectives[bucket.collective].bytes;
    const auto until = std::llround(static_cast<double>(moved) / ratio);
    while (end < ready.size() && gathered < until) gathered += graph_->ops.bytes[ready[end++]];
    if (gathered != until) return false;
    bucket.end = end;
  }
  return end == ready.size();
}

Status GradientBuckets::check() const {
  if (steps_.empty()) {
    return cannot_change(
        "it shows no gradients (AccumulateGrad) followed by all-reduces on the same thread");
  }
  for (const auto& [number, step] : steps_) {
    Bytes moved = 0;
    bool all_known = true;
    for (const Bucket& bucket : step.buckets) {
      const Bytes bytes = graph_->collectives[bucket.collective].bytes;
      all_known = all_known && bytes >= 0;
      moved += bytes;
    }
    for (const auto& [rank, all] : step.ready) {
      Bytes ready = 0;
      for (const OpId op : all) {
        if (graph_->ops.bytes[op] < 0) {
          return cannot_change(
              "it does not contain the sizes of gradients; record with record_shapes=True");
        }
        ready += graph_->ops.bytes[op];
      }
      // If the sizes differ by more than a half, the all-reduces carry something else than these
      // gradients: only a part of them, or their half-precision form.
      if (all_known && (moved > ready + ready / 2 || moved < ready - ready / 2)) {
        return cannot_change(
            fmt::format("{} bytes of gradients became ready, but {} bytes were all-reduced in "
                        "step {}",
                        ready, moved, number));
      }
    }
  }
  return {};
}

std::vector<Bytes> GradientBuckets::gradients() const {
  std::vector<Bytes> sizes;
  const std::int32_t rank = pattern().buckets.front().members.begin()->first;
  for (const OpId op : pattern().ready.at(rank)) sizes.push_back(graph_->ops.bytes[op]);
  return sizes;
}

BucketEnds GradientBuckets::recorded() const {
  BucketEnds ends;
  for (const Bucket& bucket : pattern().buckets) ends.push_back(bucket.end);
  return ends;
}

BucketEnds GradientBuckets::with_caps(const std::vector<Bytes>& caps) const {
  const std::vector<Bytes> sizes = gradients();
  const auto cap_of = [&](std::size_t bucket) { return caps[std::min(bucket, caps.size() - 1)]; };
  const BucketEnds before = recorded();
  bool same = pattern().exact;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < before.size() && same; ++k) {
    Bytes bytes = 0;
    for (std::size_t i = begin; i < before[k]; ++i) bytes += sizes[i];
    const bool last = k + 1 == before.size();
    const auto closes = [&](Bytes cap) {
      return before[k] > begin && closes_at(cap, bytes, sizes[before[k] - 1], last);
    };
    same = closes(cap_of(k)) || (k == 0 && caps.size() == 1 && closes(kFirstBucket));
    begin = before[k];
  }
  if (same) return before;
  BucketEnds ends;
  Bytes filled = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    filled += sizes[i];
    if (filled < cap_of(ends.size()) && i + 1 < sizes.size()) continue;
    ends.push_back(i + 1);
    filled = 0;
  }
  return ends;
}

class GradientBuckets::Replacement {
 public:
  Replacement(const GradientBuckets& job, const cost::LinkModel& links, Keep keep)
      : job_(job),
        graph_(*job.graph_),
        links_(links),
        keep_(keep),
        launch_cost_(graph_, all_launches(job)) {}

  Status add(std::int32_t number, const Step& step, const BucketEnds& ends) {
    number_ = number;
    step_ = &step;
    for (const auto& [rank, member] : step.buckets.front().members) {
      if (step.ready.at(rank).size() != ends.back()) {
        return cannot_change(
            fmt::format("ranks or steps show different numbers of gradients in step {}", number));
      }
    }
    const std::vector<const Bucket*> kept = find_kept(ends);
    OpId before = kNoId;                                  // the transfer of the bucket before
    std::vector<std::pair<std::size_t, OpId>> transfers;  // end and transfer of each bucket
    for (std::size_t b = 0; b < ends.size(); ++b) {
      if (kept[b]) {
        follow(*kept[b], before);
        before = graph_.collectives[kept[b]->collective].transfer;
      } else {
        WEFT_ASSIGN(before, add_bucket(b == 0 ? 0 : ends[b - 1], ends[b], before));
      }
      transfers.emplace_back(ends[b], before);
    }
    for (const Bucket& bucket : step.buckets) {
      if (std::find(kept.begin(), kept.end(), &bucket) == kept.end()) remove(bucket, transfers);
    }
    return {};
  }

  graph::Edit take() && { return std::move(edit_); }

 private:
  static std::set<OpId> all_launches(const GradientBuckets& job) {
    std::set<OpId> launches;
    for (const auto& [number, step] : job.steps_) {
      for (const Bucket& bucket : step.buckets) {
        for (const auto& [rank, member] : bucket.members) launches.insert(member.launch);
      }
    }
    return launches;
  }

  OpId new_op(graph::Edit::NewOp op) {
    edit_.ops.push_back(std::move(op));
    return static_cast<OpId>(graph_.size() + edit_.ops.size() - 1);
  }
  void link(OpId source, OpId destination, EdgeKind kind, Nanos delay = 0, bool inferred = false) {
    edit_.edges.push_back({source, destination, kind, delay, inferred});
  }

  /// Returns the recorded bucket with the same gradients as each new bucket, or nullptr.
  std::vector<const Bucket*> find_kept(const BucketEnds& ends) const {
    std::vector<const Bucket*> kept(ends.size());
    if (keep_ == Keep::kNone) return kept;
    std::size_t b = 0, begin = 0;
    for (const Bucket& bucket : step_->buckets) {
      while (b < ends.size() && ends[b] < bucket.end) ++b;
      const std::size_t new_begin = b == 0 ? 0 : ends[b - 1];
      if (b < ends.size() && ends[b] == bucket.end && new_begin == begin) kept[b++] = &bucket;
      begin = bucket.end;
    }
    return kept;
  }

  /// Makes a recorded bucket follow the transfer `before` on its streams.
  void follow(const Bucket& bucket, OpId before) {
    if (before == kNoId) return;
    const graph::Collective& collective = graph_.collectives[bucket.collective];
    const auto follows_already = [&](OpId op) {
      const auto edges = graph_.in_edges(op);
      return std::any_of(edges.begin(), edges.end(),
                         [&](const Edge& edge) { return edge.source == before; });
    };
    for (const OpId arrival : collective.arrivals) {
      if (!follows_already(arrival)) link(before, arrival, EdgeKind::kCollective);
    }
    if (!follows_already(collective.transfer)) link(before, collective.transfer, EdgeKind::kOrder);
  }

  /// The recorded bucket that ends closest to `end`. Its launch is the model of a new one.
  const Bucket& nearest(std::size_t end) const {
    const auto distance = [end](const Bucket& b) {
      return b.end > end ? b.end - end : end - b.end;
    };
    return *std::min_element(
        step_->buckets.begin(), step_->buckets.end(),
        [&](const Bucket& a, const Bucket& b) { return distance(a) < distance(b); });
  }

  Bytes bytes_between(std::size_t begin, std::size_t end) const {
    const std::vector<OpId>& ready = step_->ready.at(step_->buckets.front().members.begin()->first);
    Bytes bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += graph_.ops.bytes[ready[i]];
    return bytes;
  }

  /// Returns how much longer than in the link model the recorded buckets took that carried the
  /// gradients from `begin` to `end`. Each bucket counts by the bytes of these gradients in it.
  double recorded_ratio(std::size_t begin, std::size_t end) const {
    double weighted = 0, weights = 0;
    std::size_t bucket_begin = 0;
    for (const Bucket& bucket : step_->buckets) {
      const std::size_t from = std::max(begin, bucket_begin), to = std::min(end, bucket.end);
      bucket_begin = bucket.end;
      if (from >= to) continue;
      const graph::Collective& c = graph_.collectives[bucket.collective];
      const auto expected = c.bytes < 0 ? std::nullopt : links_.transfer(c.kind, c.ranks, c.bytes);
      if (!expected || expected->time <= 0) continue;
      const auto weight = static_cast<double>(bytes_between(from, to));
      weighted += weight * static_cast<double>(graph_.ops.duration[c.transfer]) /
                  static_cast<double>(expected->time);
      weights += weight;
    }
    return weights > 0 ? weighted / weights : 1;
  }

  /// Adds the bucket of the gradients from `begin` to `end`. Returns its transfer.
  Result<OpId> add_bucket(std::size_t begin, std::size_t end, OpId before) {
    const Bucket& model = nearest(end);
    graph::Collective collective = graph_.collectives[model.collective];
    const OpId pattern = collective.transfer;
    collective.bytes = bytes_between(begin, end);
    collective.sequence = -1;
    collective.alone = -1;
    collective.arrivals.clear();
    const auto estimate = links_.transfer(collective.kind, collective.ranks, collective.bytes);
    if (!estimate) {
      return fail(ErrorCode::kUsage,
                  "other buckets need transfer times, but the recording has none for these "
                  "all-reduces; give a link table with --links");
    }
    const auto time =
        std::llround(static_cast<double>(estimate->time) * recorded_ratio(begin, end));
    const OpId transfer =
        new_op({OpKind::kTransfer, graph_.ops.lane[pattern], std::string(graph_.name(pattern)),
                number_, time, collective.bytes, graph_.ops.recorded_start[pattern]});
    for (const auto& [rank, member] : model.members) {
      const OpId arrival = add_arrival(rank, member, begin, end, before);
      link(arrival, transfer, EdgeKind::kCollective);
      collective.arrivals.push_back(arrival);
    }
    if (before != kNoId) {
      link(before, transfer, EdgeKind::kOrder);
    } else {
      follow_the_same(graph_.collectives[step_->buckets.front().collective].transfer, transfer);
    }
    collective.transfer = transfer;
    edit_.collectives.push_back({kNoId, std::move(collective)});
    return transfer;
  }

  /// Returns how long a new bucket waits after the bucket before it. The recorded pause after the
  /// model shows how long a stream takes to start the next all-reduce beside other work. In the
  /// recordings of bench/data the pauses of a step add up to the same share of the transfers for
  /// small and large buckets. So a smaller bucket gets a smaller pause.
  Nanos pause_before(OpId model, std::size_t begin, std::size_t end) const {
    Nanos pause = 0;
    for (const Edge& edge : graph_.in_edges(model)) {
      if (edge.kind == EdgeKind::kCollective || edge.kind == EdgeKind::kOrder) {
        pause = std::max(pause, edge.delay);
      }
    }
    const Bytes bytes = graph_.collectives[graph_.ops.collective[model]].bytes;
    const Bytes own = bytes_between(begin, end);
    if (bytes <= own) return pause;
    return std::llround(static_cast<double>(pause) * static_cast<double>(own) /
                        static_cast<double>(bytes));
  }

  /// Makes a new op follow what a recorded op follows on its lane.
  void follow_the_same(OpId recorded, OpId added) {
    for (const Edge& edge : graph_.in_edges(recorded)) {
      const bool own_arrival =
          graph_.ops.kind[edge.source] == OpKind::kArrive &&
          graph_.ops.collective[edge.source] == graph_.ops.collective[recorded];
      if (own_arrival) continue;
      if (edge.kind == EdgeKind::kOrder || edge.kind == EdgeKind::kCollective) {
        link(edge.source, added, edge.kind, edge.delay, edge.inferred);
      }
    }
  }

  /// Adds the launch of a bucket behind its last gradient, and its arrival.
  OpId add_arrival(std::int32_t rank, const Member& model, std::size_t begin, std::size_t end,
                   OpId before) {
    const OpId ready = step_->ready.at(rank)[end - 1];
    const Nanos at = graph_.ops.recorded_start[ready];
    const OpId launch = new_op({OpKind::kLaunch, graph_.ops.lane[ready], "launch bucket", number_,
                                launch_cost_.of(model.launch), -1, at});
    link(ready, launch, EdgeKind::kOrder);
    for (const OutEdge& out : job_.order_.out_edges(ready)) {
      const Edge& edge = graph_.edges[out.edge];
      if (edge.kind == EdgeKind::kOrder || edge.kind == EdgeKind::kThread) {
        link(launch, out.destination, edge.kind, edge.delay, edge.inferred);
      }
    }
    const OpId arrival = new_op({OpKind::kArrive, graph_.ops.lane[model.arrival],
                                 std::string(graph_.name(model.arrival)), number_, 0, -1, at});
    Nanos to_start = 0;
    for (const Edge& edge : graph_.in_edges(model.arrival)) {
      if (edge.kind == EdgeKind::kLaunch) to_start = edge.delay;
    }
    link(launch, arrival, EdgeKind::kLaunch, to_start);
    const OpId compute = job_.order_.last_compute(rank, at);
    if (compute != kNoId) link(compute, arrival, EdgeKind::kEventWait);
    if (before != kNoId) {
      link(before, arrival, EdgeKind::kCollective, pause_before(model.arrival, begin, end));
    } else if (const auto& first = step_->buckets.front().members; first.contains(rank)) {
      follow_the_same(first.at(rank).arrival, arrival);
    }
    return arrival;
  }

  /// Removes a recorded bucket. `transfers` has the end and the transfer of each new bucket.
  void remove(const Bucket& bucket, const std::vector<std::pair<std::size_t, OpId>>& transfers) {
    const graph::Collective& collective = graph_.collectives[bucket.collective];
    for (const OutEdge& out : job_.order_.out_edges(collective.transfer)) {
      if (is_bucket(out.destination)) continue;
      // After the last gradient, DDP waits for one bucket after the other. So an op that waited for
      // this bucket needs its gradients: it waits for the new bucket that brings the last of them.
      // What ran earlier on the same stream follows the bucket that is launched before it, if any.
      const Edge& edge = graph_.edges[out.edge];
      OpId source = std::find_if(transfers.begin(), transfers.end(), [&](const auto& transfer) {
                      return transfer.first >= bucket.end;
                    })->second;
      if (issued_before_last_gradient(out.destination)) {
        source = last_launched_before(out.destination, transfers);
        if (source == kNoId) continue;
      }
      if (source < graph_.size() && already_linked(source, out.destination)) continue;
      link(source, out.destination, edge.kind, edge.delay, edge.inferred);
    }
    for (const auto& [rank, member] : bucket.members) launch_cost_.remove(member.launch, edit_);
    edit_.removed_ops.push_back(collective.transfer);
    edit_.removed_ops.insert(edit_.removed_ops.end(), collective.arrivals.begin(),
                             collective.arrivals.end());
  }

  /// Whether an op is the arrival or the transfer of a recorded bucket of this step.
  bool is_bucket(OpId op) const {
    const std::uint32_t c = graph_.ops.collective[op];
    return c != kNoId && std::any_of(step_->buckets.begin(), step_->buckets.end(),
                                     [c](const Bucket& b) { return b.collective == c; });
  }

  bool already_linked(OpId source, OpId destination) const {
    const auto edges = graph_.in_edges(destination);
    return std::any_of(edges.begin(), edges.end(),
                       [source](const Edge& edge) { return edge.source == source; });
  }

  Nanos issued(OpId op) const {
    const OpId launch = job_.order_.launch_of(op);
    return graph_.ops.recorded_start[launch == kNoId ? op : launch];
  }

  bool issued_before_last_gradient(OpId op) const {
    const auto ready = step_->ready.find(graph_.rank(op));
    if (ready == step_->ready.end() || graph_.ops.step[op] != number_) return false;
    // "<=" is correct because the last gradient does not wait for the bucket that it fills.
    return issued(op) <= graph_.ops.recorded_start[ready->second.back()];
  }

  OpId last_launched_before(OpId op,
                            const std::vector<std::pair<std::size_t, OpId>>& transfers) const {
    if (graph_.ops.kind[op] == OpKind::kHost) return kNoId;
    const std::vector<OpId>& ready = step_->ready.at(graph_.rank(op));
    OpId last = kNoId;
    for (const auto& [end, transfer] : transfers) {
      if (graph_.ops.recorded_start[ready[end - 1]] < issued(op)) last = transfer;
    }
    return last;
  }

  const GradientBuckets& job_;
  const graph::Graph& graph_;
  const cost::LinkModel& links_;
  const Keep keep_;
  const LaunchCost launch_cost_;
  graph::Edit edit_;
  std::int32_t number_ = 0;  ///< the step that is being changed
  const Step* step_ = nullptr;
};

Result<graph::Edit> GradientBuckets::replace(const BucketEnds& ends, const cost::LinkModel& links,
                                             Keep keep) const {
  const bool fits = !ends.empty() && ends.front() > 0 && std::is_sorted(ends.begin(), ends.end()) &&
                    ends.back() == gradients().size();
  const bool distinct = std::adjacent_find(ends.begin(), ends.end()) == ends.end();
  if (!fits || (!distinct && ends != recorded())) {
    const std::size_t count = gradients().size();
    return fail(ErrorCode::kUsage,
                fmt::format("the recording has {} gradients: the ends of the buckets must be above "
                            "0 and increase, and the last must be {}",
                            count, count));
  }
  if (ends == recorded() && keep == Keep::kSame) return graph::Edit{};
  Replacement replacement(*this, links, keep);
  for (const auto& [number, step] : steps_) WEFT_TRY(replacement.add(number, step, ends));
  return std::move(replacement).take();
}

}  // namespace weft::predict
