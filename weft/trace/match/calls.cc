// SPDX-License-Identifier: Apache-2.0
// Collects the arguments of each call. What a profile tells about a collective depends on the
// versions of framework and profiler. So several sources are used, the best one first:
//   1. arguments on the kernel itself (Kineto with NCCL metadata);
//   2. arguments of the host ops around the launch (record_param_comms) or of annotations;
//   3. names of these ops and annotations ("nccl:all_reduce", "nccl:send 0->1");
//   4. for a batch of messages: the ops on the launching thread since its previous launch;
//   5. other steps: fill_unknown_calls() copies the arguments of the same call one period away.
// A field that an earlier source has set stays as it is.
#include "weft/trace/match/calls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "weft/trace/dtype.h"
#include "weft/trace/match/calls_fill.h"

namespace weft::trace {
namespace {

// Returns the name in lower case and without separators. So "allgather" can be found in
// "_allgather_base", "all-gather" and "AllGather".
std::string squeeze(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return text;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return text.substr(0, p.size()) == p; });
}

bool is_communication_kernel(std::string_view name) {
  return starts_with_any(name, {"ncclKernel", "ncclDevKernel", "ncclSym", "mscclKernel", "rccl"}) ||
         name.find("ncclKernel_") != std::string_view::npos ||
         name.find("ncclDevKernel_") != std::string_view::npos;
}

// Whether a host annotation is a collective itself. For gloo, MPI and UCC, the annotation covers
// the execution of the collective. An annotation "nccl:..." covers only the call that enqueues a
// kernel.
bool is_host_communication(std::string_view name) {
  return starts_with_any(name, {"gloo:", "mpi:", "ucc:"});
}

// Returns the size of the whole array, as link tables count it: the output of an all-gather or
// gather, the input of any other collective.
Bytes whole_bytes(const CollectiveDetail& detail, CollectiveKind kind, std::string_view dtype) {
  const Bytes size = dtype_size(dtype);
  std::int64_t elements = detail.in_elements;
  if (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather) {
    elements = detail.out_elements;
    if (elements < 0 && detail.in_elements >= 0 && detail.group_size > 0) {
      elements = detail.in_elements * detail.group_size;
    }
  }
  if (elements < 0) elements = std::max(detail.in_elements, detail.out_elements);
  return size <= 0 || elements < 0 ? -1 : size * elements;
}

// Reads the peer from "nccl:send 0->1" or "nccl:recv 0<-1". PyTorch writes these names even if it
// records no arguments.
bool message_from_annotation(std::string_view name, Message& message) {
  const std::size_t arrow = std::min(name.find("->"), name.find("<-"));
  if (arrow == std::string_view::npos) return false;
  message.send = name.substr(arrow, 2) == "->";
  std::int32_t peer = 0;
  std::size_t digits = 0;
  for (std::size_t i = arrow + 2; i < name.size() && std::isdigit(name[i]) && digits < 9; ++i) {
    peer = peer * 10 + (name[i] - '0');
    ++digits;
  }
  message.peer = peer;
  return digits > 0;
}

class Extractor {
 public:
  Extractor(const RankTrace& trace, const Launches& launches)
      : trace_(trace), events_(trace.events), launches_(launches) {}

