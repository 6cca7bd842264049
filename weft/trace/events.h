// SPDX-License-Identifier: Apache-2.0
// What a profiler measured on one rank, as columns. Every reader fills RankTraces, and the graph is
// built from RankTraces only. An *event* is an interval that was measured. An *op*, in the graph,
// is derived from events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"

namespace weft::trace {

enum class EventKind : std::uint8_t {
  kHostOp,      ///< framework operator on a host thread (cpu_op)
  kAnnotation,  ///< user or framework range on a host thread
  kRuntime,     ///< call into the device runtime or driver (cudaLaunchKernel, hipMemcpyAsync ...)
  kKernel,      ///< device kernel
  kMemcpy,      ///< device-side copy
  kMemset,
  kSync,           ///< Kineto record "cuda_sync": says what a wait waited for
  kMemory,         ///< instant of the memory allocator ([memory])
  kGpuAnnotation,  ///< a host range, shown as a range over its device work
  kOverhead,       ///< the profiler's own time
  kPhase,          ///< unit of work in an op timeline (straggler study); has no launch
};

constexpr std::uint32_t kNone = 0xffffffffu;

/// One timeline row: a host thread, a device stream, or an op-timeline track.
struct Lane {
  bool on_device = false;
  std::int64_t pid = 0;
  std::int64_t tid = 0;      ///< thread id; if on_device, the number of the stream
  std::int32_t device = -1;  ///< device ordinal when on_device
  std::string name;          ///< as in the file; may be empty
};

struct KernelDetail {
  NameId shape = 0;                  ///< interned grid and block "gx,gy,gz/bx,by,bz"; 0 if unknown
  std::uint32_t collective = kNone;  ///< index into RankTrace::collectives
  std::uint32_t graph_node = kNone;  ///< CUDA graph node id, if launched by a graph
};

struct HostOpDetail {
  std::int64_t sequence = -1;    ///< autograd sequence number
  std::int64_t fwd_thread = -1;  ///< thread of the forward op, for backward ops
  Bytes input_bytes = -1;        ///< sum over all input tensors; -1 if shapes were not recorded
  NameId input_dims = 0;         ///< "Input Dims" as text, 0 if absent
  std::uint32_t collective = kNone;
};

struct CopyDetail {
  Bytes bytes = -1;
};

enum class SyncKind : std::uint8_t { kStreamWaitEvent, kStreamSync, kEventSync, kContextSync };

struct SyncDetail {
  SyncKind kind = SyncKind::kContextSync;
  std::int64_t stream = -1;
  std::int64_t wait_on_stream = -1;
  std::int64_t wait_on_record =
      -1;  ///< correlation of the call that recorded the event; -1 if unknown
};

struct MemoryDetail {
  Bytes bytes = 0;  ///< positive: allocated; negative: freed
  std::uint64_t address = 0;
  Bytes total_allocated = -1;
  Bytes total_reserved = -1;
  std::int32_t device = -1;  ///< -1: host
};

/// Arguments of a collective or message, from the kernel or from the host op around its launch.
struct CollectiveDetail {
  NameId name = 0;   ///< "allreduce", "broadcast", "send" ... as recorded, 0 if unknown
  NameId dtype = 0;  ///< "Float", "BFloat16" ...
  NameId group = 0;  ///< process group name
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int32_t group_size = -1;
  std::int32_t src = -1;  ///< src and dst are global ranks; messages only
  std::int32_t dst = -1;
  std::int64_t sequence = -1;  ///< per-group sequence number
};

/// Structure of arrays; all columns have the same length. Events are in the order of the file.
/// `detail` is kNone or an index into the table of the event's kind (kernels, host_ops, copies,
/// syncs, memory, phases).
struct Events {
  std::vector<Nanos> start;
  std::vector<Nanos> duration;
  std::vector<NameId> name;
  std::vector<std::uint32_t> lane;
  std::vector<std::uint32_t> correlation;  ///< a host call and its device work share it; 0: none
  std::vector<std::uint32_t> detail;
  std::vector<std::int64_t> external_id;  ///< number of the host op that issued the work; -1: none
  std::vector<EventKind> kind;

