// SPDX-License-Identifier: Apache-2.0
// Assembly::run() does its work in this order:
//   1. find_devices(): find the devices of the file. CPU devices have no plane. They are found by
//      the ordinals that host events name.
//   2. Read the device planes. This fills device_of_, which maps the correlation id of a launch to
//      the device that the launch used.
//   3. Read the host planes. This needs device_of_, to assign threads and calls to devices.
//   4. Add the receives of TensorFlow, which begin and end on different threads.
#include "weft/trace/formats/xplane/assemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "weft/base/decimal.h"
#include "weft/trace/formats/xplane/rank_columns.h"
#include "weft/trace/formats/xplane/receives.h"

namespace weft::trace::xplane {
namespace {

constexpr DiagnosticKind kNameless{
    "xplane-nameless-event", Severity::kDataLoss,
    "events whose name is missing in the file were left out",
    "the names come after the events, so the file is probably cut: copy the file again, or let the "
    "profiler finish writing"};
constexpr DiagnosticKind kBadTime{
    "event-without-time", Severity::kDataLoss,
    "events without a usable start or duration were left out",
    "record again, if possible with a newer version of the framework"};
constexpr DiagnosticKind kRepeats{
    "xplane-derived-line", Severity::kInfo,
    "lines of a device that only repeat the work of its other lines were left out",
    "nothing needs to be done"};

/// Limits of times; sums and differences of valid times then fit into 64 bits.
constexpr std::int64_t kLatestPs = std::int64_t{1} << 61;
constexpr Nanos kLatest = 4'000'000'000 * kSecond;
/// Some profilers count times from 1970, others from the start of the profile. A time larger than
/// this (about 16 years) counts from 1970.
constexpr Nanos kDate = 500'000'000 * kSecond;

bool is_device_plane(const RawPlane& plane) {
  return plane.name.starts_with("/device:") && !plane.name.starts_with("/device:CUSTOM");
}

bool is_host_plane(const RawPlane& plane) {
  return plane.name == "/host:CPU" || plane.name == "/host:CUPTI" ||
         plane.name == "/host:ROCTRACER" || plane.name == "/host:TPU-runtime" ||
         plane.name == "/host:python-tracer";
}

/// Returns the device number in the name of a plane: "/device:GPU:3" and "/device:TPU:3 SparseCore
/// 1" both belong to device 3.
std::int32_t device_number(std::string_view plane) {
  plane.remove_prefix(std::min(plane.find_last_of(':') + 1, plane.size()));
  const auto number = parse_int(plane.substr(0, plane.find(' ')));
  return number && *number >= 0 && *number < (1 << 20) ? static_cast<std::int32_t>(*number) : 0;
}

/// TPU profiles name an op by the whole text of its instruction. Returns the name of the
/// instruction: "fusion.3" for "%fusion.3 = f32[8]{0} fusion(...)". Returns other names unchanged.
std::string_view instruction_name(std::string_view text) {
  if (text.find(" = ") == std::string_view::npos) return text;
  return text.substr(text.front() == '%' ? 1 : 0, text.find(" = ") - (text.front() == '%' ? 1 : 0));
}

/// TensorFlow names an op "scope/name:Type". Returns the type; empty if the text is not such a
/// name. "EagerService:..." has the same form, but it is a service that waits for the work of
/// others.
std::string_view op_type(std::string_view text) {
  if (text.starts_with("EagerService:")) return {};
  const std::size_t colon = text.find(':');
  const bool is_op = colon != std::string_view::npos && text.find("::") == std::string_view::npos &&
                     text.find(' ') == std::string_view::npos;
  return is_op ? text.substr(colon + 1) : std::string_view();
}

/// Whether an event is a collective that TensorFlow runs on a host thread, for example
/// "scope/CollectiveReduceV2:CollectiveReduceV2".
bool is_host_collective(const DecodedEvent& event) {
  return op_type(event.text).starts_with("Collective");
}

/// The event that marks the end of a collective. The collective's own event ends later, because it
/// also contains the ops that waited for the collective.
constexpr std::string_view kCollectiveDone = "CollectiveExecutor::ExecuteAsync::Done";
/// Purpose of the buffers that a ring collective allocates.
constexpr std::string_view kRingBuffer = "CollectiveAdapterImpl::TempChunk";
constexpr Bytes kLargest = Bytes{1} << 40;
/// Event that tells the size of a group.
constexpr std::string_view kCollectiveGroup = "CollectiveExecutor::CompleteParams";

/// What a line of a device plane contains.
enum class LineUse {
  kWork,
  kAsyncWork,  ///< transfers that a "-start" instruction began
  kSteps,
  kModules,  ///< executions of whole XLA programs
  kDerived,  ///< a repetition of other lines
};

class Assembly {
 public:
  Assembly(const RawSpace& space, const std::string& file, Diagnostics& diagnostics)
      : space_(space), file_(file), diagnostics_(diagnostics) {}

