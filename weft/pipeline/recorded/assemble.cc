// SPDX-License-Identifier: Apache-2.0
// Builds the graph from these lanes: each rank gets a host lane, a compute stream, a stream for
// messages and a link. An instruction of the program becomes ops on these lanes: a piece becomes a
// host op and a kernel, a post becomes a host op, an arrival on the message stream and a transfer.
// After all ranks of a step are written, join_ends() connects the two sides of every message. Steps
// follow each other without a pause.
#include "weft/pipeline/recorded/assemble.h"

#include <algorithm>
#include <map>
#include <string>

#include "weft/graph/builder.h"
#include "weft/graph/names.h"

namespace weft::pipeline::recorded {
namespace {

using graph::EdgeKind;
using graph::kNoId;
using graph::LaneId;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

/// The recorded micro-batch that stands for `micro`. Number 0 is not used again unless it is the
/// only one, because it also contains work from the start of the step.
Micro recorded_micro(const Recording& recording, Micro micro) {
  if (micro < recording.micro_batches) return micro;
  if (recording.micro_batches == 1) return 0;
  return 1 + (micro - 1) % (recording.micro_batches - 1);
}

/// Where layer `layer` of the model was recorded.
struct Place {
  std::size_t stage = 0;
  std::int32_t layer = 0;
};

Place place_of(const Recording& recording, std::int32_t layer) {
  Place place{0, layer};
  while (place.layer >= recording.stages[place.stage].layers) {
    place.layer -= recording.stages[place.stage].layers;
    ++place.stage;
  }
  return place;
}

class Assembler {
 public:
  Assembler(const Recording& recording, const std::vector<StageLayers>& stages,
            const Program& program)
      : recording_(recording), stages_(stages), program_(program) {}

  Result<graph::Graph> run() {
    builder_.draft().steps = recording_.steps;  // numbered as in the recording
    for (const StageRecord& stage : recording_.stages) {
      const std::string rank = "r" + std::to_string(stage.rank);
      Rank state;
      state.number = stage.rank;
      state.host = builder_.add_lane(LaneKind::kHost, stage.rank, rank + "/host");
      state.stream = builder_.add_lane(LaneKind::kStream, stage.rank, rank + "/compute");
      state.messages = builder_.add_lane(LaneKind::kStream, stage.rank, rank + "/messages");
      state.link = builder_.add_lane(LaneKind::kLink, -1, "link of " + rank);
      ranks_.push_back(std::move(state));
    }
    for (std::size_t step = 0; step < recording_.steps.size(); ++step) {
      arrivals_.clear();
      posted_.clear();
      for (std::size_t d = 0; d < ranks_.size(); ++d) run_step(d, step);
      for (const Posted& post : posted_) join_ends(post);
    }
    return std::move(builder_).finish();
  }

 private:
  struct Rank {
    std::int32_t number = -1;
    LaneId host = 0, stream = 0, messages = 0, link = 0;
    OpId host_op = kNoId, compute = kNoId, message = kNoId;  ///< the last op of each kind so far
    std::vector<OpId> waits;  ///< messages that the next compute must wait for
    std::vector<OpId> posts;  ///< transfers of this step, by number of the post
    Nanos leaves = 0;         ///< host time that the end of the last pass adds to a post
  };
  struct Posted {
    const Instruction* instruction;
    std::size_t device;
    OpId transfer;
  };
  /// The two sides of a message.
  struct Ends {
    OpId send = kNoId, receive = kNoId;
    std::size_t sender = 0, receiver = 0;
    bool send_both = false, receive_both = false;  ///< the batch also has the opposite message
  };

  void edge(OpId from, OpId to, EdgeKind kind, Nanos delay) {
    if (from != kNoId) builder_.add_edge(from, to, kind, std::max<Nanos>(0, delay));
  }

