// SPDX-License-Identifier: Apache-2.0
// Reads the table of NVTX ranges: framework operators, ranges of the user, and NCCL's own calls.
#include "weft/trace/formats/nccl/describe.h"
#include "weft/trace/formats/nsys/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace::nsys {
namespace {

// Values of ENUM_NSYS_EVENT_TYPE. Other types are marks and the names of threads and domains.
constexpr std::int64_t kPushPop = 59;
constexpr std::int64_t kStartEnd = 60;

enum Column { kStart, kEnd, kType, kThread, kText, kTextId, kJson, kJsonId };

std::uint32_t last_range_index(std::size_t size) { return static_cast<std::uint32_t>(size - 1); }

}  // namespace

Status Events::read_ranges() {
  WEFT_ASSIGN(Rows rows,
              database_.select("NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "text",
                                               "textId", "jsonText", "jsonTextId"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    const std::int64_t type = rows.integer(kType, kPushPop);
    if (type != kPushPop && type != kStartEnd) continue;
    const auto& owners = workers_.in_process(process_of_row(rows.integer(kThread)));
    if (owners.empty()) {
      ++losses_.helper_events;
      continue;
    }
    if (rows.integer(kStart) && !rows.integer(kEnd)) {
      ++losses_.open_ranges;
      continue;
    }
    Time time;
    if (!time_of(rows, kStart, kEnd, time)) continue;
    std::string_view text = rows.text(kText);
    if (text.empty()) text = string_of(rows.integer(kTextId));
    // A range belongs to a thread, and so to every rank of the process.
    for (const std::uint32_t owner : owners) add_range(drafts_[owner], rows, text, time);
  }
}

void Events::add_range(Draft& draft, const Rows& row, std::string_view text, const Time& time) {
  RankTrace& trace = draft.trace;
  ++trace.facts.total_events;
  const std::int64_t thread = row.integer(kThread, 0);
  const bool start_end = row.integer(kType, kPushPop) == kStartEnd;
  const RangeText range = parse_range(text);
  HostOpDetail detail;
  detail.sequence = range.sequence;
  if (range.sizes.size() > 2) {
    detail.input_dims = trace.names.intern(range.sizes);
    trace.facts.shapes = true;
  }
  if (text.starts_with("nccl")) {
    const std::string_view json = row.text(kJson);
    const auto payload = parse_nccl_payload(json.empty() ? string_of(row.integer(kJsonId)) : json);
    if (payload) detail.collective = collective_of(draft, text, *payload);
  }
  std::uint32_t entry = kNone;
  if (detail.sequence >= 0 || detail.input_dims != 0 || detail.collective != kNone) {
    trace.host_ops.push_back(detail);
    entry = last_range_index(trace.host_ops.size());
  }
  // NCCL's calls count as host ops, like the operators of the framework.
  const bool is_op = range.is_op || detail.collective != kNone;
  trace.events.add(is_op ? EventKind::kHostOp : EventKind::kAnnotation, time.start, time.duration,
                   trace.names.intern(range.name), host_lane(draft, thread, start_end), 0, entry);
  const StepText step = parse_step(range.name);
  if (step.sort != StepSort::kNone) {
    // A step is always on the lane of its thread, even if a start-end range marks it.
    const std::uint32_t lane = host_lane(draft, thread, false);
    draft.steps.push_back({step, {step.number, lane, time.start, time.start + time.duration}});
  }
}

// Returns the index of the collective that a range of NCCL describes; kNone if the range has no
// size in bytes. The ranges that create a communicator tell the number of its ranks, which is kept
// for the collectives after it.
std::uint32_t Events::collective_of(Draft& draft, std::string_view function,
                                    const NcclPayload& payload) {
  if (payload.ranks > 0) draft.communicators[payload.communicator] = payload;
  if (payload.bytes < 0 || kind_from_name(function) == CollectiveKind::kOther) return kNone;
  nccl::ApiCall call;
  call.function = function;
  call.count = payload.bytes;
  call.group = payload.communicator;
  const auto group = draft.communicators.find(payload.communicator);
  if (group != draft.communicators.end()) call.group_size = group->second.ranks;
  RankTrace& trace = draft.trace;
  trace.facts.collective_args = true;
  trace.collectives.push_back(nccl::describe(trace.names, call));
  const std::uint32_t index = last_range_index(trace.collectives.size());
  if (payload.peer >= 0) draft.peers.push_back({index, payload.communicator, payload.peer});
  return index;
}

}  // namespace weft::trace::nsys
