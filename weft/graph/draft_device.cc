// SPDX-License-Identifier: Apache-2.0
// Makes the device part of a rank's draft. Every kernel and copy becomes an op with these edges:
//   * stream order: a stream runs its work in the order in which it was recorded to start;
//   * launch: device work follows the host call with the same correlation id (CUPTI and ROCtracer
//     give the call and its work the same id);
//   * synchronous copy: if the call of a copy returned only after the copy ended, the next op of
//     the thread waits for the copy. Pageable memory makes cudaMemcpyAsync behave like this.
// This file also adds an edge from each autograd forward op to its backward op. draft_waits.cc adds
// the dependencies between streams later.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "weft/base/sort_runs.h"
#include "weft/graph/rank_draft.h"
#include "weft/trace/steps.h"

namespace weft::graph {
namespace {

using trace::EventKind;

bool is_device_work(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset;
}

/// Whether the call of a copy returned only after the copy had ended.
bool holds_the_host(const trace::RankTrace& trace, std::uint32_t copy, std::uint32_t call) {
  return trace.events.kind[copy] == EventKind::kMemcpy &&
         trace.events.end(call) >= trace.events.end(copy);
}

/// Adds an edge from each forward op to its backward op. PyTorch gives both ops the same sequence
/// number, and sets `fwd_thread` on the backward op only. These framework ops are not ops of the
/// graph. So the edge goes from the first launch of the forward op to the first launch of the
/// backward op.
void link_forward_to_backward(const trace::RankTrace& trace, const trace::Launches& launches,
                              RankDraft& draft, std::size_t host_ops) {
  struct Ends {
    OpId forward = kNoId, backward = kNoId;
  };
  std::unordered_map<std::int64_t, Ends> links;
  for (OpId id = 0; id < host_ops; ++id) {
    const DraftOp& op = draft.ops[id];
    if (op.kind != OpKind::kLaunch) continue;
    for (std::uint32_t e = launches.parent[op.event]; e != trace::kNone; e = launches.parent[e]) {
      const std::uint32_t detail = trace.events.detail[e];
      if (trace.events.kind[e] != EventKind::kHostOp || detail == trace::kNone) continue;
      const trace::HostOpDetail& host_op = trace.host_ops[detail];
      if (host_op.sequence < 0) continue;
      Ends& ends = links[host_op.sequence];
      OpId& end = host_op.fwd_thread > 0 ? ends.backward : ends.forward;
      if (end == kNoId) end = id;
      break;
    }
  }
  const std::size_t first = draft.edges.size();
  for (const auto& [sequence, ends] : links) {
    if (ends.forward != kNoId && ends.backward != kNoId && ends.forward < ends.backward) {
      draft.edges.push_back({ends.forward, ends.backward, EdgeKind::kData, false});
    }
  }
  // The hash map gives the links in no particular order. Sort them, so that the graph is
  // deterministic.
  std::sort(draft.edges.begin() + static_cast<std::ptrdiff_t>(first), draft.edges.end(),
            [](const DraftEdge& a, const DraftEdge& b) {
              return std::pair{a.destination, a.source} < std::pair{b.destination, b.source};
            });
}

/// Returns the kernels and copies, sorted by start.
std::vector<std::uint32_t> device_work(const trace::Events& events) {
  std::vector<std::uint32_t> work;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (is_device_work(events.kind[i])) work.push_back(i);
  }
  sort_runs(work, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair{events.start[a], a} < std::pair{events.start[b], b};
  });
  return work;
}

/// Adds device work to a draft, one event at a time, sorted by start. When it is constructed, the
/// draft must hold the host ops and nothing else.
class DeviceDraft {
 public:
  DeviceDraft(const trace::RankTrace& trace, const trace::Launches& launches, RankDraft& draft)
      : trace_(trace),
        launches_(launches),
        draft_(draft),
        launch_of_call_(trace.events.size(), kNoId),
        next_on_thread_(draft.ops.size(), kNoId) {
    for (const DraftEdge& edge : draft.edges) {
      if (edge.kind == EdgeKind::kOrder) next_on_thread_[edge.source] = edge.destination;
    }
    for (OpId id = 0; id < draft.ops.size(); ++id) {
      if (draft.ops[id].kind == OpKind::kLaunch) launch_of_call_[draft.ops[id].event] = id;
    }
  }