  std::vector<Call> run() {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (is_call(i)) found.push_back(i);
    }
    std::stable_sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events_.start[a] < events_.start[b];
    });
    for (const std::uint32_t event : found) {
      Call call;
      call.event = event;
      call.kind = kind_from_name(text(event));
      calls_.push_back(std::move(call));
      known_.push_back(false);
    }
    collect_batches();
    for (std::size_t k = 0; k < calls_.size(); ++k) describe(k);
    fill_unknown_calls(trace_, known_, calls_);
    return std::move(calls_);
  }

 private:
  std::string_view text(std::uint32_t event) const {
    return trace_.names.text(events_.name[event]);
  }

  bool is_call(std::uint32_t i) const {
    if (events_.kind[i] == EventKind::kKernel) {
      const std::uint32_t detail = events_.detail[i];
      if (detail != kNone && trace_.kernels[detail].collective != kNone) return true;
      return is_communication_kernel(text(i));
    }
    if (events_.kind[i] != EventKind::kAnnotation) return false;
    const HostOpDetail* detail = host_detail(i);
    return is_host_communication(text(i)) || (detail != nullptr && detail->collective != kNone);
  }

  const HostOpDetail* host_detail(std::uint32_t event) const {
    const std::uint32_t detail = events_.detail[event];
    const bool host =
        events_.kind[event] == EventKind::kHostOp || events_.kind[event] == EventKind::kAnnotation;
    return host && detail != kNone && detail < trace_.host_ops.size() ? &trace_.host_ops[detail]
                                                                      : nullptr;
  }

  const CollectiveDetail* collective_of(std::uint32_t event) const {
    std::uint32_t index = kNone;
    if (events_.kind[event] == EventKind::kKernel) {
      if (events_.detail[event] != kNone) index = trace_.kernels[events_.detail[event]].collective;
    } else if (const HostOpDetail* detail = host_detail(event)) {
      index = detail->collective;
    }
    return index == kNone ? nullptr : &trace_.collectives[index];
  }

  // PyTorch launches one kernel for all messages of a batch (batch_isend_irecv, the coalescing
  // manager), after the last op of the batch has ended. So no op encloses the launch. The batch
  // consists of the ops on the same thread since its previous launch.
  void collect_batches() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> launches_by_lane;
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      const std::uint32_t launch = launches_.launcher[calls_[k].event];
      if (launch != kNone) launches_by_lane[events_.lane[launch]].push_back(launch);
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> ops_by_lane;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (events_.kind[i] != EventKind::kHostOp) continue;
      const CollectiveDetail* detail = collective_of(i);
      if (detail == nullptr ||
          kind_from_name(trace_.names.text(detail->name)) == CollectiveKind::kOther) {
        continue;
      }
      ops_by_lane[events_.lane[i]].push_back(i);
    }
    for (auto& [lane, ops] : ops_by_lane) {
      auto launches = launches_by_lane.find(lane);
      if (launches == launches_by_lane.end()) continue;
      auto by_start = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(events_.start[a], a) < std::pair(events_.start[b], b);
      };
      std::sort(ops.begin(), ops.end(), by_start);
      std::sort(launches->second.begin(), launches->second.end(), by_start);
      std::size_t next = 0;
      for (const std::uint32_t launch : launches->second) {
        auto& batch = batches_[launch];
        for (; next < ops.size() && events_.start[ops[next]] <= events_.start[launch]; ++next) {
          batch.push_back(ops[next]);
        }
      }
    }
  }

  // Copies from `detail` the arguments that are still unknown for the call.
  void take_detail(Call& call, const CollectiveDetail& detail) const {
    const CollectiveKind kind = kind_from_name(trace_.names.text(detail.name));
    if (call.kind == CollectiveKind::kOther || call.kind == CollectiveKind::kSendRecv) {
      if (kind != CollectiveKind::kOther) call.kind = kind;
    }
    if (call.group.empty()) call.group = trace_.names.text(detail.group);
    // An op that needs no other rank records the group size 1, whatever the size of its group.
    if (call.group_size < 0 && detail.group_size > 1) call.group_size = detail.group_size;
    // Each rank counts its own messages, so the numbers of sender and receiver do not correspond.
    if (call.sequence < 0 && kind != CollectiveKind::kSendRecv) call.sequence = detail.sequence;
    const Bytes bytes = whole_bytes(detail, kind, trace_.names.text(detail.dtype));
    if (kind == CollectiveKind::kSendRecv) {
      const std::int32_t self = trace_.rank;
      const bool send = trace_.names.text(detail.name).find("send") != std::string_view::npos;
      const std::int32_t peer = send ? detail.dst : detail.src;
      if (peer >= 0 && peer != self) call.messages.push_back({peer, send, bytes});
    } else if (call.bytes < 0 && bytes > 0) {
      call.bytes = bytes;
    }
  }

  // Collects the arguments of one call, from the inside out: the call itself, then the ranges
  // around its launch.
  void describe(std::size_t k) {
    Call& call = calls_[k];
    const std::uint32_t launch = launches_.launcher[call.event];
    std::uint32_t range = launch != kNone ? launches_.parent[launch] : kNone;
    if (events_.kind[call.event] == EventKind::kAnnotation) range = call.event;
    known_[k] = range != kNone;
    if (const CollectiveDetail* detail = collective_of(call.event)) {
      take_detail(call, *detail);
      known_[k] = true;
    }
    bool enclosed = false;
    for (std::uint32_t i = range; i != kNone; i = launches_.parent[i]) {
      if (const CollectiveDetail* detail = collective_of(i)) {
        if (call.messages.empty()) take_detail(call, *detail);
        enclosed = true;
      }
      const std::string_view name = text(i);
      const bool names_it = name.substr(0, 5) == "nccl:" || name.substr(0, 6) == "c10d::" ||
                            is_host_communication(name);
      if (!names_it) continue;
      const CollectiveKind kind = kind_from_name(name);
      // PyTorch runs an all-to-all as a batch of messages: its kernel is named SendRecv.
      if (kind != CollectiveKind::kOther &&
          (call.kind == CollectiveKind::kOther || call.kind == CollectiveKind::kSendRecv)) {
        call.kind = kind;
      }
      const HostOpDetail* detail = host_detail(i);
      // The inputs of a c10d op include the output tensor, so the sum of their sizes is not the
      // size of the array. For an annotation ("nccl:..."), the sum is the size of the array.
      if (call.bytes < 0 && detail != nullptr && detail->input_bytes > 0 &&
          name.substr(0, 6) != "c10d::") {
        call.bytes = detail->input_bytes;
      }
      Message message;
      if (call.messages.empty() && message_from_annotation(name, message)) {
        message.bytes = call.bytes;
        call.messages.push_back(message);
      }
    }
    auto batch = batches_.find(launch);
    if (!enclosed && launch != kNone && batch != batches_.end()) {
      const CollectiveKind kind = call.kind;
      for (const std::uint32_t op : batch->second) {
        const CollectiveDetail& detail = *collective_of(op);
        const CollectiveKind named = kind_from_name(trace_.names.text(detail.name));
        if (kind == CollectiveKind::kOther || named == kind) take_detail(call, detail);
      }
    }
    // gloo annotations do not name their group. If the job has only one group, it is that one.
    if (call.group.empty() && trace_.groups.size() == 1 &&
        events_.kind[call.event] == EventKind::kAnnotation) {
      call.group = trace_.groups.front().name;
      if (!trace_.groups.front().ranks.empty()) {
        call.group_size = static_cast<std::int32_t>(trace_.groups.front().ranks.size());
      }
    }
    if (call.kind == CollectiveKind::kSendRecv && call.bytes < 0) {
      for (const Message& m : call.messages) call.bytes = std::max(call.bytes, m.bytes);
    }
  }

  const RankTrace& trace_;
  const Events& events_;
  const Launches& launches_;
  std::vector<Call> calls_;
  std::vector<bool> known_;  // by call: whether a source has described it
  std::map<std::uint32_t, std::vector<std::uint32_t>> batches_;  // by launch: the ops of its batch
};

}  // namespace

