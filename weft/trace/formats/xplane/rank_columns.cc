// SPDX-License-Identifier: Apache-2.0
// Decides what each event becomes. Work of a device is a copy, a memset, a kernel or a collective,
// depending on its stats and its name. Collectives get their size from HLO (hlo.h).
#include "weft/trace/formats/xplane/rank_columns.h"

#include <algorithm>

#include "weft/base/decimal.h"
#include "weft/trace/formats/host_as_device.h"

namespace weft::trace::xplane {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns the value after a label, up to the next space: "16,1,1" for "grid:16,1,1 block:512,1,1"
/// and the label "grid:".
std::string_view detail_after(std::string_view details, std::string_view word) {
  const std::size_t at = details.find(word);
  if (at == std::string_view::npos) return {};
  details.remove_prefix(at + word.size());
  return details.substr(0, details.find_first_of(" \n"));
}

/// Returns the stream number in a line name such as "Stream #17(Kernel)". Lines of other devices
/// have no such name; their line id is returned.
std::int64_t stream_number(const RawLine& line) {
  constexpr std::string_view kPrefix = "Stream #";
  if (!line.name.starts_with(kPrefix)) return line.id;
  const std::string_view rest = std::string_view(line.name).substr(kPrefix.size());
  return parse_int(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(line.id);
}

}  // namespace

StatIds::StatIds(const RawPlane& plane)
    : correlation_id(plane.stat_id("correlation_id")),
      step_num(plane.stat_id("step_num")),
      group_id(plane.stat_id("group_id")),
      root(plane.stat_id("_r")),
      device_ordinal(plane.stat_id("device_ordinal")),
      hlo_op(plane.stat_id("hlo_op")),
      hlo_module(plane.stat_id("hlo_module")),
      program_id(plane.stat_id("program_id")),
      kernel_details(plane.stat_id("kernel_details")),
      memcpy_details(plane.stat_id("memcpy_details")),
      memset_details(plane.stat_id("Memset_details")),
      process_id(plane.stat_id("process_id")),
      profile_start_time(plane.stat_id("profile_start_time")),
      device_vendor(plane.stat_id("device_vendor")),
      device_type(plane.stat_id("device_type_string")),
      group_key(plane.stat_id("group_key")),
      instance_key(plane.stat_id("instance_key")),
      group_size(plane.stat_id("group_size")),
      node(plane.stat_id("name")),
      kernel_type(plane.stat_id("kernel_type")),
      execution(plane.stat_id("step_id")),
      run(plane.stat_id("id")),
      requested_bytes(plane.stat_id("requested_bytes")),
      tf_op(plane.stat_id("tf_op")) {}

std::uint32_t to_correlation(std::int64_t value) {
  return value > 0 && value < std::int64_t{kNone} ? static_cast<std::uint32_t>(value) : 0;
}

DecodedEvent decode_stats(const RawPlane& plane, std::size_t index, const StatIds& ids) {
  DecodedEvent event;
  for (std::size_t s = plane.events[index].first_stat; s < plane.stats_end(index); ++s) {
    const RawStat& stat = plane.stats[s];
    if (stat.name == ids.correlation_id) {
      event.correlation = to_correlation(stat.value);
    } else if (stat.name == ids.step_num) {
      event.step = stat.value;
    } else if (stat.name == ids.group_id) {
      event.group = stat.value;
    } else if (stat.name == ids.root) {
      event.root = stat.value != 0;
    } else if (stat.name == ids.device_ordinal) {
      const bool fits = stat.value >= 0 && stat.value < (1 << 20);
      event.device_ordinal = fits ? static_cast<std::int32_t>(stat.value) : -1;
    } else if (stat.name == ids.hlo_op) {
      event.instruction = plane.text(stat);
    } else if (stat.name == ids.hlo_module) {
      event.program = plane.text(stat);
    } else if (stat.name == ids.program_id) {
      event.program_number = stat.value;
    } else if (stat.name == ids.kernel_details) {
      event.kernel = plane.text(stat);
    } else if (stat.name == ids.memcpy_details) {
      event.copy = plane.text(stat);
    } else if (stat.name == ids.memset_details) {
      event.set = plane.text(stat);
    } else if (stat.name == ids.group_key) {
      event.group_key = stat.value;
    } else if (stat.name == ids.instance_key) {
      event.instance_key = stat.value;
    } else if (stat.name == ids.group_size) {
      event.group_size = stat.value;
    } else if (stat.name == ids.node) {
      event.node = plane.text(stat);
    } else if (stat.name == ids.kernel_type) {
      event.kernel_type = plane.text(stat);
    } else if (stat.name == ids.execution) {
      event.execution = stat.value;
    } else if (stat.name == ids.run) {
      event.run = stat.value;
    } else if (stat.name == ids.requested_bytes) {
      event.requested_bytes = stat.value;
    } else if (stat.name == ids.tf_op) {
      event.allocates = plane.text(stat);
    }
  }
  return event;
}

// Names the device: by its model if the plane tells it, else by its vendor and kind, such as
// "Nvidia GPU".
void RankColumns::describe_device(const RawPlane& plane, const StatIds& ids) {
  std::string name = contains(plane.name, ":TPU:")   ? "TPU"
                     : contains(plane.name, ":GPU:") ? "GPU"
                                                     : "device";
  for (const RawStat& fact : plane.facts) {
    const std::string text(plane.text(fact));
    if (text.empty()) continue;
    if (fact.name == ids.device_vendor) name = text + " " + name;
    if (fact.name == ids.device_type) name = text;
  }
  if (trace_.devices.empty()) trace_.devices.push_back(std::move(name));
}

std::uint32_t RankColumns::lane(bool on_device, std::string_view plane, const RawLine& line) {
  const auto next = static_cast<std::uint32_t>(trace_.lanes.size());
  const auto [found, fresh] = lanes_.try_emplace({std::string(plane), line.id}, next);
  if (fresh) {
    trace_.lanes.push_back({on_device, 0, on_device ? stream_number(line) : line.id,
                            on_device ? device_ : -1, line.name});
  }
  return found->second;
}

std::uint32_t RankColumns::cpu_lane() {
  if (cpu_lane_ == kNone) {
    trace_.devices.emplace_back(kHostAsDevice);
    cpu_lane_ = lane(true, "", {0, "XLA ops", 0, 0});
  }
  return cpu_lane_;
}

void RankColumns::add(EventKind kind, const DecodedEvent& event, std::uint32_t lane,
                      std::uint32_t detail) {
  ++seen_;
  trace_.events.add(kind, event.start, event.duration, trace_.names.intern(event.name), lane,
                    event.correlation, detail, event.execution);
}

void RankColumns::add_work(const DecodedEvent& event, std::uint32_t lane, bool async,
                           bool has_async) {
  trace_.facts.device_events = true;
  const bool copies = !event.copy.empty() || event.name.starts_with("Memcpy");
  const bool sets = !event.set.empty() || event.name.starts_with("Memset");
  if (copies || sets) {
    std::uint32_t detail = kNone;
    const std::string_view size = detail_after(copies ? event.copy : event.set, "size:");
    if (const auto bytes = parse_int(size); bytes && *bytes > 0) {
      detail = static_cast<std::uint32_t>(trace_.copies.size());
      trace_.copies.push_back({*bytes});
    }
    return add(copies ? EventKind::kMemcpy : EventKind::kMemset, event, lane, detail);
  }
  KernelDetail detail;
  const std::string_view grid = detail_after(event.kernel, "grid:");
  const std::string_view block = detail_after(event.kernel, "block:");
  if (!grid.empty() && !block.empty()) {
    detail.shape = trace_.names.intern(std::string(grid) + "/" + std::string(block));
  }
  const std::string_view instruction = event.instruction.empty() ? event.name : event.instruction;
  const std::string_view op = collective_of_instruction(instruction);
  // On GPUs the event is the kernel. It has the name of the instruction that started it, so a
  // kernel named "...-start" transfers data. On other devices the event is the instruction itself:
  // "-start" only begins the transfer, and "-done" only waits for it. If there is no event for the
  // transfer, "-done" counts as the transfer.
  const bool kernel = !event.kernel.empty();
  const bool starts = contains(instruction, "-start");
  const bool awaits = contains(instruction, "-done");
  const bool moves = kernel || async || (!starts && !(awaits && has_async));
  if (!op.empty() && moves) detail.collective = collective(op, event);
  std::uint32_t index = kNone;
  if (detail.shape != 0 || detail.collective != kNone) {
    index = static_cast<std::uint32_t>(trace_.kernels.size());
    trace_.kernels.push_back(detail);
  }
  add(EventKind::kKernel, event, lane, index);
}

void RankColumns::add_host_collective(const DecodedEvent& event, std::uint32_t lane,
                                      std::string_view type) {
  CollectiveDetail collective;
  collective.name = trace_.names.intern(type);
  collective.group = trace_.names.intern("group " + std::to_string(event.group_key));
  collective.sequence = event.instance_key;
  if (event.group_size > 0 && event.group_size < (1 << 20)) {
    collective.group_size = static_cast<std::int32_t>(event.group_size);
  }
  if (event.moved_bytes > 0) {
    collective.dtype = trace_.names.intern("Byte");
    collective.in_elements = collective.out_elements = event.moved_bytes;
  }
  HostOpDetail detail;
  detail.collective = static_cast<std::uint32_t>(trace_.collectives.size());
  trace_.collectives.push_back(collective);
  trace_.host_ops.push_back(detail);
  trace_.facts.collective_args = true;
  add(EventKind::kAnnotation, event, lane, static_cast<std::uint32_t>(trace_.host_ops.size() - 1));
}

void RankColumns::add_receive(const std::string& name, std::int64_t execution, std::int64_t row,
                              Nanos start, Nanos duration, Bytes bytes) {
  HostOpDetail detail;
  detail.input_bytes = bytes;
  const auto index = static_cast<std::uint32_t>(trace_.host_ops.size());
  trace_.host_ops.push_back(detail);
  // Thread ids in the file are large hashes, so these lanes can have small numbers without a
  // conflict.
  const std::uint32_t at = lane(false, "receives", {row, "receives", 0, 0});
  trace_.events.add(EventKind::kAnnotation, start, duration, trace_.names.intern(name), at, 0,
                    index, execution);
}

// Adds a collective. Its arguments come from the program (GPU and CPU profiles) or from the text of
// the instruction (TPU profiles).
std::uint32_t RankColumns::collective(std::string_view op, const DecodedEvent& event) {
  const std::string_view instruction = event.instruction.empty() ? event.name : event.instruction;
  const HloCollective* known = collectives_.find(event.program, event.program_number, instruction);
  HloCollective from_text;
  if (known == nullptr && contains(event.text, " = ")) {
    from_text = HloCollectives::from_text(event.text);
    known = &from_text;
  }
  CollectiveDetail detail;
  detail.name = trace_.names.intern(op);
  if (known != nullptr) {
    set_group(*known, detail);
    if (known->elements >= 0) {
      trace_.facts.collective_args = true;
      detail.dtype = trace_.names.intern(known->dtype);
      detail.in_elements = detail.out_elements = known->elements;
      // HLO gives the size of the result. The input of a reduce-scatter is the result times the
      // group size. The input of an all-gather is the result divided by the group size.
      if (op == "reduce-scatter" || op == "all-gather") {
        const std::int64_t parts = detail.group_size;
        const bool scatter = op == "reduce-scatter";
        detail.in_elements = parts <= 0 ? -1
                             : scatter  ? known->elements * parts
                                        : known->elements / parts;
      }
    }
  }
  trace_.collectives.push_back(detail);
  return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
}

// Programs number the devices of all hosts, but a file numbers only its own devices. The numbers
// agree only if there is one host. With several hosts only the size of the groups is used.
void RankColumns::set_group(const HloCollective& known, CollectiveDetail& detail) {
  if (known.groups.empty()) {
    detail.group = trace_.names.intern("all devices");
    return;
  }
  std::size_t devices = 0;
  for (const auto& group : known.groups) devices += group.size();
  for (const auto& group : known.groups) {
    const bool own = std::find(group.begin(), group.end(), device_) != group.end();
    if (devices <= device_count_ && !own) continue;
    detail.group_size = static_cast<std::int32_t>(group.size());
    if (devices > device_count_) return;
    std::string name;
    for (const std::int64_t id : group) name += (name.empty() ? "" : ",") + std::to_string(id);
    detail.group = trace_.names.intern("devices " + name);
  }
}

// Adds a step that the device marked. The step number is taken from a stat, else from the
// profiler's own group number, else from the name of the event.
void RankColumns::add_device_step(const DecodedEvent& event, std::uint32_t lane) {
  ++seen_;
  std::int64_t number = event.step >= 0 ? event.step : event.group;
  if (number < 0) number = parse_int(event.name).value_or(-1);
  if (number >= 0) device_steps_.push_back({number, lane, event.start, event.end()});
}

void RankColumns::finish(const std::vector<HostStep>& host_steps) {
  // Nested annotations may carry step numbers too. If some annotations are marked as roots, only
  // the roots are steps.
  const bool roots = std::any_of(host_steps.begin(), host_steps.end(),
                                 [](const HostStep& step) { return step.root; });
  for (const HostStep& step : host_steps) {
    if (roots && !step.root) continue;
    trace_.steps.push_back(
        {step.number, lane(false, "/host:CPU", step.line), step.start, step.end});
  }
  if (trace_.steps.empty()) trace_.steps = std::move(device_steps_);
  std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
}

}  // namespace weft::trace::xplane
