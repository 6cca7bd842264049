// SPDX-License-Identifier: Apache-2.0
// Lists the columns of a packed file. Packer and Unpacker use the same list, so a new table of
// RankTrace needs one statement here. The names are part of the format and must never change their
// meaning. If a file lacks a column, every row has the default value.
#pragma once

#include "weft/trace/events.h"

namespace weft::trace::packed {

/// One member of the rows of a table.
template <class Row, class T>
struct Column {
  const char* name;
  T Row::*member;
};
template <class Row, class T>
Column(const char*, T Row::*) -> Column<Row, T>;

/// Calls one method of `a` per table or column. Archive is Packer or Unpacker; Trace is RankTrace,
/// const for the Packer.
template <class Archive, class Trace>
void describe(Archive& a, Trace& t) {
  a.record("rank", t, Column{"number", &RankTrace::rank}, Column{"world", &RankTrace::world},
           Column{"format", &RankTrace::format},
           Column{"counts_devices", &RankTrace::counts_devices},
           Column{"buffered_sends", &RankTrace::buffered_sends},
           Column{"dataflow", &RankTrace::dataflow}, Column{"host", &RankTrace::host},
           Column{"process", &RankTrace::process}, Column{"cut_at", &RankTrace::cut_at},
           Column{"replica", &RankTrace::replica}, Column{"stage", &RankTrace::stage},
           Column{"shard", &RankTrace::shard}, Column{"epoch", &RankTrace::epoch});
  a.origin("rank.origin", t);
  a.record("facts", t.facts, Column{"total_events", &ProfilerFacts::total_events},
           Column{"python_events", &ProfilerFacts::python_events},
           Column{"shapes", &ProfilerFacts::shapes}, Column{"stacks", &ProfilerFacts::stacks},
           Column{"sync_events", &ProfilerFacts::sync_events},
           Column{"collective_args", &ProfilerFacts::collective_args},
           Column{"memory_events", &ProfilerFacts::memory_events},
           Column{"device_events", &ProfilerFacts::device_events});
  a.names("names", t.names);
  a.texts("devices", t.devices);
  a.table("lanes", t.lanes, Column{"pid", &Lane::pid}, Column{"tid", &Lane::tid},
          Column{"on_device", &Lane::on_device}, Column{"device", &Lane::device},
          Column{"name", &Lane::name});
  // Events are stored in the order of the recording, in which lanes alternate. Two successive
  // events of one lane (or kind) are similar, so each value is predicted from the last value with
  // the same lane or kind.
  a.column("events.kind", t.events.kind, {});
  const auto kinds = a.keys(t.events.kind);
  a.column("events.lane", t.events.lane, kinds);
  a.column("events.start", t.events.start, t.events.lane);
  a.column("events.duration", t.events.duration, t.events.lane);
  a.column("events.name", t.events.name, t.events.lane);
  a.column("events.correlation", t.events.correlation, kinds);
  a.column("events.detail", t.events.detail, kinds);
  a.column("events.external_id", t.events.external_id, t.events.lane);
  a.table("kernels", t.kernels, Column{"shape", &KernelDetail::shape},
          Column{"collective", &KernelDetail::collective},
          Column{"graph_node", &KernelDetail::graph_node});
  a.table("host_ops", t.host_ops, Column{"sequence", &HostOpDetail::sequence},
          Column{"fwd_thread", &HostOpDetail::fwd_thread},
          Column{"input_bytes", &HostOpDetail::input_bytes},
          Column{"input_dims", &HostOpDetail::input_dims},
          Column{"collective", &HostOpDetail::collective});
  a.table("copies", t.copies, Column{"bytes", &CopyDetail::bytes});
  a.table("syncs", t.syncs, Column{"kind", &SyncDetail::kind},
          Column{"stream", &SyncDetail::stream},
          Column{"wait_on_stream", &SyncDetail::wait_on_stream},
          Column{"wait_on_record", &SyncDetail::wait_on_record});
  a.table("memory", t.memory, Column{"bytes", &MemoryDetail::bytes},
          Column{"address", &MemoryDetail::address},
          Column{"total_allocated", &MemoryDetail::total_allocated},
          Column{"total_reserved", &MemoryDetail::total_reserved},
          Column{"device", &MemoryDetail::device});
  a.table("phases", t.phases, Column{"step", &PhaseDetail::step},
          Column{"micro_batch", &PhaseDetail::micro_batch}, Column{"chunk", &PhaseDetail::chunk},
          Column{"sequence", &PhaseDetail::sequence});
  a.table("collectives", t.collectives, Column{"name", &CollectiveDetail::name},
          Column{"dtype", &CollectiveDetail::dtype}, Column{"group", &CollectiveDetail::group},
          Column{"in_elements", &CollectiveDetail::in_elements},
          Column{"out_elements", &CollectiveDetail::out_elements},
          Column{"group_size", &CollectiveDetail::group_size},
          Column{"src", &CollectiveDetail::src}, Column{"dst", &CollectiveDetail::dst},
          Column{"sequence", &CollectiveDetail::sequence});
  a.table("flows", t.flows, Column{"id", &FlowPoint::id}, Column{"lane", &FlowPoint::lane},
          Column{"time", &FlowPoint::time}, Column{"is_start", &FlowPoint::is_start});
  a.table("dependencies", t.dependencies, Column{"before", &Dependency::before},
          Column{"after", &Dependency::after});
  a.table("steps", t.steps, Column{"number", &StepMark::number}, Column{"lane", &StepMark::lane},
          Column{"start", &StepMark::start}, Column{"end", &StepMark::end});
  a.table("groups", t.groups, Column{"name", &ProcessGroup::name},
          Column{"description", &ProcessGroup::description});
  a.lists("groups.ranks", t.groups, &ProcessGroup::ranks);
  a.table("wire_connections", t.wire.connections, Column{"local", &WireConnection::local},
          Column{"peer", &WireConnection::peer}, Column{"peer_rank", &WireConnection::peer_rank},
          Column{"channel", &WireConnection::channel}, Column{"whole", &WireConnection::whole});
  a.table("wire_transfers", t.wire.transfers, Column{"start", &WireTransfer::start},
          Column{"duration", &WireTransfer::duration}, Column{"bytes", &WireTransfer::bytes},
          Column{"offset", &WireTransfer::offset}, Column{"connection", &WireTransfer::connection},
          Column{"outgoing", &WireTransfer::outgoing});
}

}  // namespace weft::trace::packed