  void add(std::uint32_t event, bool is_communication, bool launches_recorded) {
    const trace::Events& e = trace_.events;
    const auto id = static_cast<OpId>(draft_.ops.size());
    DraftOp op;
    op.kind = e.kind[event] == EventKind::kKernel ? OpKind::kKernel : OpKind::kCopy;
    op.lane = stream(e.lane[event]);
    op.name = trace_.names.text(e.name[event]);
    op.start = e.start[event];
    op.duration = e.duration[event];
    op.event = event;
    op.communication = is_communication;
    if (!launches_recorded) op.step = trace::step_at(trace_, op.start);
    if (op.kind == OpKind::kCopy && e.detail[event] != trace::kNone) {
      op.bytes = trace_.copies[e.detail[event]].bytes;
    }
    follow_stream(id, op);
    follow_launch(id, op);
    draft_.op_of_event[event] = id;
    draft_.ops.push_back(op);
  }

 private:
  LaneId stream(std::uint32_t trace_lane) {
    const auto [lane, is_new] = lanes_.try_emplace(trace_lane, draft_.lanes.size());
    if (is_new) {
      draft_.lanes.push_back({LaneKind::kStream, trace_.rank,
                              "r" + std::to_string(trace_.rank) + "/stream " +
                                  std::to_string(trace_.lanes[trace_lane].tid)});
    }
    return lane->second;
  }

  void follow_stream(OpId id, const DraftOp& op) {
    const auto [last, is_first] = last_on_stream_.try_emplace(op.lane, id);
    if (is_first) return;
    // The end of a kernel may overlap the start of the next kernel of the stream. Cut the first
    // kernel off at that start, so that the times on the stream add up. A communication kernel
    // keeps its end, because the end of a collective shows when its transfer was over.
    DraftOp& previous = draft_.ops[last->second];
    if (!previous.communication) {
      previous.duration = std::min(previous.duration, op.start - previous.start);
    }
    draft_.edges.push_back({last->second, id, EdgeKind::kOrder, false});
    last->second = id;
  }

  void follow_launch(OpId id, DraftOp& op) {
    const std::uint32_t call = launches_.launcher[op.event];
    const OpId launch = call == trace::kNone ? kNoId : launch_of_call_[call];
    if (launch == kNoId) return;
    DraftOp& from = draft_.ops[launch];
    op.step = from.step;
    op.issued = from.start;
    // Work may start before the call that launched it returns. Then the launch op ends at this
    // start. The rest of the call becomes part of the delay to the thread's next op.
    from.duration = std::clamp<Nanos>(op.start - from.start, 0, from.duration);
    if (op.start < from.start) ++draft_.late_launches;
    draft_.edges.push_back({launch, id, EdgeKind::kLaunch, false});
    if (holds_the_host(trace_, op.event, call) && next_on_thread_[launch] != kNoId) {
      draft_.edges.push_back({id, next_on_thread_[launch], EdgeKind::kHostSync, false});
    }
  }

  const trace::RankTrace& trace_;
  const trace::Launches& launches_;
  RankDraft& draft_;
  std::vector<OpId> launch_of_call_;  ///< launch_of_call_[event of a call]: its launch op
  /// next_on_thread_[host op]: the next op of the same thread. If the host op is the call of a
  /// synchronous copy, this next op waits for the copy.
  std::vector<OpId> next_on_thread_;
  std::map<std::uint32_t, LaneId> lanes_;  ///< lanes_[trace lane]: the lane of the draft
  std::map<LaneId, OpId> last_on_stream_;
};

}  // namespace

void draft_device(const trace::RankTrace& trace, const trace::Launches& launches,
                  const std::vector<bool>& is_communication, RankDraft& draft) {
  const std::size_t host_ops = draft.ops.size();
  const std::vector<std::uint32_t> work = device_work(trace.events);
  // The device runs behind the host, so device work belongs to the step of its launch. Recordings
  // of TPUs and of XLA's CPU devices, and execution graphs, have no launches. There, work belongs
  // to the step in which it starts.
  const bool launches_recorded = std::any_of(work.begin(), work.end(), [&](std::uint32_t i) {
    return launches.launcher[i] != trace::kNone;
  });
  DeviceDraft device(trace, launches, draft);
  for (const std::uint32_t i : work) device.add(i, is_communication[i], launches_recorded);
  link_forward_to_backward(trace, launches, draft, host_ops);
}

RankDraft draft_rank(const trace::RankTrace& trace, const std::vector<bool>& is_communication) {
  const trace::Launches launches = trace::resolve_launches(trace);
  const auto& kinds = trace.events.kind;
  const bool has_device = std::any_of(kinds.begin(), kinds.end(), is_device_work);
  RankDraft draft;
  draft.op_of_event.assign(trace.events.size(), kNoId);
  draft_host(trace, launches, is_communication, has_device, draft);
  if (!has_device) return draft;
  draft_device(trace, launches, is_communication, draft);
  draft_waits(trace, launches, draft);
  if (trace.dataflow) draft_dataflow(draft);
  draft_hidden_waits(trace, draft);
  return draft;
}

}  // namespace weft::graph
