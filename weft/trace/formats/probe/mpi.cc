// SPDX-License-Identifier: Apache-2.0
// Turns the records of the MPI probe into a RankTrace. A call may refer to a communicator whose
// record comes later in the file, because threads write to separate chunks. So add() only collects.
// calls() looks up the communicators when all records are read.
#include "weft/trace/formats/probe/mpi.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "weft/trace/clock/check.h"

namespace weft::trace::probe {
namespace {

constexpr Nanos kLongest = std::int64_t{1} << 60;
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
constexpr std::int64_t kMostMembers = 1 << 20;

/// The same numbers as enum mpi_kind in probes/mpi/calls.h.
enum MpiKind : std::uint64_t {
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kGather = 6,
  kScatter = 7,
  kAllToAll = 8,
  kBarrier = 9,
  kSend = 10,
  kReceive = 11,
  kScan = 12,
  kKinds = 13,
};
constexpr const char* kNames[kKinds] = {
    "",        "allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather",
    "scatter", "alltoall",  "barrier",   "send",          "recv",      "scan"};

/// Element types by the codes that the probe writes. The probe counts other types in bytes (code
/// 0).
constexpr const char* kTypes[] = {"Byte",  "Char",   "Int",  "Long",
                                  "Float", "Double", "Half", "Short"};

bool is_message(std::uint64_t kind) { return kind == kSend || kind == kReceive; }

}  // namespace

bool MpiRecords::add(LogRecord& record) {
  Fields& fields = record.fields;
  if (record.type == RecordType::kMpiCommunicator) {
    const std::uint64_t number = fields.number();
    Communicator communicator;
    char name[24];
    std::snprintf(name, sizeof name, "0x%llx", static_cast<unsigned long long>(fields.number()));
    communicator.name = name;
    communicator.size = fields.amount();
    fields.amount();  // the rank of this process in the communicator
    const std::int64_t listed = fields.amount();
    std::int64_t member = 0;
    if (listed > kMostMembers) return false;
    for (std::int64_t i = 0; i < listed && fields.ok(); ++i) {
      if (__builtin_add_overflow(member, fields.signed_number(), &member)) return false;
      if (member < -1 || member > kMostMembers) return false;
      communicator.members.push_back(static_cast<std::int32_t>(member));
    }
    if (!fields.ok()) return false;
    return communicators_.try_emplace(number, std::move(communicator)).second;
  }
  const bool waits = record.type == RecordType::kMpiWait;
  if (!waits && record.type != RecordType::kMpiCall) return true;
  Call call;
  call.start = record.time;
  call.thread = record.thread;
  call.duration = fields.amount();
  call.waits = waits;
  if (!waits) {
    call.kind = fields.number();
    call.communicator = fields.number();
    call.sequence = fields.amount() - 1;
    call.elements = fields.amount();
    call.dtype = fields.number();
    call.peer = fields.signed_number();
    call.in_background = fields.number() != 0;
    if (call.kind == 0 || call.kind >= kKinds || call.elements > kMostElements) return false;
  }
  if (!fields.ok() || call.duration > kLongest) return false;
  calls_.push_back(call);
  return true;
}

CollectiveDetail MpiRecords::describe(RankTrace& trace, const Call& call) const {
  CollectiveDetail detail;
  detail.name = trace.names.intern(kNames[call.kind]);
  detail.dtype = trace.names.intern(kTypes[call.dtype < std::size(kTypes) ? call.dtype : 0]);
  detail.in_elements = detail.out_elements = call.elements;
  detail.sequence = call.sequence;
  const auto found = communicators_.find(call.communicator);
  if (found == communicators_.end()) return detail;
  const Communicator& communicator = found->second;
  detail.group = trace.names.intern(communicator.name);
  if (communicator.size > 0 && communicator.size <= std::numeric_limits<std::int32_t>::max()) {
    detail.group_size = static_cast<std::int32_t>(communicator.size);
  }
  // The probe writes the size of the whole array: the output of gathers, and the input of all other
  // collectives. The input of a gather and the output of a scatter are one rank's part of this
  // array.
  const std::int64_t part = communicator.size > 0 ? call.elements / communicator.size : -1;
  if (call.kind == kAllGather || call.kind == kGather) detail.in_elements = part;
  if (call.kind == kReduceScatter || call.kind == kScatter) detail.out_elements = part;
  if (is_message(call.kind)) {
    const auto place = static_cast<std::uint64_t>(call.peer);
    const std::int32_t peer =
        place < communicator.members.size() ? communicator.members[place] : -1;
    detail.src = call.kind == kSend ? trace.rank : peer;
    detail.dst = call.kind == kSend ? peer : trace.rank;
  }
  return detail;
}

std::optional<RankTrace> MpiRecords::calls(const LogHeader& from, const std::string& file,
                                           Diagnostics& diagnostics) const {
  if (calls_.empty()) return std::nullopt;
  RankTrace trace;
  trace.file = file;
  trace.format = "weftlog";
  trace.rank = from.rank;
  trace.world = from.world;
  trace.host = from.host;
  trace.process = from.process;
  trace.facts.total_events = static_cast<std::int64_t>(calls_.size());
  trace.facts.collective_args = true;
  std::vector<Call> calls = calls_;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.start < b.start; });
  std::map<std::int64_t, std::uint32_t> threads;
  std::vector<std::pair<std::uint32_t, Nanos>> background;  // lane, busy until
  const auto add_lane = [&](std::int64_t thread, const char* name) {
    trace.lanes.push_back({false, from.process, thread, -1, name});
    return static_cast<std::uint32_t>(trace.lanes.size() - 1);
  };
  const auto lane_of = [&](const Call& call) {
    if (!call.in_background) {
      const auto known = threads.find(call.thread);
      if (known != threads.end()) return known->second;
      return threads[call.thread] = add_lane(call.thread, "");
    }
    // Non-blocking calls overlap, so each goes to the first free background lane. These lanes have
    // negative numbers, which no thread id of the system can have.
    auto lane = std::find_if(background.begin(), background.end(),
                             [&](const auto& b) { return b.second <= call.start; });
    if (lane == background.end()) {
      const auto number = -1 - static_cast<std::int64_t>(background.size());
      background.emplace_back(add_lane(number, "MPI in the background"), 0);
      lane = std::prev(background.end());
    }
    lane->second = call.start + call.duration;
    return lane->first;
  };
  for (const Call& call : calls) {
    // A communicator of one rank transfers nothing.
    const auto communicator = communicators_.find(call.communicator);
    if (!call.waits && communicator != communicators_.end() && communicator->second.size == 1) {
      continue;
    }
    const std::uint32_t lane = lane_of(call);
    if (call.waits) {
      trace.events.add(EventKind::kHostOp, call.start, call.duration,
                       trace.names.intern("MPI_Wait"), lane);
      continue;
    }
    HostOpDetail op;
    op.collective = static_cast<std::uint32_t>(trace.collectives.size());
    trace.collectives.push_back(describe(trace, call));
    trace.events.add(EventKind::kAnnotation, call.start, call.duration,
                     trace.names.intern(std::string("mpi:") + kNames[call.kind]), lane, 0,
                     static_cast<std::uint32_t>(trace.host_ops.size()));
    trace.host_ops.push_back(op);
  }
  for (const auto& [number, communicator] : communicators_) {
    if (communicator.members.empty()) continue;
    trace.groups.push_back({communicator.name, "", communicator.members});
  }
  if (!check_clock(trace, diagnostics) || trace.events.size() == 0) return std::nullopt;
  return trace;
}

}  // namespace weft::trace::probe
