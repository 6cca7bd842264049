// SPDX-License-Identifier: Apache-2.0
// verify() checks all values that later code uses without checking them again. The reader of packed
// files calls it, because a damaged or forged file may contain any number.
#include "weft/trace/verify.h"

#include <algorithm>
#include <limits>

namespace weft::trace {
namespace {

/// Returns an Error that names the table `what`, unless `holds` is true.
Status require(bool holds, const char* what) {
  if (holds) return {};
  return fail(ErrorCode::kBadInput, std::string("the recording contradicts itself: ") + what);
}

/// Number of rows of the table with the details of this kind of events; 0 if the kind has no
/// details.
std::size_t details_of(const RankTrace& trace, EventKind kind) {
  switch (kind) {
    case EventKind::kHostOp:
    case EventKind::kAnnotation:
      return trace.host_ops.size();
    case EventKind::kKernel:
      return trace.kernels.size();
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      return trace.copies.size();
    case EventKind::kSync:
      return trace.syncs.size();
    case EventKind::kMemory:
      return trace.memory.size();
    case EventKind::kPhase:
      return trace.phases.size();
    case EventKind::kRuntime:
    case EventKind::kGpuAnnotation:
    case EventKind::kOverhead:
      return 0;
  }
  return 0;
}

/// Whether one event is valid. The end of an event must fit into 64 bits, too.
bool is_valid(const RankTrace& trace, std::size_t i) {
  const Events& e = trace.events;
  return e.kind[i] <= EventKind::kPhase && e.start[i] >= 0 && e.duration[i] >= 0 &&
         e.duration[i] <= std::numeric_limits<Nanos>::max() - e.start[i] &&
         e.lane[i] < trace.lanes.size() && e.name[i] < trace.names.size() &&
         (e.detail[i] == kNone || e.detail[i] < details_of(trace, e.kind[i]));
}

template <class Rows, class Test>
bool all(const Rows& rows, Test test) {
  return std::all_of(rows.begin(), rows.end(), test);
}

}  // namespace

Status verify(const RankTrace& trace) {
  const Events& e = trace.events;
  const std::size_t n = e.size();
  WEFT_TRY(require(n > 0 && e.duration.size() == n && e.name.size() == n && e.lane.size() == n &&
                       e.correlation.size() == n && e.detail.size() == n &&
                       e.external_id.size() == n && e.kind.size() == n,
                   "columns of events differ in length"));
  for (std::size_t i = 0; i < n; ++i) WEFT_TRY(require(is_valid(trace, i), "events"));

  const auto name = [&](NameId id) { return id < trace.names.size(); };
  const auto lane = [&](std::uint32_t index) { return index < trace.lanes.size(); };
  const auto collective = [&](std::uint32_t index) {
    return index == kNone || index < trace.collectives.size();
  };
  WEFT_TRY(
      require(all(trace.kernels,
                  [&](const KernelDetail& d) { return name(d.shape) && collective(d.collective); }),
              "kernels"));
  WEFT_TRY(require(
      all(trace.host_ops,
          [&](const HostOpDetail& d) { return name(d.input_dims) && collective(d.collective); }),
      "host_ops"));
  WEFT_TRY(require(
      all(trace.syncs, [](const SyncDetail& d) { return d.kind <= SyncKind::kContextSync; }),
      "syncs"));
  WEFT_TRY(require(all(trace.collectives,
                       [&](const CollectiveDetail& d) {
                         return name(d.name) && name(d.dtype) && name(d.group);
                       }),
                   "collectives"));
  WEFT_TRY(require(all(trace.flows, [&](const FlowPoint& f) { return lane(f.lane); }), "flows"));
  WEFT_TRY(require(
      all(trace.dependencies, [&](const Dependency& d) { return d.before < n && d.after < n; }),
      "dependencies"));
  const auto connections = trace.wire.connections.size();
  WEFT_TRY(require(
      all(trace.wire.transfers, [&](const WireTransfer& w) { return w.connection < connections; }),
      "wire_transfers"));
  return require(
      all(trace.steps, [&](const StepMark& s) { return lane(s.lane) && s.start <= s.end; }),
      "steps");
}

}  // namespace weft::trace
