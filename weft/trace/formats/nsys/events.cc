// SPDX-License-Identifier: Apache-2.0
// Reads the tables, with one function per kind of table. The order in read() matters. Strings come
// first, because all other tables refer to them. Device work comes before calls, because only
// device work tells to which GPU of a process a call belongs. Event records come before the waits
// that refer to them. Every table may be missing and every column may be NULL, depending on the
// version of nsys.
#include "weft/trace/formats/nsys/events.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weft::trace::nsys {
namespace {

/// Limit of timestamps; sums and differences of valid times then fit into 64 bits.
constexpr Nanos kLatest = Nanos{1} << 61;
/// Limit of names. nsys stores whole logs of the job's output in the same table as the names.
constexpr std::size_t kLongestName = 64u << 10;
/// The stream id of a wait that belongs to no stream.
constexpr std::int64_t kNoStream = 0xffffffff;

/// Removes CUDA's version suffix, because other profilers write the names without it:
/// "cudaLaunchKernel_v7000" and "cudaMemcpyAsync_ptsz_v7000" become "cudaLaunchKernel" and
/// "cudaMemcpyAsync".
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  // Versions of the CUDA API have at least four digits; a short suffix such as "_v2" is part of the
  // name.
  if (at != std::string_view::npos && name.size() - at >= 6 &&
      name.find_first_not_of("0123456789", at + 2) == std::string_view::npos) {
    name = name.substr(0, at);
  }
  for (const std::string_view per_thread : {"_ptsz", "_ptds"}) {
    if (name.ends_with(per_thread)) name.remove_suffix(per_thread.size());
  }
  return name;
}

/// Returns the name of a value of nsys's ENUM_CUDA_MEMCPY_OPER, as Kineto writes it. The last three
/// values are copies of unified memory. They get the name of their direction.
std::string_view copy_name(std::int64_t kind) {
  constexpr std::array<std::string_view, 14> kNames = {
      "Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH",
      "Memcpy AtoA", "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH",
      "Memcpy PtoP", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"};
  return kind >= 0 && kind < static_cast<std::int64_t>(kNames.size())
             ? kNames[static_cast<std::size_t>(kind)]
             : kNames[0];
}

SyncKind sync_kind(std::int64_t type) {
  constexpr std::array<SyncKind, 4> kKinds = {SyncKind::kContextSync, SyncKind::kEventSync,
                                              SyncKind::kStreamWaitEvent, SyncKind::kStreamSync};
  return type >= 0 && type < 4 ? kKinds[static_cast<std::size_t>(type)] : SyncKind::kContextSync;
}

std::string_view sync_name(SyncKind kind) {
  switch (kind) {
    case SyncKind::kStreamWaitEvent:
      return "Stream Wait Event";
    case SyncKind::kStreamSync:
      return "Stream Sync";
    case SyncKind::kEventSync:
      return "Event Sync";
    case SyncKind::kContextSync:
      break;
  }
  return "Context Sync";
}

std::uint32_t correlation_of(std::optional<std::int64_t> value) {
  return value && *value > 0 && *value < std::int64_t{kNone} ? static_cast<std::uint32_t>(*value)
                                                             : 0;
}

std::uint32_t last_index(std::size_t size) { return static_cast<std::uint32_t>(size - 1); }

}  // namespace

Status Events::read() {
  WEFT_TRY(read_strings());
  WEFT_TRY(read_ranges());
  // Device work comes before calls: it tells for which device a call was made.
  WEFT_TRY(read_kernels());
  WEFT_TRY(read_graphs());
  WEFT_TRY(read_copies());
  WEFT_TRY(read_event_records());
  WEFT_TRY(read_waits());
  WEFT_TRY(read_calls());
  return read_overhead();
}

