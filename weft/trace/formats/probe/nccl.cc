// SPDX-License-Identifier: Apache-2.0
// add() stores the records by event id. Then two independent passes read them: transfers() makes
// one transfer per proxy step, and calls() makes a Worker of launches and operations.
// nccl::assemble() turns this Worker into a RankTrace, as it does with the JSON of other NCCL
// plug-ins.
#include "weft/trace/formats/probe/nccl.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace weft::trace::probe {
namespace {

using nccl::Launch;
using nccl::Operation;
using nccl::Span;
using nccl::Worker;

/// The same numbers as enum nccl_kind in probes/nccl/abi.h.
enum NcclKind : std::uint64_t {
  kColl = 1,
  kP2p = 2,
  kProxyOp = 3,
  kProxyStep = 4,
  kKernelCh = 6,
  kCollApi = 9,
  kP2pApi = 10,
  kKernelLaunch = 11,
  kCeColl = 12,
  kNcclKinds = 15,
};
/// States of NCCL's profiler interface that are used here. States 0 to 7 belong to proxy operations
/// (NCCL before 2.27), 9 to 11 to proxy steps, 22 to kernel channels.
enum NcclState : std::uint64_t {
  kLastOfOperation = 7,
  kSendWait = 9,
  kReceiveWait = 10,
  kFlushWait = 11,
  kChannelStop = 22,
};

constexpr Bytes kLargest = std::int64_t{1} << 40;

std::string hexadecimal(std::uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(id));
  return text;
}

}  // namespace

bool NcclRecords::add(LogRecord& record) {
  Fields& fields = record.fields;
  switch (record.type) {
    case RecordType::kNcclCommunicator: {
      const std::uint64_t number = fields.number();
      Communicator communicator;
      communicator.name = hexadecimal(fields.number());
      communicator.ranks = fields.signed_number();
      communicator.rank = fields.signed_number();
      if (!fields.ok()) return false;
      return communicators_.try_emplace(number, std::move(communicator)).second;
    }
    case RecordType::kNcclStart:
      return add_start(record);
    case RecordType::kNcclState:
      return add_state(record);
    case RecordType::kNcclStop: {
      // NCCL 2.28 stops the API call of a collective once per part of the collective; the last stop
      // counts.
      const std::uint64_t id = fields.number();
      if (fields.ok()) stops_[id] = record.time;
      return fields.ok();
    }
    default:
      return true;
  }
}

bool NcclRecords::add_start(LogRecord& record) {
  Fields& fields = record.fields;
  const std::uint64_t id = fields.number();
  Event event;
  event.kind = fields.number();
  event.parent = fields.number();
  event.communicator = fields.number();
  event.thread = record.thread;
  event.span.start = record.time;
  if (event.kind == kColl || event.kind == kCeColl || event.kind == kP2p) {
    Operation operation;
    operation.function = fields.text();
    operation.dtype = fields.text();
    operation.count = fields.amount();
    if (event.kind == kP2p) {
      operation.peer = fields.signed_number();
    } else {
      operation.sequence = fields.amount();
    }
    operation.thread = record.thread;
    event.detail = static_cast<std::uint32_t>(operations_.size());
    operations_.push_back(std::move(operation));
  } else if (event.kind == kProxyOp) {
    ProxyOp op;
    fields.signed_number();  // the process for which the proxy works
    op.channel = fields.amount();
    op.peer = fields.signed_number();
    op.steps = fields.signed_number();
    op.chunk = fields.signed_number();
    op.send = fields.number() != 0;
    event.detail = static_cast<std::uint32_t>(proxy_ops_.size());
    proxy_ops_.push_back(op);
  } else if (event.kind == kKernelCh) {
    fields.number();  // the channel
    event.gpu_start = fields.amount();
  } else if (event.kind == kKernelLaunch) {
    event.number = fields.number();
  }
  if (!fields.ok() || event.kind >= kNcclKinds || !events_.try_emplace(id, event).second)
    return false;
  order_.push_back(id);
  ++records_;
  return true;
}

