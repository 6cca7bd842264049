// SPDX-License-Identifier: Apache-2.0
// The columns of one device's rank, as events of its planes and of its host threads come in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/xplane/raw_space.h"

namespace weft::trace::xplane {

/// The stats that Weft reads, by the numbers that they have in one plane.
struct StatIds {
  explicit StatIds(const RawPlane& plane);

  std::uint32_t correlation_id, step_num, group_id, root, device_ordinal, hlo_op, hlo_module,
      program_id, kernel_details, memcpy_details, memset_details, process_id, profile_start_time,
      device_vendor, device_type, group_key, instance_key, group_size, node, kernel_type, execution,
      run, requested_bytes, tf_op;
};

/// An event with all its numbers looked up. Texts point into the plane.
struct DecodedEvent {
  std::string_view name;
  std::string_view text;               ///< as the file has it; on TPUs the whole instruction
  std::string_view instruction;        ///< "all-reduce.1", if the event is one of XLA
  std::string_view program;            ///< "jit_step"
  std::string_view kernel, copy, set;  ///< details in words
  std::int64_t program_number = -1;
  std::int64_t step = -1;   ///< of an annotation that marks one
  std::int64_t group = -1;  ///< numbers steps where nobody else does
  bool root = false;
  std::int32_t device_ordinal = -1;
  std::uint32_t correlation = 0;
  std::int64_t group_key = -1;     ///< of TensorFlow's collectives: who takes part
  std::int64_t instance_key = -1;  ///< ... and which one it is; workers agree on both
  std::int64_t group_size = -1;
  Bytes moved_bytes = -1;        ///< the array that a collective works on
  std::string_view node;         ///< of a graph that an executor runs
  std::string_view kernel_type;  ///< ... and what it does: "_Recv"
  std::int64_t execution = -1;   ///< of that graph; a number that all tasks agree on
  std::int64_t run = -1;         ///< the same number, where an executor runs what is ready
  Bytes requested_bytes = -1;    ///< of an allocation
  std::string_view allocates;    ///< ... and what it is for
  Nanos start = 0;
  Nanos duration = 0;

  Nanos end() const { return start + duration; }
};

/// All but name and times.
DecodedEvent decode_stats(const RawPlane& plane, std::size_t event, const StatIds& ids);
/// 0 if the number is no correlation.
std::uint32_t to_correlation(std::int64_t value);

/// A step that a host thread marked.
struct HostStep {
  std::int64_t number = 0;
  bool root = false;
  const RawLine& line;
  Nanos start = 0;
  Nanos end = 0;
};

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

  /// How many devices the file holds.
  void set_device_count(std::size_t count) { device_count_ = count; }
  void describe_device(const RawPlane& plane, const StatIds& ids);
  std::uint32_t lane(bool on_device, std::string_view plane, const RawLine& line);
  /// The one stream of a CPU device, whose ops run on whichever thread is free.
  std::uint32_t cpu_lane();
  void add(EventKind kind, const DecodedEvent& event, std::uint32_t lane, std::uint32_t detail);
  /// Kernels, copies and collectives. `has_async`: the transfer of a started collective has an
  /// event of its own; else the instruction that waits for its end stands for it.
  void add_work(const DecodedEvent& event, std::uint32_t lane, bool async, bool has_async);
  /// A collective that TensorFlow runs on a host thread; `type` names its kind.
  void add_host_collective(const DecodedEvent& event, std::uint32_t lane, std::string_view type);
  /// A tensor from another task, on row `row` of those; see receives.h.
  void add_receive(const std::string& name, std::int64_t execution, std::int64_t row, Nanos start,
                   Nanos duration, Bytes bytes);
  void add_device_step(const DecodedEvent& event, std::uint32_t lane);
  /// Takes the steps of the host, or those of the device if the host marked none.
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