Status Events::read_strings() {
  WEFT_ASSIGN(Rows rows, database_.select("StringIds", {"id", "value"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    if (const auto id = rows.integer(0)) strings_[*id] = rows.text(1).substr(0, kLongestName);
  }
}

std::string_view Events::string_of(std::optional<std::int64_t> id) const {
  if (!id) return {};
  const auto found = strings_.find(*id);
  return found == strings_.end() ? std::string_view() : found->second;
}

NameId Events::name_of(Draft& draft, std::optional<std::int64_t> string, std::string_view missing) {
  const auto [known, fresh] = draft.names.try_emplace(string.value_or(-1), 0);
  if (fresh) {
    const std::string_view text = string_of(string);
    known->second = draft.trace.names.intern(text.empty() ? missing : without_version(text));
  }
  return known->second;
}

std::int64_t Events::process_of_row(std::optional<std::int64_t> global) const {
  return workers_.names_processes() && global ? process_of(*global) : 0;
}

std::uint32_t Events::host_lane(Draft& draft, std::int64_t global_tid, bool start_end) {
  // NVTX start-end ranges may overlap without nesting, so they get a separate lane.
  const auto key = std::tuple(false, global_tid, std::int64_t{start_end ? 1 : 0});
  const auto next = static_cast<std::uint32_t>(draft.trace.lanes.size());
  const auto [lane, fresh] = draft.lanes.try_emplace(key, next);
  if (fresh) {
    draft.trace.lanes.push_back({false, pid_of(global_tid), tid_of(global_tid), -1,
                                 start_end ? "NVTX start-end ranges" : ""});
  }
  return lane->second;
}

std::uint32_t Events::stream_lane(Draft& draft, std::int64_t device, std::int64_t stream) {
  const auto next = static_cast<std::uint32_t>(draft.trace.lanes.size());
  const auto [lane, fresh] = draft.lanes.try_emplace(std::tuple(true, device, stream), next);
  if (fresh) {
    const bool fits = device >= 0 && device <= std::numeric_limits<std::int32_t>::max();
    draft.trace.lanes.push_back({true, device, stream,
                                 fits ? static_cast<std::int32_t>(device) : -1,
                                 "stream " + std::to_string(stream)});
  }
  return lane->second;
}

bool Events::time_of(const Rows& row, int start, int end, Time& out) {
  const auto begin = row.integer(start);
  const auto over = row.integer(end);
  const auto usable = [](std::int64_t t) { return t >= 0 && t < kLatest; };
  if (!begin || !over || !usable(*begin) || !usable(*over)) {
    ++losses_.without_time;
    return false;
  }
  out.start = *begin;
  out.duration = *over - *begin;
  if (out.duration < 0) {
    ++losses_.negative;
    out.duration = 0;
  }
  return true;
}

// The columns are: start, end, deviceId, streamId, correlationId, globalPid.
bool Events::device_row(const Rows& row, DeviceRow& out) {
  const std::int64_t process = process_of_row(row.integer(5));
  const std::int64_t device = row.integer(2, 0);
  const std::uint32_t worker = workers_.on_device(process, device);
  if (worker == Workers::kNoWorker) {
    ++losses_.helper_events;
    return false;
  }
  if (!time_of(row, 0, 1, out.time)) return false;
  out.draft = &drafts_[worker];
  ++out.draft->trace.facts.total_events;
  out.lane = stream_lane(*out.draft, device, row.integer(3, -1));
  out.correlation = correlation_of(row.integer(4));
  if (out.correlation != 0 && workers_.in_process(process).size() > 1) {
    launched_for_[{process, out.correlation}] = out.draft;
  }
  return true;
}

Status Events::read_kernels() {
  WEFT_ASSIGN(Rows rows,
              database_.select("CUPTI_ACTIVITY_KIND_KERNEL",
                               {"start", "end", "deviceId", "streamId", "correlationId",
                                "globalPid", "demangledName", "shortName", "gridX", "gridY",
                                "gridZ", "blockX", "blockY", "blockZ", "graphNodeId"}));
  std::string shape;
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    DeviceRow row;
    if (!device_row(rows, row)) continue;
    RankTrace& trace = row.draft->trace;
    shape.clear();
    for (int column = 8; column < 14; ++column) {
      shape += std::to_string(rows.integer(column, 1)) + (column == 10 ? "/" : ",");
    }
    shape.pop_back();
    KernelDetail detail;
    detail.shape = trace.names.intern(shape);
    if (const auto node = rows.integer(14)) {
      // The upper half is the id of the graph; the lower half identifies the node.
      detail.graph_node = static_cast<std::uint32_t>(*node & 0x7fffffff);
    }
    trace.kernels.push_back(detail);
    const auto name = string_of(rows.integer(6)).empty() ? rows.integer(7) : rows.integer(6);
    trace.events.add(EventKind::kKernel, row.time.start, row.time.duration,
                     name_of(*row.draft, name, "kernel"), row.lane, row.correlation,
                     last_index(trace.kernels.size()));
  }
}

// With nsys's default --cuda-graph-trace=graph, one row stands for all kernels of a CUDA graph.
Status Events::read_graphs() {
  WEFT_ASSIGN(Rows rows, database_.select("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                          {"start", "end", "deviceId", "streamId", "correlationId",
                                           "globalPid", "graphId"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    DeviceRow row;
    if (!device_row(rows, row)) continue;
    RankTrace& trace = row.draft->trace;
    const NameId name = trace.names.intern("CUDA graph " + std::to_string(rows.integer(6, 0)));
    trace.events.add(EventKind::kKernel, row.time.start, row.time.duration, name, row.lane,
                     row.correlation);
  }
}

Status Events::read_copies() {
  struct Table {
    const char* name;
    EventKind kind;
  };
  for (const Table& table : {Table{"CUPTI_ACTIVITY_KIND_MEMCPY", EventKind::kMemcpy},
                             Table{"CUPTI_ACTIVITY_KIND_MEMSET", EventKind::kMemset}}) {
    // The memset table has no column copyKind; select() then gives NULL.
    WEFT_ASSIGN(Rows rows,
                database_.select(table.name, {"start", "end", "deviceId", "streamId",
                                              "correlationId", "globalPid", "bytes", "copyKind"}));
    for (;;) {
      WEFT_ASSIGN(const bool more, rows.next());
      if (!more) break;
      DeviceRow row;
      if (!device_row(rows, row)) continue;
      RankTrace& trace = row.draft->trace;
      trace.copies.push_back({std::max<Bytes>(rows.integer(6, -1), -1)});
      const bool copy = table.kind == EventKind::kMemcpy;
      trace.events.add(table.kind, row.time.start, row.time.duration,
                       trace.names.intern(copy ? copy_name(rows.integer(7, 0)) : "Memset"),
                       row.lane, row.correlation, last_index(trace.copies.size()));
    }
  }
  return {};
}

Status Events::read_event_records() {
  WEFT_ASSIGN(Rows rows,
              database_.select("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                               {"globalPid", "eventSyncId", "correlationId", "streamId"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    if (const auto id = rows.integer(1)) {
      records_[{process_of_row(rows.integer(0)), *id}] = {correlation_of(rows.integer(2)),
                                                          rows.integer(3, -1)};
    }
  }
}

Status Events::read_waits() {
  WEFT_ASSIGN(Rows rows, database_.select("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                          {"start", "end", "deviceId", "streamId", "correlationId",
                                           "globalPid", "syncType", "contextId", "eventSyncId"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    const std::int64_t process = process_of_row(rows.integer(5));
    // Some versions write a wrong device into these rows, so the device comes from the context.
    const std::int64_t device =
        workers_.device_of(process, rows.integer(7, -1), rows.integer(2, 0));
    const std::uint32_t worker = workers_.on_device(process, device);
    Time time;
    if (worker == Workers::kNoWorker) {
      ++losses_.helper_events;
      continue;
    }
    if (!time_of(rows, 0, 1, time)) continue;
    Draft& draft = drafts_[worker];
    ++draft.trace.facts.total_events;
    SyncDetail detail;
    detail.kind = sync_kind(rows.integer(6, 0));
    detail.stream = rows.integer(3, -1);
    if (detail.stream == kNoStream) detail.stream = -1;
    const auto record = records_.find({process, rows.integer(8, -1)});
    if (record != records_.end() && record->second.correlation > 0) {
      detail.wait_on_record = record->second.correlation;
      detail.wait_on_stream = record->second.stream;
    }
    if (detail.kind == SyncKind::kStreamWaitEvent) {
      ++draft.waits;
      draft.resolved_waits += detail.wait_on_record >= 0 ? 1 : 0;
    }
    draft.trace.syncs.push_back(detail);
    draft.trace.events.add(EventKind::kSync, time.start, time.duration,
                           draft.trace.names.intern(sync_name(detail.kind)),
                           stream_lane(draft, device, detail.stream),
                           correlation_of(rows.integer(4)), last_index(draft.trace.syncs.size()));
  }
}

Status Events::read_calls() {
  WEFT_ASSIGN(Rows rows,
              database_.select("CUPTI_ACTIVITY_KIND_RUNTIME",
                               {"start", "end", "globalTid", "correlationId", "nameId"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    const std::int64_t thread = rows.integer(2, 0);
    const std::int64_t process = process_of_row(thread);
    const auto& owners = workers_.in_process(process);
    Time time;
    if (owners.empty()) ++losses_.helper_events;
    if (owners.empty() || !time_of(rows, 0, 1, time)) continue;
    const std::uint32_t correlation = correlation_of(rows.integer(3));
    // A call that launched work belongs to the rank of that work. Other calls of a process with
    // several GPUs go to all of its ranks.
    const auto launched = launched_for_.find({process, correlation});
    for (const std::uint32_t owner : owners) {
      Draft& draft = drafts_[owner];
      if (launched != launched_for_.end() && launched->second != &draft) continue;
      ++draft.trace.facts.total_events;
      draft.trace.events.add(EventKind::kRuntime, time.start, time.duration,
                             name_of(draft, rows.integer(4), "CUDA call"),
                             host_lane(draft, thread, false), correlation);
    }
  }
}

Status Events::read_overhead() {
  constexpr std::int64_t kQueueFull = 8;  // CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL
  for (const char* table : {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"}) {
    WEFT_ASSIGN(Rows rows,
                database_.select(table, {"start", "end", "globalTid", "nameId", "overheadType"}));
    for (;;) {
      WEFT_ASSIGN(const bool more, rows.next());
      if (!more) break;
      const std::int64_t thread = rows.integer(2, 0);
      Time time;
      const auto& owners = workers_.in_process(process_of_row(thread));
      if (owners.empty() || !time_of(rows, 0, 1, time)) continue;
      for (const std::uint32_t owner : owners) {
        Draft& draft = drafts_[owner];
        ++draft.trace.facts.total_events;
        // The graph builder recognises a full launch queue by the name that Kineto gives it.
        const NameId name = rows.integer(4, 0) == kQueueFull
                                ? draft.trace.names.intern("Command Buffer Full")
                                : name_of(draft, rows.integer(3), "profiler overhead");
        draft.trace.events.add(EventKind::kOverhead, time.start, time.duration, name,
                               host_lane(draft, thread, false));
      }
    }
  }
  return {};
}

}  // namespace weft::trace::nsys