  std::vector<RankTrace> run() {
    find_devices();
    for (const RawPlane& plane : space_.planes) {
      if (is_device_plane(plane) && !plane.lines.empty()) add_device_plane(plane);
    }
    for (const RawPlane& plane : space_.planes) {
      if (is_host_plane(plane)) add_host_plane(plane);
    }
    receives_.finish(ranks_.begin()->second);
    report();
    std::vector<RankTrace> traces;
    for (auto& [device, rank] : ranks_) {
      rank.finish(host_steps_);
      RankTrace& trace = rank.trace();
      if (trace.events.size() == 0) continue;
      trace.file = file_;
      trace.format = "xplane";
      trace.host = space_.hosts.empty() ? std::string() : space_.hosts.front();
      trace.process = process_;
      trace.counts_devices = true;
      trace.epoch = epoch_;
      trace.facts.total_events = rank.seen();
      trace.facts.python_events = rank.python_events();
      traces.push_back(std::move(trace));
    }
    return traces;
  }

 private:
  void find_devices() {
    bool dates = false;
    Nanos start = 0;
    for (const RawPlane& plane : space_.planes) {
      const StatIds ids(plane);
      for (const RawStat& fact : plane.facts) {
        if (fact.name == ids.process_id) process_ = fact.value;
        if (fact.name == ids.profile_start_time) start = fact.value;
      }
      for (const RawLine& line : plane.lines) dates = dates || line.timestamp_ns > kDate;
      if (is_device_plane(plane) && !plane.lines.empty()) add_rank(device_number(plane.name));
      if (!is_host_plane(plane)) continue;
      for (const RawStat& stat : plane.stats) {
        // XLA's CPU devices have no plane; their ops are host events with an ordinal.
        if (stat.name == ids.device_ordinal && stat.kind == RawStat::Kind::kNumber &&
            stat.value >= 0 && stat.value < (1 << 20)) {
          ordinals_.insert(static_cast<std::int32_t>(stat.value));
        }
      }
    }
    if (!dates && start > 0 && start < kLatest) epoch_ = start;
    cpu_devices_ = ranks_.empty() && !ordinals_.empty();
    if (cpu_devices_) {
      for (const std::int32_t ordinal : ordinals_) add_rank(ordinal);
    }
    if (ranks_.empty()) add_rank(0);
    for (auto& [device, rank] : ranks_) rank.set_device_count(ranks_.size());
  }

  void add_rank(std::int32_t device) { ranks_.try_emplace(device, device, space_.collectives); }

  LineUse use_of(const RawPlane& plane, const RawLine& line, bool has_streams) const {
    if (line.name == "Steps") return LineUse::kSteps;
    if (line.name == "XLA Modules") return LineUse::kModules;
    if (line.name.starts_with("Stream #")) return LineUse::kWork;
    if (has_streams) return LineUse::kDerived;
    if (line.name == "Async XLA Ops") return LineUse::kAsyncWork;
    if (line.name == "XLA Ops" || line.name == "Sparse Core Ops") return LineUse::kWork;
    // Other devices and older profilers use other line names. If there is no line "XLA Ops", every
    // line counts as work.
    const bool has_ops = std::any_of(plane.lines.begin(), plane.lines.end(),
                                     [](const RawLine& l) { return l.name == "XLA Ops"; });
    return has_ops ? LineUse::kDerived : LineUse::kWork;
  }

