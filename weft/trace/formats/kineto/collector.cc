// SPDX-License-Identifier: Apache-2.0
// Every event goes through add(), which decides by phase: "X" are spans, "i" are allocator events,
// "s" and "f" are the ends of arrows, "M" names threads. A span gets a lane. If it has more facts
// than times and a name, it also gets a record in one of the detail tables of the RankTrace
// (host_ops, kernels, copies, syncs). Most events have no detail, which keeps the trace small.
#include "weft/trace/formats/kineto/collector.h"

#include <algorithm>
#include <limits>

#include "weft/base/decimal.h"
#include "weft/trace/dtype.h"
#include "weft/trace/formats/kineto/file_facts.h"
#include "weft/trace/module_calls.h"

namespace weft::trace::kineto {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

// Returns the number at the end of a text; 0 if there is none. Depending on its version, Kineto
// writes a process, thread or stream as "25738", 7 or "stream 7".
std::int64_t trailing_int(std::string_view text) {
  if (const auto whole = parse_int(text)) return *whole;
  const std::size_t last = text.find_last_not_of("0123456789");
  return parse_int(text.substr(last + 1)).value_or(0);
}

std::int32_t narrow(std::int64_t value, std::int32_t missing) {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return missing;  // also kAbsent
  }
  return static_cast<std::int32_t>(value);
}

std::int64_t or_else(std::int64_t value, std::int64_t missing) {
  return value == kAbsent ? missing : value;
}

std::uint32_t last_index(std::size_t size) { return static_cast<std::uint32_t>(size - 1); }

SyncKind sync_kind_of(std::string_view text) {
  if (text == "Stream Wait Event") return SyncKind::kStreamWaitEvent;
  if (text == "Stream Sync" || text == "Stream Synchronize") return SyncKind::kStreamSync;
  if (text == "Event Sync" || text == "Event Synchronize") return SyncKind::kEventSync;
  return SyncKind::kContextSync;
}

// Returns the kind of event that a span becomes; nullopt if spans of this category are only
// counted.
std::optional<EventKind> kind_of(const RawEvent& event) {
  switch (event.category) {
    case Category::kOperator:
      // Before 2022, Kineto wrote annotations as operators.
      return event.name.starts_with(kStepPrefix) ? EventKind::kAnnotation : EventKind::kHostOp;
    case Category::kAnnotation:
      return EventKind::kAnnotation;
    case Category::kRuntime:
      return EventKind::kRuntime;
    case Category::kKernel:
      return EventKind::kKernel;
    case Category::kMemcpy:
      return EventKind::kMemcpy;
    case Category::kMemset:
      return EventKind::kMemset;
    case Category::kSync:
      return EventKind::kSync;
    case Category::kGpuAnnotation:
      return EventKind::kGpuAnnotation;
    case Category::kOverhead:
      return EventKind::kOverhead;
    default:
      return std::nullopt;
  }
}

// Whether events of a kind belong to a stream. Otherwise they belong to a host thread.
bool is_device(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset ||
         kind == EventKind::kSync || kind == EventKind::kGpuAnnotation;
}

// Appends "24,1,1" from "[24, 1, 1]".
void append_dim3(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c != '[' && c != ']' && c != ' ' && c != '\n') out.push_back(c);
  }
}

// Returns the process that trains. A file may contain a few events of helper processes, such as
// data loaders. So the process with the most host events is taken.
std::int64_t busiest_process(const RankTrace& trace) {
  std::vector<std::int64_t> events(trace.lanes.size(), 0);
  for (const std::uint32_t lane : trace.events.lane) ++events[lane];
  std::map<std::int64_t, std::int64_t> by_process;
  std::int64_t best = -1;
  for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
    const Lane& lane = trace.lanes[i];
    if (lane.on_device || lane.pid <= 0) continue;
    by_process[lane.pid] += events[i];
    if (best < 0 || by_process[lane.pid] > by_process[best]) best = lane.pid;
  }
  return best;
}

}  // namespace