bool NcclRecords::add_state(LogRecord& record) {
  Fields& fields = record.fields;
  const std::uint64_t id = fields.number();
  const std::uint64_t state = fields.number();
  const std::int64_t argument = fields.amount();
  if (!fields.ok()) return false;
  if (state == kChannelStop) {
    gpu_stops_[id] = argument;
  } else if (state <= kLastOfOperation) {
    moved_[id] = std::max(moved_[id], std::min(argument, kLargest));
  } else if (state == kSendWait || state == kReceiveWait) {
    Step& step = steps_[id];
    step.posted = record.time;
    if (state == kSendWait) step.bytes = std::min(argument, kLargest);
  } else if (state == kFlushWait) {
    Step& step = steps_[id];
    step.arrived = record.time;
    step.bytes = std::min(argument, kLargest);
  }
  return true;
}

// A send lasts from the moment the proxy gives it to the network until its stop. A receive lasts
// from the moment the proxy posts it until the data has arrived, so it includes the wait for the
// sender. Offsets count the recorded bytes of each communicator, peer, channel and direction.
Wire NcclRecords::transfers(Nanos& epoch) const {
  Wire wire;
  using Key = std::tuple<std::uint64_t, std::int64_t, std::int64_t>;  // communicator, peer, channel
  std::map<Key, std::uint32_t> connections;
  std::map<std::pair<std::uint32_t, bool>, std::int64_t> offsets;
  epoch = std::numeric_limits<Nanos>::max();
  for (const std::uint64_t id : order_) {
    const Event& event = events_.at(id);
    if (event.kind != kProxyStep) continue;
    const auto parent = events_.find(event.parent);
    const auto stop = stops_.find(id);
    if (parent == events_.end() || parent->second.kind != kProxyOp || stop == stops_.end())
      continue;
    const ProxyOp& op = proxy_ops_[parent->second.detail];
    const auto known = steps_.find(id);
    const Step step = known == steps_.end() ? Step{} : known->second;
    WireTransfer transfer;
    transfer.outgoing = op.send;
    transfer.start = step.posted >= 0 ? step.posted : event.span.start;
    const Nanos end = !op.send && step.arrived >= 0 ? step.arrived : stop->second;
    if (end < transfer.start) continue;
    transfer.duration = end - transfer.start;
    transfer.bytes = step.bytes;
    if (transfer.bytes <= 0) {
      // Before NCCL 2.27 steps have no size, but the operation reports its bytes; divide these
      // evenly among its steps. If neither is recorded, assume that every step has the largest
      // size.
      const auto moved = moved_.find(event.parent);
      const Bytes all = moved == moved_.end() ? 0 : moved->second;
      transfer.bytes =
          all > 0 && op.steps > 0 ? all / op.steps : std::clamp<Bytes>(op.chunk, 0, kLargest);
    }
    const Key key{event.communicator, op.peer, op.channel};
    const auto next = static_cast<std::uint32_t>(wire.connections.size());
    const auto [connection, fresh] = connections.try_emplace(key, next);
    if (fresh) {
      WireConnection made;
      made.peer_rank = op.peer >= 0 && op.peer < std::numeric_limits<std::int32_t>::max()
                           ? static_cast<std::int32_t>(op.peer)
                           : -1;
      made.channel = static_cast<std::int32_t>(op.channel & 0xff);
      made.whole = false;
      wire.connections.push_back(std::move(made));
    }
    transfer.connection = connection->second;
    std::int64_t& offset = offsets[{transfer.connection, transfer.outgoing}];
    transfer.offset = offset;
    offset += transfer.bytes;
    epoch = std::min(epoch, transfer.start);
    wire.transfers.push_back(transfer);
  }
  if (wire.transfers.empty()) epoch = 0;
  for (WireTransfer& transfer : wire.transfers) transfer.start -= epoch;
  std::stable_sort(wire.transfers.begin(), wire.transfers.end(),
                   [](const WireTransfer& a, const WireTransfer& b) { return a.start < b.start; });
  return wire;
}

