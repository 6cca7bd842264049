// SPDX-License-Identifier: Apache-2.0
// RankMaker::make() does its work in this order:
//   1. find_roles(): is a span an operator of the engine, a call of the C API, or an annotation?
//   2. give_lanes(): put overlapping operators of one worker thread on separate lanes.
//   3. add(): write the events, the steps, and the exchanges with the parameter server.
//   4. link_calls(): connect each operator with the call that probably pushed it.
//   5. number_exchanges(): number pushes and pulls, so that workers can be matched. It needs the
//      steps.
#include "weft/trace/formats/mxnet/rank.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "weft/trace/formats/host_as_device.h"
#include "weft/trace/steps.h"

namespace weft::trace::mxnet {
namespace {

constexpr std::string_view kCalls = "MXNET_C_API";
constexpr std::string_view kOperators = "operator";

enum class Role : std::uint8_t {
  kEngine,    ///< operator that the engine ran on a device
  kCall,      ///< call of the C API on a host thread
  kTask,      ///< annotation: task, frame, mark
  kRepeated,  ///< second record of an operator; left out
};

bool is_device(std::string_view process) {
  return process.starts_with("cpu/") || process.starts_with("gpu/") || process == "cpu pinned/" ||
         process == "cpu shared/";
}

/// Returns the ordinal in "gpu/3"; -1 for any other text.
std::int32_t gpu_number(std::string_view device) {
  if (!device.starts_with("gpu/")) return -1;
  device.remove_prefix(4);
  std::int32_t number = -1;
  std::from_chars(device.data(), device.data() + device.size(), number);
  return number < 0 || number > 1024 ? -1 : number;
}

/// Whether a call of the C API can push work to the engine.
bool pushes_work(std::string_view call) {
  constexpr std::array<std::string_view, 12> kPushing = {
      "MXImperativeInvoke", "MXAutogradBackward", "MXInvokeCachedOp",    "MXExecutorForward",
      "MXExecutorBackward", "MXKVStorePush",      "MXKVStorePull",       "MXKVStoreInit",
      "MXKVStoreBroadcast", "MXNDArrayFree",      "MXNDArraySyncCopyFr", "MXCustom"};
  return std::any_of(kPushing.begin(), kPushing.end(),
                     [&](std::string_view prefix) { return call.starts_with(prefix); });
}

/// Returns the kind of exchange with parameter servers: "push", "pull" or "pushpull". Returns ""
/// for other work, including reductions within the process.
std::string_view exchange_of(std::string_view op) {
  if (!op.starts_with("KVStoreDist")) return {};
  if (op.ends_with("PushPull")) return "pushpull";
  if (op.ends_with("Push")) return "push";
  return op.ends_with("Pull") ? "pull" : std::string_view();
}

/// Returns the number in a name such as "step 3", "Iteration #3" or "batch_3"; nullopt for other
/// names.
std::optional<std::int64_t> step_number(std::string_view name) {
  std::string word;
  std::size_t i = 0;
  for (; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) == 0; ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (std::isalpha(c) != 0) word.push_back(static_cast<char>(std::tolower(c)));
  }
  const bool step = word == "step" || word == "trainstep" || word == "iter" ||
                    word == "iteration" || word == "batch";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + i, name.data() + name.size(), number);
  if (!step || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number > 0x7fffffff ? std::nullopt : std::optional(number);
}

class RankMaker {
 public:
  explicit RankMaker(const SpanCollector& collector)
      : collector_(collector), spans_(collector.spans()) {}

  RankTrace make() {
    find_roles();  // first, because lanes and events depend on the role of a span
    give_lanes();
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (roles_[i] != Role::kRepeated) add(i);
    }
    link_calls();
    add_memory();
    std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                     [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
    number_exchanges();
    const bool on_gpu = std::any_of(trace_.lanes.begin(), trace_.lanes.end(),
                                    [](const Lane& lane) { return lane.device >= 0; });
    if (!on_gpu && trace_.facts.device_events) trace_.devices.emplace_back(kHostAsDevice);
    return std::move(trace_);
  }