std::size_t Collector::LaneKeyHash::operator()(const LaneKey& key) const {
  const auto mixed = static_cast<std::uint64_t>(key.pid) * 0x9e3779b97f4a7c15u +
                     static_cast<std::uint64_t>(key.tid) * 2 + (key.on_device ? 1 : 0);
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

// Device events are on the lane of their stream: the argument "stream" if there is one, else the
// "tid". Host events are on the lane of their thread.
std::uint32_t Collector::lane_of(const RawEvent& event, bool on_device) {
  const LaneKey key{on_device, trailing_int(event.pid),
                    on_device && event.stream != kAbsent ? event.stream : trailing_int(event.tid)};
  if (last_lane_ != kNone && key == last_key_) return last_lane_;
  const auto [found, fresh] = lanes_.try_emplace(key, static_cast<std::uint32_t>(lanes_.size()));
  if (fresh) {
    const std::int64_t device = on_device ? or_else(event.device, key.pid) : -1;
    trace_.lanes.push_back({on_device, key.pid, key.tid, narrow(device, -1), {}});
  }
  last_key_ = key;
  last_lane_ = found->second;
  return last_lane_;
}

void Collector::add(const RawEvent& event) {
  ++trace_.facts.total_events;
  switch (event.phase) {
    case 'X':
      add_complete(event);
      break;
    case 'i':
    case 'I':
      add_memory(event);
      break;
    case 's':
    case 'f':
    case 't':
      add_flow(event);
      break;
    case 'M':
      add_metadata(event);
      break;
    default:
      break;
  }
}

// Correlation ids that do not fit into 32 bits become 0 (none).
void Collector::push(EventKind kind, const RawEvent& event, std::uint32_t lane, Nanos start,
                     Nanos duration, std::uint32_t detail) {
  const bool fits = event.correlation > 0 && event.correlation < std::int64_t{kNone};
  trace_.events.add(kind, start, duration, trace_.names.intern(event.name), lane,
                    fits ? static_cast<std::uint32_t>(event.correlation) : 0, detail,
                    or_else(event.external, -1));
}

void Collector::add_complete(const RawEvent& event) {
  auto kind = kind_of(event);
  if (event.category == Category::kPython) {
    ++trace_.facts.python_events;
    // Python frames are most of a file that has stacks. Only calls of modules are kept, because
    // they show the layers of the model.
    if (!event.name.starts_with(kModulePrefix)) return;
    kind = EventKind::kAnnotation;
  }
  if (!kind) {
    if (event.category == Category::kUnknown) ++losses_.unknown_categories[std::string(event.cat)];
    return;
  }
  // Without "dur" an event has length 0. A "dur" that does not parse (NaN) makes it unusable.
  const auto start = parse_thousandths(event.ts);
  auto duration = event.dur.empty() ? 0 : parse_thousandths(event.dur);
  if (!start || !duration) {
    ++losses_.without_time;
    return;
  }
  if (*duration < 0) {
    ++losses_.negative_duration;
    duration = 0;
  }
  const std::uint32_t lane = lane_of(event, is_device(*kind));
  std::uint32_t detail = kNone;
  switch (*kind) {
    case EventKind::kHostOp:
      detail = host_detail(event);
      break;
    case EventKind::kAnnotation:
      detail = host_detail(event);
      if (event.name.starts_with(kStepPrefix)) add_step(event, lane, *start, *duration);
      break;
    case EventKind::kKernel:
      trace_.facts.device_events = true;
      detail = kernel_detail(event);
      break;
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      trace_.facts.device_events = true;
      if (event.bytes != kAbsent) {
        trace_.copies.push_back({event.bytes});
        detail = last_index(trace_.copies.size());
      }
      break;
    case EventKind::kSync:
      trace_.facts.sync_events = true;
      detail = sync_detail(event);
      break;
    default:
      break;
  }
  push(*kind, event, lane, *start, *duration, detail);
}

void Collector::add_step(const RawEvent& event, std::uint32_t lane, Nanos start, Nanos duration) {
  const auto number = parse_int(event.name.substr(kStepPrefix.size()));
  if (number) trace_.steps.push_back({*number, lane, start, start + duration});
}

// Device type 0 is the CPU, whose device is -1 in a RankTrace.
void Collector::add_memory(const RawEvent& event) {
  if (event.name != "[memory]" || event.alloc_bytes == kAbsent) return;
  const auto time = parse_thousandths(event.ts);
  if (!time) {
    ++losses_.without_time;
    return;
  }
  trace_.facts.memory_events = true;
  const std::int32_t device = event.device_type == 0 ? -1 : narrow(event.device_id, -1);
  trace_.memory.push_back({event.alloc_bytes, static_cast<std::uint64_t>(or_else(event.address, 0)),
                           or_else(event.total_allocated, -1), or_else(event.total_reserved, -1),
                           device});
  push(EventKind::kMemory, event, lane_of(event, false), *time, 0,
       last_index(trace_.memory.size()));
}

// Arrows are kept only if they connect a forward operator with its backward operator. Phase 's' is
// the start of an arrow.
void Collector::add_flow(const RawEvent& event) {
  if (event.category != Category::kForwardBackward) return;
  const auto time = parse_thousandths(event.ts);
  const auto id = parse_int(event.id);
  if (!time || !id) return;
  trace_.flows.push_back({*id, lane_of(event, false), *time, event.phase == 's'});
}

void Collector::add_metadata(const RawEvent& event) {
  if (event.name != "thread_name") return;
  lane_names_[{trailing_int(event.pid), trailing_int(event.tid)}] = event.arg_name;
}

// Returns the launch dimensions as "GRID/BLOCK", for example "24,1,1/128,1,1". The text is
// interned, because most kernels repeat a few shapes.
NameId Collector::shape_of(const RawEvent& event) {
  if (event.grid.empty() || event.block.empty()) return 0;
  scratch_.clear();
  append_dim3(scratch_, event.grid);
  scratch_.push_back('/');
  append_dim3(scratch_, event.block);
  return trace_.names.intern(scratch_);
}

// Returns the index of the collective that an event describes; kNone for other events. The host
// call of a collective may have these arguments, and so may its kernel.
std::uint32_t Collector::collective_of(const RawEvent& event) {
  const bool any = !event.collective.empty() || event.in_elements != kAbsent ||
                   event.group_size != kAbsent || !event.group.empty();
  if (!any) return kNone;
  trace_.facts.collective_args = true;
  const bool point_to_point = event.src != kAbsent || event.dst != kAbsent;
  // In point-to-point messages "Rank" is the peer, not the recording rank.
  if (!point_to_point) rank_seen_ = std::max(rank_seen_, narrow(event.rank, -1));
  largest_group_ = std::max(largest_group_, narrow(event.group_size, -1));
  note_group(event);
  CollectiveDetail detail;
  detail.name = trace_.names.intern(event.collective);
  detail.dtype = trace_.names.intern(event.dtype);
  detail.group = trace_.names.intern(event.group);
  detail.in_elements = or_else(event.in_elements, -1);
  detail.out_elements = or_else(event.out_elements, -1);
  detail.group_size = narrow(event.group_size, -1);
  detail.src = narrow(event.src, -1);
  detail.dst = narrow(event.dst, -1);
  detail.sequence = or_else(event.group_sequence, -1);
  trace_.collectives.push_back(detail);
  return last_index(trace_.collectives.size());
}

// Files from early 2024 have no list of process groups, so the groups are gathered from the calls.
// If the file has a list, that list replaces these groups.
void Collector::note_group(const RawEvent& event) {
  if (event.group.empty() || event.group_ranks.size() <= 4) return;
  const auto found = groups_.find(event.group);
  if (found != groups_.end() && !found->second.ranks.empty()) return;
  ProcessGroup group{std::string(event.group), std::string(event.group_description),
                     parse_ranks(event.group_ranks)};
  if (!group.ranks.empty()) groups_.insert_or_assign(group.name, std::move(group));
}

// Returns the index of the event's detail record; kNone if there is nothing to record. All
// functions called *_detail() return such an index.
std::uint32_t Collector::host_detail(const RawEvent& event) {
  trace_.facts.stacks |= event.has_stack;
  HostOpDetail detail;
  detail.collective = collective_of(event);
  const bool shaped = event.input_dims.size() > 2;
  if (!shaped && event.sequence == kAbsent && detail.collective == kNone) return kNone;
  detail.sequence = or_else(event.sequence, -1);
  detail.fwd_thread = or_else(event.fwd_thread, -1);
  if (shaped) {
    trace_.facts.shapes = true;
    detail.input_dims = trace_.names.intern(event.input_dims);
    detail.input_bytes = input_bytes(event.input_dims, event.input_types, event.dtype);
  }
  trace_.host_ops.push_back(detail);
  return last_index(trace_.host_ops.size());
}

std::uint32_t Collector::kernel_detail(const RawEvent& event) {
  KernelDetail detail;
  detail.shape = shape_of(event);
  detail.collective = collective_of(event);
  if (event.graph_node > 0) detail.graph_node = static_cast<std::uint32_t>(event.graph_node);
  if (detail.shape == 0 && detail.collective == kNone && detail.graph_node == kNone) return kNone;
  trace_.kernels.push_back(detail);
  return last_index(trace_.kernels.size());
}

std::uint32_t Collector::sync_detail(const RawEvent& event) {
  // Some versions give the kind as an argument, others as the name of the event.
  const std::string_view kind = event.sync_kind.empty() ? event.name : event.sync_kind;
  trace_.syncs.push_back({sync_kind_of(kind), or_else(event.stream, -1),
                          or_else(event.wait_on_stream, -1), or_else(event.wait_on_record, -1)});
  return last_index(trace_.syncs.size());
}

void Collector::finish() {
  for (Lane& lane : trace_.lanes) {
    const auto name = lane_names_.find({lane.pid, lane.tid});
    if (name == lane_names_.end()) continue;
    // A stream and a thread may have the same number. The name starts with "stream" for a stream.
    if (name->second.starts_with("stream") == lane.on_device) lane.name = name->second;
  }
  std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
  trace_.process = busiest_process(trace_);
  trace_.facts.stacks |= trace_.facts.python_events > 0;
  for (const auto& [name, group] : groups_) trace_.groups.push_back(group);
}

}  // namespace weft::trace::kineto