// Sets the device times of operations. If kernel channels were recorded, the length comes from the
// GPU's clock, and the end comes from the host's clock, because the host notices the start of a
// channel late. If no channels were recorded, the operation lasts as long as the proxy thread
// worked for it.
void NcclRecords::time_operations(std::vector<Operation>& operations,
                                  const std::vector<std::uint64_t>& ids) const {
  struct Times {
    Span channels, proxy;
    std::int64_t gpu_start = std::numeric_limits<std::int64_t>::max(), gpu_stop = 0;
  };
  std::unordered_map<std::uint64_t, Times> times;
  for (const std::uint64_t id : order_) {
    const Event& event = events_.at(id);
    const auto stop = stops_.find(id);
    if ((event.kind != kKernelCh && event.kind != kProxyOp) || stop == stops_.end()) continue;
    const Span span{event.span.start, stop->second};
    Times& found = times[event.parent];
    (event.kind == kKernelCh ? found.channels : found.proxy).cover(span);
    const auto gpu = gpu_stops_.find(id);
    if (event.kind != kKernelCh || event.gpu_start <= 0 || gpu == gpu_stops_.end()) continue;
    found.gpu_start = std::min(found.gpu_start, event.gpu_start);
    found.gpu_stop = std::max(found.gpu_stop, gpu->second);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto found = times.find(ids[i]);
    if (found == times.end()) continue;
    const Times& t = found->second;
    operations[i].on_device = t.channels.known() ? t.channels : t.proxy;
    if (t.channels.known() && t.gpu_stop > t.gpu_start) {
      operations[i].on_device.start =
          std::max<Nanos>(0, t.channels.end - (t.gpu_stop - t.gpu_start));
    }
  }
}

std::optional<RankTrace> NcclRecords::calls(const LogHeader& from, const std::string& file,
                                            Diagnostics& diagnostics) const {
  Worker worker;
  worker.host = from.host;
  worker.process = from.process;
  worker.records = records_;
  std::map<std::string, nccl::Membership> members;
  for (const auto& [number, c] : communicators_) {
    members[c.name] = {c.name, c.ranks, c.rank};
  }
  for (auto& [name, member] : members) worker.memberships.push_back(member);
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t id : order_) {
    const Event& event = events_.at(id);
    const auto stop = stops_.find(id);
    const Span span{event.span.start, stop == stops_.end() ? event.span.start : stop->second};
    if (!span.known()) continue;
    if (event.kind == kKernelLaunch) {
      const auto stream = static_cast<std::int64_t>(event.number & 0x7fffffffffffffff);
      worker.launches.push_back({span, {}, {}, event.thread, stream});
    } else if (event.kind == kColl || event.kind == kCeColl || event.kind == kP2p) {
      Operation operation = operations_[event.detail];
      const auto communicator = communicators_.find(event.communicator);
      if (communicator != communicators_.end()) operation.communicator = communicator->second.name;
      operation.on_host = span;
      worker.operations.push_back(std::move(operation));
      ids.push_back(id);
    }
  }
  if (worker.operations.empty()) return std::nullopt;
  time_operations(worker.operations, ids);
  std::stable_sort(
      worker.launches.begin(), worker.launches.end(),
      [](const Launch& a, const Launch& b) { return a.on_host.start < b.on_host.start; });
  // NCCL starts the operations of a launch after it has started the launch, so an operation belongs
  // to the last launch before it.
  for (Operation& operation : worker.operations) {
    const auto after = std::upper_bound(
        worker.launches.begin(), worker.launches.end(), operation.on_host.start,
        [](Nanos time, const Launch& launch) { return time < launch.on_host.start; });
    if (after != worker.launches.begin()) {
      operation.launch = static_cast<std::uint32_t>(after - worker.launches.begin() - 1);
    }
  }
  std::vector<Worker> workers;
  workers.push_back(std::move(worker));
  auto ranks = nccl::assemble(std::move(workers), file, "weftlog", diagnostics);
  if (!ranks || ranks->empty()) return std::nullopt;
  RankTrace rank = std::move(ranks->front());
  if (from.rank >= 0) rank.rank = from.rank;
  if (from.world > 0) rank.world = from.world;
  return rank;
}

}  // namespace weft::trace::probe