  void add_device_plane(const RawPlane& plane) {
    const StatIds ids(plane);
    RankColumns& rank = ranks_.at(device_number(plane.name));
    rank.describe_device(plane, ids);
    const auto any = [&](auto&& test) {
      return std::any_of(plane.lines.begin(), plane.lines.end(), test);
    };
    const bool has_streams = any([](const RawLine& l) { return l.name.starts_with("Stream #"); });
    const bool has_async = any([](const RawLine& l) { return l.name == "Async XLA Ops"; });
    for (std::size_t l = 0; l < plane.lines.size(); ++l) {
      const RawLine& line = plane.lines[l];
      const LineUse use = use_of(plane, line, has_streams);
      if (use == LineUse::kDerived) {
        diagnostics_.add(kRepeats, plane.name + ", \"" + line.name + "\"");
        continue;
      }
      const std::uint32_t lane = rank.lane(true, plane.name, line);
      for (std::size_t e = line.first_event; e < plane.line_end(l); ++e) {
        const auto event = decode(plane, line, e, ids);
        if (!event) continue;
        if (use == LineUse::kSteps) {
          rank.add_device_step(*event, lane);
        } else if (use == LineUse::kModules) {
          rank.add(EventKind::kGpuAnnotation, *event, lane, kNone);
        } else {
          rank.add_work(*event, lane, use == LineUse::kAsyncWork, has_async || has_streams);
          if (event->correlation != 0) device_of_[event->correlation] = rank.device();
        }
      }
    }
  }

  void add_host_plane(const RawPlane& plane) {
    const StatIds ids(plane);
    for (std::size_t l = 0; l < plane.lines.size(); ++l) {
      const RawLine& line = plane.lines[l];
      std::set<std::int32_t> devices;
      for (std::size_t e = line.first_event; e < plane.line_end(l); ++e) {
        const auto found = device_of_.find(correlation_of(plane, e, ids));
        if (found != device_of_.end()) devices.insert(found->second);
      }
      RankColumns& thread_rank =
          devices.size() == 1 ? ranks_.at(*devices.begin()) : ranks_.begin()->second;
      std::vector<DecodedEvent> events;
      for (std::size_t e = line.first_event; e < plane.line_end(l); ++e) {
        if (const auto event = decode(plane, line, e, ids)) events.push_back(*event);
      }
      complete_collectives(events);
      receives_.add_thread(events);
      for (const DecodedEvent& event : events) add_host_event(plane, line, event, thread_rank);
    }
  }

  /// Completes TensorFlow's collectives of one host thread. Ends each one at its "Done" event,
  /// because its own event also contains the ops that follow it. Adds the group size and the bytes
  /// of the array. A ring over n members cuts the array into n parts and allocates a buffer for
  /// each of the n - 1 parts that it receives, so the array has n / (n - 1) times the bytes of the
  /// buffers.
  static void complete_collectives(std::vector<DecodedEvent>& events) {
    std::vector<Nanos> done;
    std::map<std::int64_t, std::int64_t> sizes;
    for (const DecodedEvent& event : events) {
      if (event.name == kCollectiveDone) done.push_back(event.start);
      if (event.name == kCollectiveGroup) sizes[event.group_key] = event.group_size;
    }
    std::sort(done.begin(), done.end());
    for (DecodedEvent& event : events) {
      if (!is_host_collective(event)) continue;
      const auto next = std::lower_bound(done.begin(), done.end(), event.start);
      if (next != done.end() && *next < event.end()) event.duration = *next - event.start;
      const auto size = sizes.find(event.group_key);
      if (size == sizes.end()) continue;
      event.group_size = size->second;
      const Bytes buffers = buffers_of(events, event);
      if (event.group_size > 1 && event.group_size < (1 << 20) && buffers > 0) {
        event.moved_bytes = buffers / (event.group_size - 1) * event.group_size;
      }
    }
  }