  void add(EventKind what, Nanos begin, Nanos length, NameId text, std::uint32_t row,
           std::uint32_t call = 0, std::uint32_t entry = kNone, std::int64_t issuer = -1) {
    start.push_back(begin);
    duration.push_back(length);
    name.push_back(text);
    lane.push_back(row);
    correlation.push_back(call);
    detail.push_back(entry);
    external_id.push_back(issuer);
    kind.push_back(what);
  }
  std::size_t size() const { return start.size(); }
  Nanos end(std::size_t i) const { return start[i] + duration[i]; }
};

/// One end of an arrow that leads from a forward op to its backward op.
struct FlowPoint {
  std::int64_t id = 0;
  std::uint32_t lane = 0;
  Nanos time = 0;
  bool is_start = false;
};

struct StepMark {
  std::int64_t number = 0;
  std::uint32_t lane = 0;
  Nanos start = 0;
  Nanos end = 0;
};

struct ProcessGroup {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;
};

/// Step, micro-batch and model chunk of a unit of work in an op timeline (kPhase).
struct PhaseDetail {
  std::int32_t step = -1;
  std::int32_t micro_batch = -1;
  std::int32_t chunk = -1;
  std::int32_t sequence = -1;
};

/// One event may start only when another has ended. Execution graphs record this; profilers do not.
struct Dependency {
  std::uint32_t before = 0;  ///< indices into RankTrace::events
  std::uint32_t after = 0;
};

/// One end of a TCP connection, or of an NCCL channel to a peer.
struct WireConnection {
  std::string local;  ///< "10.0.0.1:4711", "[fe80::1]:22"; empty for a channel
  std::string peer;
  std::int32_t peer_rank = -1;  ///< -1 if the recorder does not tell it
  std::int32_t channel = -1;    ///< NCCL channel
  /// True if offsets count from the first byte of the connection. Otherwise the offsets cannot be
  /// compared with the offsets at the other end.
  bool whole = true;
};

/// One call that moved the bytes [offset, offset + bytes) of one direction of a connection.
struct WireTransfer {
  Nanos start = 0;  ///< may lie before the first event
  Nanos duration = 0;
  Bytes bytes = 0;
  std::int64_t offset = 0;
  std::uint32_t connection = 0;  ///< index into Wire::connections
  bool outgoing = false;
};

/// The transfers of a process, as probes inside the process recorded them.
struct Wire {
  std::vector<WireConnection> connections;
  std::vector<WireTransfer> transfers;  ///< sorted by start
};

/// What the profiler was configured to record. `weft info` gives advice on what is missing.
struct ProfilerFacts {
  bool shapes = false;
  bool stacks = false;
  bool sync_events = false;      ///< cuda_sync present
  bool collective_args = false;  ///< collectives carry name, size and group
  bool memory_events = false;
  bool device_events = false;
  std::int64_t python_events = 0;  ///< number of Python events; they are not kept
  std::int64_t total_events = 0;   ///< number of all entries of the file, kept or not
};

struct RankTrace {
  std::string file;
  std::string format;  ///< the reader's name
  std::string origin;  ///< the recording that `file` was packed from; empty if it is not packed
  std::int32_t rank = -1;
  std::int32_t world = -1;
  bool counts_devices = false;  ///< until runs are sorted, `rank` numbers the devices of one host
  bool buffered_sends = false;  ///< sends do not wait for their receivers, as in simulators
  bool dataflow = false;        ///< work starts once its inputs are ready, so a pause is a wait
  std::string host;             ///< empty if the file does not tell
  std::int64_t process = -1;
  std::int64_t cut_at = -1;  ///< byte at which the file ends too early; -1 if it is complete
  /// Place in the parallel layout; -1 if the file does not tell.
  std::int32_t replica = -1;  ///< data-parallel rank
  std::int32_t stage = -1;    ///< pipeline stage
  std::int32_t shard = -1;    ///< tensor-parallel rank
  /// Absolute nanoseconds (Unix epoch) of this trace's time 0; event times are relative to it.
  Nanos epoch = 0;

  Interner names;
  Events events;
  std::vector<Lane> lanes;
  std::vector<KernelDetail> kernels;
  std::vector<HostOpDetail> host_ops;
  std::vector<CopyDetail> copies;
  std::vector<SyncDetail> syncs;
  std::vector<MemoryDetail> memory;
  std::vector<PhaseDetail> phases;
  std::vector<CollectiveDetail> collectives;
  std::vector<FlowPoint> flows;
  std::vector<Dependency> dependencies;  ///< sorted by `after`; empty if not recorded
  std::vector<StepMark> steps;           ///< host-side step annotations, sorted by time
  std::vector<ProcessGroup> groups;
  std::vector<std::string> devices;  ///< names; the index is the device ordinal
  Wire wire;
  ProfilerFacts facts;
};

/// A process of the job that is not a rank (a parameter server, a launcher) and of which only
/// transfers were recorded.
struct Bystander {
  std::string file;
  std::string host;
  std::int64_t process = -1;
  std::string role;  ///< "server", "scheduler", "ps" ...; empty if the job does not tell
  Nanos epoch = 0;
  Wire wire;
};

/// One execution of a job: its ranks, in rank order, each at most once.
struct Run {
  std::string label;        ///< folder or common prefix; shown if there are several runs
  std::int32_t world = -1;  ///< world size in the files; if unknown, the number of ranks found
  std::vector<RankTrace> ranks;
  std::vector<Bystander> bystanders;  ///< sorted by role, host and process
  std::vector<RankTrace> services;    ///< parameter servers and a chief; sorted by file
};

}  // namespace weft::trace