  void run_step(std::size_t device, std::size_t step) {
    Rank& rank = ranks_[device];
    const StageStep& recorded = recording_.stages[device].steps[step];
    step_ = static_cast<std::int32_t>(recording_.steps[step]);
    rank.posts.clear();
    rank.leaves = 0;
    // The mark tells the replay where a step begins on this rank.
    const OpId mark = add({.kind = OpKind::kHost, .lane = rank.host, .name = graph::kStepMark});
    edge(rank.host_op, mark, EdgeKind::kOrder, recorded.begin);
    rank.host_op = mark;
    for (const Instruction& instruction : program_.devices[device]) {
      switch (instruction.kind) {
        case Instruction::Kind::kCompute: {
          const StageLayers& stage = stages_[instruction.op.stage];
          const bool forward = instruction.op.kind == Kind::kForward;
          compute(rank,
                  forward ? forward_piece(recording_, stage, step, instruction.op.micro)
                          : backward_piece(recording_, stage, step, instruction.op.micro),
                  forward ? "forward" : "backward");
          const HostCosts& costs = recording_.stages[device].host;
          // The host time at the end of this pass. Only a post that follows the pass is delayed by
          // it.
          rank.leaves = forward ? costs.leave_forward : costs.leave_backward;
          break;
        }
        case Instruction::Kind::kPost:
          post(device, instruction);
          break;
        case Instruction::Kind::kWait:
          rank.waits.push_back(rank.posts[instruction.post]);
          break;
      }
    }
    compute(rank, recorded.rest, "rest");
  }

  OpId add(graph::OpSpec spec) {
    spec.step = step_;
    return builder_.add_op(spec);
  }

  /// Writes a piece as two ops: one on the host and one on the device. Each of them waits for the
  /// last op on the host and for the last op on the device. So there are four edges, and their
  /// delays are the four times of the piece. Only `work` becomes a duration, because communication
  /// that runs at the same time slows down durations but not delays.
  void compute(Rank& rank, const Piece& piece, std::string_view name) {
    const OpId host = add({.kind = OpKind::kLaunch, .lane = rank.host, .name = name});
    edge(rank.host_op, host, EdgeKind::kOrder, piece.host_host);
    if (piece.device_host >= 0) edge(rank.compute, host, EdgeKind::kHostSync, piece.device_host);
    if (piece.work > 0) {
      const OpId kernel =
          add({.kind = OpKind::kKernel, .lane = rank.stream, .name = name, .duration = piece.work});
      // Gaps between kernels stay delays, so that contention does not stretch them.
      const Nanos pauses = piece.device_device - piece.work;
      edge(rank.compute, kernel, EdgeKind::kOrder, pauses);
      edge(rank.host_op, kernel, EdgeKind::kLaunch, piece.host_device - piece.work);
      for (const OpId message : rank.waits) {
        edge(message, kernel, EdgeKind::kEventWait, pauses + recording_.to_compute);
      }
      rank.waits.clear();
      rank.compute = kernel;
    }
    rank.host_op = host;
  }

  /// Writes a batch of messages: like a kernel, it occupies the message stream from its arrival to
  /// the end of its transfer. join_ends() connects it to the other sides of its messages.
  void post(std::size_t device, const Instruction& instruction) {
    Rank& rank = ranks_[device];
    const OpId launch = add({.kind = OpKind::kLaunch, .lane = rank.host, .name = "post"});
    const HostCosts& costs = recording_.stages[device].host;
    edge(rank.host_op, launch, EdgeKind::kOrder,
         rank.leaves + (instruction.batch.size() > 1 ? costs.post_more : costs.post_one));
    rank.leaves = 0;
    rank.host_op = launch;
    const OpId arrival = add({.kind = OpKind::kArrive, .lane = rank.messages, .name = "messages"});
    edge(rank.message, arrival, EdgeKind::kCollective, 0);
    edge(launch, arrival, EdgeKind::kLaunch, 0);
    edge(rank.compute, arrival, EdgeKind::kEventWait, recording_.to_message);
    // A wait that no compute has used yet also holds back the message stream.
    for (const OpId message : rank.waits) edge(message, arrival, EdgeKind::kEventWait, 0);
    const OpId transfer = add({.kind = OpKind::kTransfer, .lane = rank.link, .name = "messages"});
    edge(rank.message, transfer, EdgeKind::kOrder, 0);
    edge(arrival, transfer, EdgeKind::kCollective, 0);
    graph::Collective batch;
    batch.kind = graph::CollectiveKind::kSendRecv;
    batch.ranks = 2;
    batch.transfer = transfer;
    batch.arrivals = {arrival};
    builder_.add_collective(std::move(batch));
    rank.message = transfer;
    rank.posts.push_back(transfer);
    posted_.push_back({&instruction, device, transfer});
    // The costs of the messages depend on whether the batch has messages in both directions.
    bool sends = false, receives = false;
    for (const End& end : instruction.batch) (end.sends ? sends : receives) = true;
    for (const End& end : instruction.batch) {
      Ends& ends = arrivals_[end.message];
      (end.sends ? ends.send : ends.receive) = arrival;
      (end.sends ? ends.sender : ends.receiver) = device;
      (end.sends ? ends.send_both : ends.receive_both) = sends && receives;
    }
  }

