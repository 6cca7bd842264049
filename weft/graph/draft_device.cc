// SPDX-License-Identifier: Apache-2.0
// The device part of a rank's draft: every kernel and copy becomes an op with these edges:
//   * stream order: a stream runs its work in the order in which it was recorded to start;
//   * launch: device work follows the host call with the same correlation id (CUPTI and ROCtracer
//     give the call and its work one id);
//   * synchronous copy: if the call of a copy returned only after the copy ended, the next op of
//     the thread waits for the copy. Pageable memory makes cudaMemcpyAsync behave like this.
// It also links each autograd forward op to its backward op. Dependencies between streams come
// later, in draft_waits.cc.
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

/// Adds an edge from each forward op to its backward op. PyTorch gives both the same sequence
/// number, and sets `fwd_thread` on the backward op only. Framework ops are not ops of the graph,
/// so the edge joins the first launch of the one to the first launch of the other.
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
  // The hash map yields the links in no particular order; sorted, the graph is deterministic.
  std::sort(draft.edges.begin() + static_cast<std::ptrdiff_t>(first), draft.edges.end(),
            [](const DraftEdge& a, const DraftEdge& b) {
              return std::pair{a.destination, a.source} < std::pair{b.destination, b.source};
            });
}

}  // namespace

void draft_device(const trace::RankTrace& trace, const trace::Launches& launches,
                  const std::vector<bool>& is_communication, RankDraft& draft) {
  const auto& e = trace.events;
  const std::size_t host_ops = draft.ops.size();
  std::vector<OpId> launch_of_call(e.size(), kNoId);
  // The next op of the same thread: this is what a synchronous copy delays.
  std::vector<OpId> next_on_thread(host_ops, kNoId);
  for (const DraftEdge& edge : draft.edges) {
    if (edge.kind == EdgeKind::kOrder) next_on_thread[edge.source] = edge.destination;
  }
  for (OpId id = 0; id < host_ops; ++id) {
    if (draft.ops[id].kind == OpKind::kLaunch) launch_of_call[draft.ops[id].event] = id;
  }

  std::vector<std::uint32_t> work;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (is_device_work(e.kind[i])) work.push_back(i);
  }
  sort_runs(work, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair{e.start[a], a} < std::pair{e.start[b], b};
  });

  // Device work belongs to the step of its launch, because the device runs behind the host.
  // Recordings of TPUs and of XLA's CPU devices, and execution graphs, have no launches; there the
  // work belongs to the step in which it starts.
  const bool launches_recorded = std::any_of(work.begin(), work.end(), [&](std::uint32_t i) {
    return launches.launcher[i] != trace::kNone;
  });

  std::map<std::uint32_t, LaneId> lanes;
  std::map<LaneId, OpId> last_on_stream;
  for (const std::uint32_t i : work) {
    const auto [lane, is_new] = lanes.try_emplace(e.lane[i], draft.lanes.size());
    if (is_new) {
      draft.lanes.push_back({LaneKind::kStream, trace.rank,
                             "r" + std::to_string(trace.rank) + "/stream " +
                                 std::to_string(trace.lanes[e.lane[i]].tid)});
    }
    const auto id = static_cast<OpId>(draft.ops.size());
    DraftOp op;
    op.kind = e.kind[i] == EventKind::kKernel ? OpKind::kKernel : OpKind::kCopy;
    op.lane = lane->second;
    op.name = trace.names.text(e.name[i]);
    op.start = e.start[i];
    op.duration = e.duration[i];
    op.event = i;
    op.communication = is_communication[i];
    if (!launches_recorded) op.step = trace::step_at(trace, op.start);
    if (op.kind == OpKind::kCopy && e.detail[i] != trace::kNone) {
      op.bytes = trace.copies[e.detail[i]].bytes;
    }
    const auto [last, first_here] = last_on_stream.try_emplace(op.lane, id);
    if (!first_here) {
      // The tail of a kernel may drain while the next kernel of the stream starts. Cut the kernel
      // off at that start, so that the times on the stream add up. Communication keeps its end,
      // because the end of a collective says when its transfer was over.
      DraftOp& previous = draft.ops[last->second];
      if (!previous.communication) {
        previous.duration = std::min(previous.duration, op.start - previous.start);
      }
      draft.edges.push_back({last->second, id, EdgeKind::kOrder, false});
    }
    last->second = id;

    const std::uint32_t call = launches.launcher[i];
    const OpId launch = call == trace::kNone ? kNoId : launch_of_call[call];
    if (launch != kNoId) {
      DraftOp& from = draft.ops[launch];
      op.step = from.step;
      op.issued = from.start;
      // Work may start before the call that launched it returns. The launch op then ends at this
      // start; the rest of the call becomes part of the delay to the thread's next op.
      from.duration = std::clamp<Nanos>(op.start - from.start, 0, from.duration);
      if (op.start < from.start) ++draft.late_launches;
      draft.edges.push_back({launch, id, EdgeKind::kLaunch, false});
      if (holds_the_host(trace, i, call) && next_on_thread[launch] != kNoId) {
        draft.edges.push_back({id, next_on_thread[launch], EdgeKind::kHostSync, false});
      }
    }
    draft.op_of_event[i] = id;
    draft.ops.push_back(op);
  }
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