 private:
  std::string_view text(NameId id) const { return collector_.text(id); }

  void find_roles() {
    bool engine = false;
    for (const Span& span : spans_) {
      const bool device = is_device(collector_.process_name(span.process));
      engine |= device;
      roles_.push_back(device                          ? Role::kEngine
                       : text(span.category) == kCalls ? Role::kCall
                                                       : Role::kTask);
    }
    // MXNet writes every operator twice: as work of its device, and as a task. The task is dropped,
    // but only if the profile has work of devices at all.
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (engine && roles_[i] == Role::kTask && text(spans_[i].category) == kOperators) {
        roles_[i] = Role::kRepeated;
      }
    }
  }

  /// Spans of one lane must not overlap. So each operator goes, in order of starts, to the first
  /// lane of its worker thread that is free. The number of lanes per thread is bounded; beyond
  /// that, operators share the last lane.
  void give_lanes() {
    lanes_.assign(spans_.size(), kNone);
    std::vector<std::size_t> order(spans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return spans_[a].start < spans_[b].start;
    });
    std::map<std::pair<NameId, NameId>, std::vector<std::pair<std::uint32_t, Nanos>>> workers;
    for (const std::size_t i : order) {
      if (roles_[i] == Role::kRepeated) continue;
      const Span& span = spans_[i];
      if (roles_[i] != Role::kEngine) {
        lanes_[i] = host_lane(span.thread);
        continue;
      }
      auto& lanes = workers[{span.process, span.thread}];
      auto lane = std::find_if(lanes.begin(), lanes.end(),
                               [&](const auto& l) { return l.second <= span.start; });
      if (lane == lanes.end() && lanes.size() < kMostLanes) {
        const std::string_view device = collector_.process_name(span.process);
        lanes.emplace_back(new_lane(true, gpu_number(device), std::string(device)), 0);
        lane = std::prev(lanes.end());
      } else if (lane == lanes.end()) {
        lane = std::prev(lane);
      }
      lane->second = span.end;
      lanes_[i] = lane->first;
    }
  }

  std::uint32_t new_lane(bool on_device, std::int32_t device, std::string name) {
    const auto id = static_cast<std::uint32_t>(trace_.lanes.size());
    // Thread ids in the file are 64-bit hashes. Numbers in order of appearance are easier to read.
    trace_.lanes.push_back({on_device, 0, static_cast<std::int64_t>(id), device, std::move(name)});
    return id;
  }

  std::uint32_t host_lane(NameId thread) {
    const auto [found, is_new] = host_lanes_.try_emplace(thread, 0);
    if (is_new) found->second = new_lane(false, -1, "thread " + std::string(text(thread)));
    return found->second;
  }

  /// Correlations are set later, by link_calls().
  void push(EventKind kind, std::uint32_t lane, NameId name, Nanos start, Nanos end,
            std::uint32_t detail) {
    trace_.events.add(kind, start, end - start, name, lane, 0, detail);
  }

  void add(std::size_t i) {
    const Span& span = spans_[i];
    const std::string_view name = text(span.name);
    EventKind kind = EventKind::kAnnotation;
    std::uint32_t detail = kNone;
    if (roles_[i] == Role::kEngine) {
      kind = name.starts_with("Copy") ? EventKind::kMemcpy : EventKind::kKernel;
      if (kind == EventKind::kKernel) detail = kernel_detail(exchange_of(name));
      trace_.facts.device_events = true;
    } else if (roles_[i] == Role::kCall) {
      kind = EventKind::kRuntime;
    } else if (const auto number = step_number(name)) {
      trace_.steps.push_back({*number, lanes_[i], span.start, span.end});
    }
    push(kind, lanes_[i], trace_.names.intern(name), span.start, span.end, detail);
  }

  std::uint32_t kernel_detail(std::string_view exchange) {
    if (exchange.empty()) return kNone;
    // The profile tells neither the parameter nor its size. Pushes and pulls get separate groups,
    // because they use opposite directions of the link and do not delay each other.
    CollectiveDetail collective;
    collective.name = trace_.names.intern(exchange);
    collective.group = trace_.names.intern("kvstore " + std::string(exchange));
    trace_.collectives.push_back(collective);
    KernelDetail kernel;
    kernel.collective = static_cast<std::uint32_t>(trace_.collectives.size() - 1);
    trace_.kernels.push_back(kernel);
    return static_cast<std::uint32_t>(trace_.kernels.size() - 1);
  }

  /// Numbers the exchanges of each kind within each step. All workers exchange the same parameters
  /// in the same order, so equal numbers on two workers are the same exchange.
  void number_exchanges() {
    constexpr std::int64_t kMostInAStep = 1 << 20;
    const Events& events = trace_.events;
    std::vector<std::uint32_t> exchanges;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool kernel = events.kind[i] == EventKind::kKernel && events.detail[i] != kNone;
      if (kernel && trace_.kernels[events.detail[i]].collective != kNone) exchanges.push_back(i);
    }
    std::stable_sort(exchanges.begin(), exchanges.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events.start[a] < events.start[b];
    });
    std::map<std::pair<NameId, std::int64_t>, std::int64_t> seen;
    for (const std::uint32_t i : exchanges) {
      const std::int64_t step = step_at(trace_, events.start[i]);
      if (step < 0) continue;  // outside of all steps nothing tells which exchange it is
      CollectiveDetail& collective =
          trace_.collectives[trace_.kernels[events.detail[i]].collective];
      const std::int64_t position = seen[{collective.group, step}]++;
      if (position < kMostInAStep) collective.sequence = step * kMostInAStep + position;
    }
  }

  /// The launch of an operator is the last call before it that can push work. This is the right
  /// call if the engine keeps up with the host. If the engine lags behind, the result is a call
  /// that came after the right one.
  void link_calls() {
    Events& events = trace_.events;
    std::vector<std::pair<Nanos, std::uint32_t>> calls;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool call =
          events.kind[i] == EventKind::kRuntime && pushes_work(trace_.names.text(events.name[i]));
      if (call) calls.emplace_back(events.start[i], i);
    }
    std::sort(calls.begin(), calls.end());
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool work =
          events.kind[i] == EventKind::kKernel || events.kind[i] == EventKind::kMemcpy;
      if (!work) continue;
      const auto after =
          std::upper_bound(calls.begin(), calls.end(), std::pair(events.start[i], kNone));
      if (after == calls.begin()) continue;
      const std::uint32_t call = std::prev(after)->second;
      events.correlation[call] = events.correlation[i] = call + 1;
    }
  }

  /// The counters give the memory in use; allocator events need the change since the last sample.
  void add_memory() {
    std::map<NameId, Bytes> last;
    for (const MemorySample& sample : collector_.memory()) {
      const auto [found, is_new] = last.try_emplace(sample.device, 0);
      MemoryDetail detail;
      detail.bytes = sample.in_use - found->second;
      detail.total_allocated = sample.in_use;
      detail.device = gpu_number(text(sample.device));
      found->second = sample.in_use;
      const auto index = static_cast<std::uint32_t>(trace_.memory.size());
      trace_.memory.push_back(detail);
      push(EventKind::kMemory, host_lane(sample.thread), trace_.names.intern("[memory]"),
           sample.time, sample.time, index);
      trace_.facts.memory_events = true;
    }
  }

  static constexpr std::size_t kMostLanes = 64;

  const SpanCollector& collector_;
  const std::vector<Span>& spans_;
  RankTrace trace_;
  std::vector<Role> roles_;
  std::vector<std::uint32_t> lanes_;  ///< lane of each span; kNone if the span is left out
  std::map<NameId, std::uint32_t> host_lanes_;
};

}  // namespace

RankTrace make_rank(const SpanCollector& collector) { return RankMaker(collector).make(); }

}  // namespace weft::trace::mxnet