std::vector<Call> communication_calls(const RankTrace& trace, const Launches& launches) {
  return Extractor(trace, launches).run();
}

const char* to_text(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kOther:
      return "other";
    case CollectiveKind::kAllReduce:
      return "allreduce";
    case CollectiveKind::kAllGather:
      return "allgather";
    case CollectiveKind::kReduceScatter:
      return "reducescatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kAllToAll:
      return "alltoall";
    case CollectiveKind::kSendRecv:
      return "sendrecv";
    case CollectiveKind::kBarrier:
      return "barrier";
    case CollectiveKind::kPushPull:
      return "pushpull";
  }
  return "other";
}

CollectiveKind kind_from_name(std::string_view name) {
  // The parameter types in a kernel's signature may contain any word, so cut them off.
  const std::string text = squeeze(name.substr(0, name.find('(')));
  // Longer words first: "reducescatter" contains "reduce" and "scatter".
  static constexpr std::array<std::pair<std::string_view, CollectiveKind>, 18> kWords = {{
      {"allreduce", CollectiveKind::kAllReduce},
      {"allgather", CollectiveKind::kAllGather},
      {"reducescatter", CollectiveKind::kReduceScatter},
      {"alltoall", CollectiveKind::kAllToAll},
      {"all2all", CollectiveKind::kAllToAll},
      {"collectivereduce", CollectiveKind::kAllReduce},  // TensorFlow's names
      {"collectivegather", CollectiveKind::kAllGather},
      {"collectivebcast", CollectiveKind::kBroadcast},
      {"broadcast", CollectiveKind::kBroadcast},
      {"barrier", CollectiveKind::kBarrier},
      {"sendrecv", CollectiveKind::kSendRecv},
      {"reduce", CollectiveKind::kReduce},
      {"gather", CollectiveKind::kGather},
      {"scatter", CollectiveKind::kScatter},
      {"send", CollectiveKind::kSendRecv},
      {"recv", CollectiveKind::kSendRecv},
      {"kvstoredist", CollectiveKind::kPushPull},
      {"pushpull", CollectiveKind::kPushPull},
  }};
  for (const auto& [word, kind] : kWords) {
    if (text.find(word) != std::string::npos) return kind;
  }
  return CollectiveKind::kOther;
}

}  // namespace weft::trace