  /// A batch ends when all of its messages have ended on this side. Its duration is the least time
  /// that it can take. Edges from the peers add the time that it has to wait for them.
  void join_ends(const Posted& post) {
    Nanos least = 0;
    struct Peer {
      OpId arrival;
      Nanos time;
    };
    std::vector<Peer> peers;
    for (const End& end : post.instruction->batch) {
      const Ends& ends = arrivals_.at(end.message);
      const MessageCost& cost =
          recording_.messages.cost(ranks_[ends.sender].number, ranks_[ends.receiver].number,
                                   ends.send_both && ends.receive_both);
      least = std::max(least, end.sends ? cost.send : cost.receive);
      if (!end.sends) peers.push_back({ends.send, cost.arrival});
      if (end.sends && cost.send_after_receive >= 0) {
        peers.push_back({ends.receive, cost.send_after_receive});
      }
    }
    builder_.draft().ops.duration[post.transfer] = least;
    for (const Peer& peer : peers) {
      edge(peer.arrival, post.transfer, EdgeKind::kCollective, peer.time - least);
    }
  }

  const Recording& recording_;
  const std::vector<StageLayers>& stages_;
  const Program& program_;
  graph::GraphBuilder builder_;
  std::vector<Rank> ranks_;
  std::vector<Posted> posted_;        ///< the posts of this step
  std::map<Message, Ends> arrivals_;  ///< the two sides of each message of this step
  std::int32_t step_ = 0;
};

}  // namespace

Result<std::vector<StageLayers>> divide_layers(const Recording& recording, std::int32_t stages) {
  const auto ranks = static_cast<std::int32_t>(recording.stages.size());
  std::vector<StageLayers> divided;
  if (stages == ranks) {
    std::int32_t first = 0;
    for (DeviceId d = 0; d < ranks; ++d) {
      const std::int32_t layers = recording.stages[d].layers;
      divided.push_back({first, first + layers, d});
      first += layers;
    }
    return divided;
  }
  const std::int32_t layers = recording.layers();
  if (layers < stages) {
    return fail(ErrorCode::kUsage,
                std::to_string(stages) + " stages cannot be made of " + std::to_string(layers) +
                    (layers == ranks ? " pieces: no sequence of kernels repeats on all ranks, so "
                                       "the layers inside a stage cannot be found"
                                     : " layers"));
  }
  for (std::int32_t s = 0; s < stages; ++s) {
    divided.push_back({layers * s / stages, layers * (s + 1) / stages, s % ranks});
  }
  return divided;
}

Piece forward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                    Micro micro) {
  Piece piece;
  for (std::int32_t layer = stage.first; layer < stage.last; ++layer) {
    const Place place = place_of(recording, layer);
    const StageRecord& from = recording.stages[place.stage];
    // The recorded pass includes the cost of entering its first layer. If the new stage begins with
    // another recorded layer, that cost is added here.
    if (layer == stage.first && place.layer > 0) piece = host_only(from.host.enter_forward);
    piece = then(piece, from.steps[step].forwards[recorded_micro(recording, micro)][place.layer]);
  }
  return piece;
}

Piece backward_piece(const Recording& recording, const StageLayers& stage, std::size_t step,
                     Micro micro) {
  Piece piece;
  for (std::int32_t layer = stage.last - 1; layer >= stage.first; --layer) {
    const Place place = place_of(recording, layer);
    const StageRecord& from = recording.stages[place.stage];
    if (layer == stage.last - 1 && place.layer + 1 < from.layers) {
      piece = host_only(from.host.enter_backward);
    }
    piece = then(piece, from.steps[step].backwards[recorded_micro(recording, micro)][place.layer]);
  }
  return piece;
}

Result<graph::Graph> assemble(const Recording& recording, const std::vector<StageLayers>& stages,
                              const Program& program) {
  return Assembler(recording, stages, program).run();
}

}  // namespace weft::pipeline::recorded