  /// Bytes of the ring buffers that were allocated during a collective.
  static Bytes buffers_of(const std::vector<DecodedEvent>& events, const DecodedEvent& collective) {
    Bytes sum = 0;
    for (const DecodedEvent& event : events) {
      const bool own = event.allocates == kRingBuffer && event.start >= collective.start &&
                       event.start < collective.end();
      if (own && event.requested_bytes > 0 && event.requested_bytes < kLargest) {
        sum = std::min(kLargest, sum + event.requested_bytes);
      }
    }
    return sum;
  }

  void add_host_event(const RawPlane& plane, const RawLine& line, const DecodedEvent& event,
                      RankColumns& thread_rank) {
    if (event.name.starts_with('$')) return thread_rank.count_python();  // "$file.py:7 f"
    if (cpu_devices_ && !event.instruction.empty() && ranks_.contains(event.device_ordinal)) {
      RankColumns& rank = ranks_.at(event.device_ordinal);
      return rank.add_work(event, rank.cpu_lane(), false, true);
    }
    const auto launched = device_of_.find(event.correlation);
    RankColumns& rank = launched == device_of_.end() ? thread_rank : ranks_.at(launched->second);
    const std::uint32_t lane = rank.lane(false, plane.name, line);
    if (event.step >= 0) {
      host_steps_.push_back({event.step, event.root, line, event.start, event.end()});
      return rank.add(EventKind::kAnnotation, event, lane, kNone);
    }
    const std::string_view type = op_type(event.text);
    if (is_host_collective(event)) return rank.add_host_collective(event, lane, type);
    const bool framework_op = !type.empty();
    const EventKind kind = event.correlation != 0 ? EventKind::kRuntime
                           : framework_op         ? EventKind::kHostOp
                                                  : EventKind::kAnnotation;
    rank.add(kind, event, lane, kNone);
  }

  static std::uint32_t correlation_of(const RawPlane& plane, std::size_t event,
                                      const StatIds& ids) {
    for (std::size_t s = plane.events[event].first_stat; s < plane.stats_end(event); ++s) {
      if (plane.stats[s].name == ids.correlation_id) return to_correlation(plane.stats[s].value);
    }
    return 0;
  }

  std::optional<DecodedEvent> decode(const RawPlane& plane, const RawLine& line, std::size_t index,
                                     const StatIds& ids) {
    const RawEvent& raw = plane.events[index];
    const auto name = plane.event_names.find(raw.metadata);
    if (name == plane.event_names.end()) {
      ++nameless_;
      return std::nullopt;
    }
    if (raw.offset_ps < 0 || raw.offset_ps > kLatestPs || raw.duration_ps < 0 ||
        raw.duration_ps > kLatestPs || line.timestamp_ns < 0 || line.timestamp_ns > kLatest) {
      ++without_time_;
      return std::nullopt;
    }
    DecodedEvent event = decode_stats(plane, index, ids);
    event.text = name->second.name;
    event.name = name->second.display.empty() ? instruction_name(event.text)
                                              : std::string_view(name->second.display);
    // Round start and end down. So if one event ends exactly where the next event starts, this also
    // holds for the rounded times.
    event.start = line.timestamp_ns + raw.offset_ps / 1000;
    event.duration = line.timestamp_ns + (raw.offset_ps + raw.duration_ps) / 1000 - event.start;
    return event;
  }

  void report() {
    if (nameless_ > 0) diagnostics_.add(kNameless, file_, nameless_);
    if (without_time_ > 0) diagnostics_.add(kBadTime, file_, without_time_);
  }

  const RawSpace& space_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  std::map<std::int32_t, RankColumns> ranks_;        ///< device -> rank
  std::set<std::int32_t> ordinals_;                  ///< device ordinals that host events name
  std::map<std::uint32_t, std::int32_t> device_of_;  ///< correlation id -> device
  std::vector<HostStep> host_steps_;
  Receives receives_;
  bool cpu_devices_ = false;
  std::int64_t process_ = -1;
  Nanos epoch_ = 0;
  std::int64_t nameless_ = 0;
  std::int64_t without_time_ = 0;
};

}  // namespace

std::vector<RankTrace> assemble(const RawSpace& space, const std::string& file,
                                Diagnostics& diagnostics) {
  return Assembly(space, file, diagnostics).run();
}

}  // namespace weft::trace::xplane
