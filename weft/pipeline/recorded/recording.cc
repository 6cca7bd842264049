// SPDX-License-Identifier: Apache-2.0
// The posts of messages divide the host ops of a rank and step into stretches. Stretches on the
// thread that posts messages are forwards. Stretches on another thread (autograd's) are backwards.
// Stretches after the last backward are the rest of the step. Forward number i of a step runs
// micro-batch i. Passes are then cut into layers by the kernels that repeat.
#include "weft/pipeline/recorded/recording.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "weft/base/median.h"
#include "weft/graph/names.h"
#include "weft/pipeline/recorded/host_costs.h"
#include "weft/pipeline/recorded/layers.h"
#include "weft/pipeline/recorded/passes.h"

namespace weft::pipeline::recorded {
namespace {

using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

tl::unexpected<Error> no_pipeline(const std::string& why) {
  return fail(ErrorCode::kUsage,
              "the recording shows no pipeline that could run another schedule: " + why);
}

/// What a rank issues between two posts, on its main thread or on autograd's thread.
struct Stretch {
  using Kind = StretchKind;
  Kind kind = Kind::kForward;
  std::vector<OpId> ops;  ///< host ops in program order
};

/// One message of a rank: with which peer, and in which direction.
struct PeerMessage {
  std::int32_t peer;
  bool sends;
};

class TakeApart {
 public:
  TakeApart(const predict::Job& job, const predict::Predictor& predictor)
      : job_(job), graph_(predictor.clean()), steps_(predictor.steps()), maker_(graph_) {}

  Result<Recording> run(const std::vector<cost::LinkTable>& links) {
    if (job_.from_phases)
      return no_pipeline("it is an op timeline, which has no host work and no launches");
    Recording recording;
    recording.steps = steps_;
    find_host_ops();
    find_calls();
    find_communicating_calls();
    WEFT_ASSIGN(const std::vector<std::int32_t> ranks, stage_order());
    for (const std::int32_t rank : ranks) {
      WEFT_ASSIGN(StageRecord stage, take_stage(rank));
      recording.stages.push_back(std::move(stage));
    }
    // Micro-batches are matched by their numbers, so every rank and step must have equally many.
    recording.micro_batches = static_cast<Micro>(passes_.begin()->second.forwards.size());
    for (const auto& [key, passes] : passes_) {
      if (static_cast<Micro>(passes.forwards.size()) == recording.micro_batches) continue;
      return no_pipeline(
          "rank " + std::to_string(key.first) + " runs " + std::to_string(passes.forwards.size()) +
          " forwards in a step, but other ranks run " + std::to_string(recording.micro_batches));
    }
    cut_layers(recording);
    measure_posts(posted_, recording.stages);
    WEFT_ASSIGN(recording.messages, MessageModel::measure(job_, links));
    measure_handovers(recording);
    return recording;
  }

 private:
  using RankStep = std::pair<std::int32_t, std::int64_t>;
  struct Passes {
    std::vector<std::vector<OpId>> forwards, backwards;
  };

