// SPDX-License-Identifier: Apache-2.0
// Collects the events of one device, and of the host threads that belong to it, into the columns of
// its RankTrace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/xplane/raw_space.h"

namespace weft::trace::xplane {

/// The ids of the stats that Weft reads. Every plane numbers its stats in its own way.
struct StatIds {
  explicit StatIds(const RawPlane& plane);

  std::uint32_t correlation_id, step_num, group_id, root, device_ordinal, hlo_op, hlo_module,
      program_id, kernel_details, memcpy_details, memset_details, process_id, profile_start_time,
      device_vendor, device_type, group_key, instance_key, group_size, node, kernel_type, execution,
      run, requested_bytes, tf_op;
};

/// An event with its names and stats looked up; -1 or empty if the event lacks a stat. Texts point
/// into the plane.
struct DecodedEvent {
  std::string_view name;
  std::string_view text;         ///< the name in the file; on TPUs the text of the instruction
  std::string_view instruction;  ///< for XLA ops, for example "all-reduce.1"
  std::string_view program;      ///< for XLA ops, for example "jit_step"
  /// Details as text, such as "grid:16,1,1 block:512,1,1", of a kernel, copy or memset.
  std::string_view kernel, copy, set;
  std::int64_t program_number = -1;
  std::int64_t step = -1;   ///< step number of an annotation that marks a step
  std::int64_t group = -1;  ///< the profiler's own step number; used if there is no other
  bool root = false;        ///< the annotation is marked as the outermost one of the step
  std::int32_t device_ordinal = -1;
  std::uint32_t correlation = 0;
  std::int64_t group_key = -1;     ///< TensorFlow collective: identifies the group
  std::int64_t instance_key = -1;  ///< TensorFlow collective: its number; equal on all workers
  std::int64_t group_size = -1;
  Bytes moved_bytes = -1;        ///< size of the array that a collective works on
  std::string_view node;         ///< TensorFlow executor: node of the graph
  std::string_view kernel_type;  ///< TensorFlow executor: type of the node, for example "_Recv"
  std::int64_t execution = -1;   ///< number of the graph's execution; equal on all tasks
  std::int64_t run = -1;         ///< like `execution`, on events that run the ready nodes
  Bytes requested_bytes = -1;    ///< size of an allocation
  std::string_view allocates;    ///< op that an allocation is for
  Nanos start = 0;
  Nanos duration = 0;

  Nanos end() const { return start + duration; }
};

/// Looks up the stats of an event. The result has no name and no times yet.
DecodedEvent decode_stats(const RawPlane& plane, std::size_t event, const StatIds& ids);
/// Narrows a correlation id; 0 (none) if it is out of range.
std::uint32_t to_correlation(std::int64_t value);

/// A step that a host thread marked.
struct HostStep {
  std::int64_t number = 0;
  bool root = false;
  const RawLine& line;
  Nanos start = 0;
  Nanos end = 0;
};

/// One rank while it is being filled.
class RankColumns {
 public:
  RankColumns(std::int32_t device, const HloCollectives& collectives)
      : collectives_(collectives), device_(device) {
    trace_.rank = device;
  }

  RankTrace& trace() { return trace_; }
  std::int32_t device() const { return device_; }
  std::int64_t seen() const { return seen_; }
  std::int64_t python_events() const { return python_; }
  void count_python() { ++python_, ++seen_; }

  /// The number of devices in the file.
  void set_device_count(std::size_t count) { device_count_ = count; }
  void describe_device(const RawPlane& plane, const StatIds& ids);
  std::uint32_t lane(bool on_device, std::string_view plane, const RawLine& line);
  /// The single stream of a CPU device. XLA runs the ops of a CPU device on any free thread, so the
  /// threads are not used as lanes.
  std::uint32_t cpu_lane();
  void add(EventKind kind, const DecodedEvent& event, std::uint32_t lane, std::uint32_t detail);
  /// Adds a kernel, copy, memset or collective. `async` means that the event is on a line of
  /// asynchronous transfers. `has_async` means that the transfer between a "-start" and a "-done"
  /// instruction has a separate event. If it has none, the "-done" instruction counts as the
  /// transfer.
  void add_work(const DecodedEvent& event, std::uint32_t lane, bool async, bool has_async);
  /// Adds a collective that TensorFlow runs on a host thread. `type` is the op type, which names
  /// its kind.
  void add_host_collective(const DecodedEvent& event, std::uint32_t lane, std::string_view type);
  /// Adds a tensor that came from another task (receives.h), on lane number `row` of the receives.
  void add_receive(const std::string& name, std::int64_t execution, std::int64_t row, Nanos start,
                   Nanos duration, Bytes bytes);
  void add_device_step(const DecodedEvent& event, std::uint32_t lane);
  /// Takes the steps that the host marked. If the host marked none, takes the steps that the device
  /// marked.
  void finish(const std::vector<HostStep>& host_steps);

 private:
  std::uint32_t collective(std::string_view op, const DecodedEvent& event);
  void set_group(const HloCollective& known, CollectiveDetail& detail);

  const HloCollectives& collectives_;
  std::int32_t device_;
  std::size_t device_count_ = 1;
  RankTrace trace_;
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> lanes_;
  std::uint32_t cpu_lane_ = kNone;
  std::vector<StepMark> device_steps_;
  std::int64_t seen_ = 0;
  std::int64_t python_ = 0;
};

}  // namespace weft::trace::xplane