  /// Collects the host ops of every rank and step, sorted by recorded start. This is the order of
  /// the program even across threads, because the main thread and autograd's thread take turns.
  void find_host_ops() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      const graph::Lane& lane = graph_.lanes[graph_.ops.lane[op]];
      if (graph_.ops.kind[op] == OpKind::kArrive) {
        for (const graph::Edge& edge : graph_.in_edges(op)) {
          if (edge.kind == graph::EdgeKind::kLaunch) posts_[edge.source] = op;
        }
      }
      if (lane.kind != LaneKind::kHost || lane.rank < 0 || graph_.ops.step[op] < 0) continue;
      host_ops_[{lane.rank, graph_.ops.step[op]}].push_back(op);
    }
    for (auto& [key, ops] : host_ops_) {
      std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
        return graph_.ops.recorded_start[a] < graph_.ops.recorded_start[b];
      });
    }
  }

  void find_calls() {
    calls_ = trace::find_calls(job_.run);
    for (std::size_t r = 0; r < calls_.size(); ++r) {
      for (const trace::Call& call : calls_[r]) {
        call_of_[{job_.run.ranks[r].rank, call.event}] = &call;
      }
    }
  }

  /// Collects, per thread, the start times of communication calls and of posts.
  void find_communicating_calls() {
    for (const trace::RankTrace& trace : job_.run.ranks) {
      traces_[trace.rank] = &trace;
      const trace::Events& events = trace.events;
      for (std::uint32_t i = 0; i < events.size(); ++i) {
        if (events.kind[i] != trace::EventKind::kHostOp &&
            events.kind[i] != trace::EventKind::kAnnotation) {
          continue;
        }
        const std::string_view name = trace.names.text(events.name[i]);
        if (name.starts_with("c10d::") || name.starts_with("nccl:") ||
            name == "record_param_comms") {
          communicating_[{trace.rank, events.lane[i]}].push_back(events.start[i]);
        }
      }
    }
    for (const auto& [post, arrival] : posts_) {
      const std::int32_t rank = graph_.rank(post);
      const trace::Events& events = traces_.at(rank)->events;
      const std::uint32_t launch = graph_.ops.event[post];
      communicating_[{rank, events.lane[launch]}].push_back(events.start[launch]);
    }
    for (auto& [lane, starts] : communicating_) std::sort(starts.begin(), starts.end());
  }

  /// The messages of the batch that a host op posts.
  std::vector<trace::Message> messages_of(OpId post) const {
    const OpId arrival = posts_.at(post);
    const auto call = call_of_.find({graph_.rank(arrival), graph_.ops.event[arrival]});
    return call == call_of_.end() ? std::vector<trace::Message>{} : call->second->messages;
  }

  /// The ranks in the order of their stages. The first stage is the only one that sends before it
  /// receives, and the first send of every stage to a new rank goes to the next stage.
  Result<std::vector<std::int32_t>> stage_order() const {
    std::map<std::int32_t, std::vector<PeerMessage>> talks;
    for (const auto& [key, ops] : host_ops_) {
      // One step is enough to see which rank sends to which.
      if (key.second != steps_.back()) continue;
      std::vector<PeerMessage>& talk = talks[key.first];
      for (const OpId op : ops) {
        if (!posts_.contains(op)) continue;
        for (const trace::Message& message : messages_of(op)) {
          talk.push_back({message.peer, message.send});
        }
      }
    }
    std::vector<std::int32_t> order;
    for (const auto& [rank, talk] : talks) {
      if (talk.empty()) return no_pipeline("rank " + std::to_string(rank) + " sends no messages");
      if (!talk.front().sends) continue;
      if (!order.empty()) return no_pipeline("several ranks send before they receive");
      order.push_back(rank);
    }
    if (order.empty()) return no_pipeline("no rank sends before it receives");
    while (order.size() < talks.size()) {
      const auto talk = talks.find(order.back());
      if (talk == talks.end()) break;
      const auto next =
          std::find_if(talk->second.begin(), talk->second.end(), [&](const PeerMessage& t) {
            return t.sends && std::find(order.begin(), order.end(), t.peer) == order.end();
          });
      if (next == talk->second.end()) break;
      order.push_back(next->peer);
    }
    const bool complete = order.size() == talks.size() &&
                          std::all_of(order.begin(), order.end(),
                                      [&](std::int32_t rank) { return talks.contains(rank); });
    if (!complete || order.size() < 2) {
      return no_pipeline("its ranks do not send along one chain; give all ranks of one pipeline");
    }
    return order;
  }

  /// Divides the host ops of a rank and step into stretches. The thread that posts messages runs
  /// the forwards; autograd runs backwards on a separate thread.
  Result<std::vector<Stretch>> stretches(const std::vector<OpId>& ops) const {
    graph::LaneId main = graph::kNoId;
    for (const OpId op : ops) {
      // The first post shows which thread is the main thread.
      if (main == graph::kNoId && posts_.contains(op)) main = graph_.ops.lane[op];
    }
    std::vector<Stretch> list;
    std::vector<OpId> waiting;  // ops that launch nothing; they become part of the next stretch
    for (const OpId op : ops) {
      const bool post = posts_.contains(op);
      if (!post && maker_.launched(op).empty()) {
        // The marks that a gradient is ready follow the last launch of a backward and belong to it.
        const bool marks = graph_.ops.lane[op] != main && !list.empty() &&
                           list.back().kind == Stretch::Kind::kBackward && waiting.empty();
        (marks ? list.back().ops : waiting).push_back(op);
        continue;
      }
      const auto kind = post                          ? Stretch::Kind::kPost
                        : graph_.ops.lane[op] == main ? Stretch::Kind::kForward
                                                      : Stretch::Kind::kBackward;
      if (list.empty() || list.back().kind != kind || post) list.push_back({kind, {}});
      std::vector<OpId>& to = list.back().ops;
      to.insert(to.end(), waiting.begin(), waiting.end());
      to.push_back(op);
      waiting.clear();
    }
    if (list.empty()) return no_pipeline("a rank launches nothing in a step");
    list.back().ops.insert(list.back().ops.end(), waiting.begin(), waiting.end());
    // What the main thread launches after the last backward is not a forward.
    std::size_t last = list.size();
    while (last > 0 && list[last - 1].kind != Stretch::Kind::kBackward) --last;
    if (last == 0) {
      return no_pipeline("no backward runs on a separate thread, as autograd's does on a GPU");
    }
    for (std::size_t i = last; i < list.size(); ++i) {
      if (list[i].kind == Stretch::Kind::kForward) list[i].kind = Stretch::Kind::kRest;
    }
    return list;
  }

  /// Collects the passes of a rank in all steps.
  Result<StageRecord> take_stage(std::int32_t rank) {
    StageRecord stage;
    stage.rank = rank;
    for (const std::int64_t step : steps_) {
      const auto ops = host_ops_.find({rank, step});
      if (ops == host_ops_.end()) {
        return no_pipeline("rank " + std::to_string(rank) + " has no step " + std::to_string(step));
      }
      WEFT_ASSIGN(const std::vector<Stretch> list, stretches(ops->second));
      StageStep& out = stage.steps.emplace_back();
      Passes& passes = passes_[{rank, step}];
      for (std::size_t i = 0; i < list.size(); ++i) {
        switch (list[i].kind) {
          case Stretch::Kind::kForward:
            passes.forwards.push_back(list[i].ops);
            break;
          case Stretch::Kind::kBackward:
            passes.backwards.push_back(list[i].ops);
            break;
          case Stretch::Kind::kRest:
            out.rest = then(out.rest, maker_.make(list[i].ops));
            break;
          case Stretch::Kind::kPost:
            note_post(rank, out, list, i);
            break;
        }
        const bool is_pass =
            list[i].kind == Stretch::Kind::kForward || list[i].kind == Stretch::Kind::kBackward;
        if (is_pass && step == steps_.front()) {
          const bool forward = list[i].kind == Stretch::Kind::kForward;
          const auto done = forward ? passes.forwards.size() : passes.backwards.size();
          stage.order.push_back(
              {0, forward ? Kind::kForward : Kind::kBackward, static_cast<Micro>(done - 1)});
        }
      }
      if (passes.forwards.size() != passes.backwards.size()) {
        return no_pipeline("rank " + std::to_string(rank) + " runs " +
                           std::to_string(passes.forwards.size()) + " forwards but " +
                           std::to_string(passes.backwards.size()) + " backwards in a step");
      }
    }
    return stage;
  }

  /// A post at the start of a step shows how long the host works before this post. measure_posts()
  /// evaluates the other posts.
  void note_post(std::int32_t rank, StageStep& step, const std::vector<Stretch>& list,
                 std::size_t i) {
    const Nanos time = maker_.make(list[i].ops).host_host;
    if (i == 0) {
      step.begin = time;
      return;
    }
    const OpId post = list[i].ops.back();
    posted_.push_back({rank, list[i - 1].kind, messages_of(post).size(), time,
                       share_in_calls(rank, list[i - 1].ops.back(), post)});
  }

  /// Finds layers by the kernels of one micro-batch and cuts all passes at the same positions. If
  /// forwards and backwards do not show the same number of layers, each stage counts as one layer.
  void cut_layers(Recording& recording) {
    std::vector<std::vector<NameId>> forwards, backwards;
    for (const StageRecord& stage : recording.stages) {
      const Passes& passes = passes_.at({stage.rank, steps_.front()});
      // The last micro-batch, since the first one may contain work that happens only at the start
      // of a step.
      forwards.push_back(kernel_names(maker_, passes.forwards.back()));
      backwards.insert(backwards.begin(), kernel_names(maker_, passes.backwards.back()));
    }
    auto forward_starts = layer_starts(forwards);
    auto backward_starts = layer_starts(backwards);
    if (backward_starts) std::reverse(backward_starts->begin(), backward_starts->end());
    const std::size_t stages = recording.stages.size();
    bool known = forward_starts && backward_starts;
    for (std::size_t s = 0; known && s < stages; ++s) {
      known = (*forward_starts)[s].size() == (*backward_starts)[s].size();
    }
    if (!known) {
      forward_starts.emplace(stages, std::vector<std::size_t>{0});
      backward_starts = forward_starts;
    }
    for (std::size_t s = 0; s < stages; ++s) {
      StageRecord& stage = recording.stages[s];
      stage.layers = static_cast<std::int32_t>((*forward_starts)[s].size());
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Passes& passes = passes_.at({stage.rank, steps_[i]});
        for (const auto& ops : passes.forwards) {
          stage.steps[i].forwards.push_back(cut(maker_, ops, (*forward_starts)[s]));
        }
        for (const auto& ops : passes.backwards) {
          Pass pass = cut(maker_, ops, (*backward_starts)[s]);
          std::reverse(pass.begin(), pass.end());
          stage.steps[i].backwards.push_back(std::move(pass));
        }
      }
      measure_entries(stage, (*forward_starts)[s], (*backward_starts)[s]);
      const auto& first_step = passes_.at({stage.rank, steps_.front()}).backwards;
      stage.gradients = gradients_of(maker_, first_step.back(), (*backward_starts)[s]);
      stage.backward_kernels = kernels_of(maker_, first_step, (*backward_starts)[s]);
    }
  }

  void measure_entries(StageRecord& stage, const std::vector<std::size_t>& forward,
                       const std::vector<std::size_t>& backward) {
    std::vector<const std::vector<OpId>*> forwards, backwards;
    for (const std::int64_t step : steps_) {
      const Passes& passes = passes_.at({stage.rank, step});
      for (const auto& ops : passes.forwards) forwards.push_back(&ops);
      for (const auto& ops : passes.backwards) backwards.push_back(&ops);
    }
    stage.host.enter_forward = entry(maker_, forwards, forward);
    stage.host.enter_backward = entry(maker_, backwards, backward);
  }

  /// Consider the recorded host time from the end of the last op before a post to the end of the
  /// post. Returns which fraction of it comes after the start of the first communication call.
  double share_in_calls(std::int32_t rank, OpId before, OpId post) const {
    const trace::RankTrace& trace = *traces_.at(rank);
    const std::uint32_t launch = graph_.ops.event[post];
    const Nanos from =
        graph_.ops.recorded_start[before] + graph_.ops.recorded_duration[before] + graph_.origin;
    const Nanos to = trace.events.end(launch);
    const auto& calls = communicating_.at({rank, trace.events.lane[launch]});
    const auto first = std::lower_bound(calls.begin(), calls.end(), from);
    if (to <= from || first == calls.end()) return 1;
    return static_cast<double>(to - *first) / static_cast<double>(to - from);
  }

  /// Measures how soon a message starts after the compute that it waited for, and how soon compute
  /// starts after the message that it waited for.
  void measure_handovers(Recording& recording) const {
    std::vector<Nanos> to_message, to_compute;
    for (OpId op = 0; op < graph_.size(); ++op) {
      const OpKind kind = graph_.ops.kind[op];
      for (const graph::Edge& edge : graph_.in_edges(op)) {
        const OpKind from = graph_.ops.kind[edge.source];
        if (edge.kind != graph::EdgeKind::kEventWait && edge.kind != graph::EdgeKind::kCollective) {
          continue;
        }
        if (kind == OpKind::kArrive && from == OpKind::kKernel) to_message.push_back(edge.delay);
        if (kind == OpKind::kKernel && from == OpKind::kTransfer) to_compute.push_back(edge.delay);
      }
    }
    if (!to_message.empty()) recording.to_message = median(to_message);
    if (!to_compute.empty()) recording.to_compute = median(to_compute);
  }

  const predict::Job& job_;
  const graph::Graph& graph_;
  const std::vector<std::int64_t>& steps_;
  PieceMaker maker_;
  std::vector<std::vector<trace::Call>> calls_;
  std::map<std::pair<std::int32_t, std::uint32_t>, const trace::Call*> call_of_;
  std::map<std::int32_t, const trace::RankTrace*> traces_;
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<Nanos>> communicating_;
  std::vector<PostSample> posted_;
  std::map<OpId, OpId> posts_;  ///< from the host op that posts a batch to an arrival of the batch
  std::map<RankStep, std::vector<OpId>> host_ops_;
  std::map<RankStep, Passes> passes_;
};

}  // namespace

std::int32_t Recording::layers() const {
  std::int32_t sum = 0;
  for (const StageRecord& stage : stages) sum += stage.layers;
  return sum;
}

Result<Recording> take_apart(const predict::Job& job, const predict::Predictor& predictor,
                             const std::vector<cost::LinkTable>& links) {
  return TakeApart(job, predictor).run(links);
}

}  // namespace weft::pipeline::recorded
