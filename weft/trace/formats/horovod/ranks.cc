// SPDX-License-Identifier: Apache-2.0
// The steps of make_ranks(), at the end of the file:
//   1. arrivals_of(): for each response, when each rank was ready for all of its tensors.
//   2. steps_of(): number the steps by counting how often each tensor was reduced before.
//   3. Decide whether the arrivals are complete enough to give a trace of every rank.
//   4. RankMaker: write the host lane, the stream lane and (for the recorder) the activity lane of
//      each rank, and mark its steps.
#include "weft/trace/formats/horovod/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace weft::trace::horovod {
namespace {

/// Limit of the elements of one collective; its size in bytes then fits into 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
constexpr std::uint32_t kHostLane = 0, kStreamLane = 1, kActivityLane = 2;

/// When each rank was ready for all tensors of a response. (A response is a collective on tensors
/// that Horovod executes together.)
using Arrivals = std::map<std::int32_t, Nanos>;

Arrivals arrivals_of(const Timeline& timeline, const Response& response) {
  Arrivals all;
  for (std::size_t i = 0; i < response.uses.size(); ++i) {
    Arrivals mine;
    for (const auto& [rank, time] : timeline.use(response.uses[i]).ready) {
      mine.try_emplace(rank, time);
    }
    if (i == 0) {
      all = std::move(mine);
      continue;
    }
    // A rank must be ready for all tensors; one missing ready mark makes its arrival unknown.
    std::erase_if(all, [&](const auto& entry) { return !mine.contains(entry.first); });
    for (auto& [rank, time] : all) time = std::max(time, mine[rank]);
  }
  return all;
}

/// Returns the start of the last negotiation among the tensors of a response; -1 if no negotiation
/// is recorded.
Nanos negotiated_from(const Timeline& timeline, const Response& response) {
  Nanos last = -1;
  for (const std::uint32_t use : response.uses) {
    last = std::max(last, timeline.use(use).negotiated_from);
  }
  return last;
}

std::string label_of(const Timeline& timeline, const Response& response) {
  const TensorUse& first = timeline.use(response.uses.front());
  std::string label(timeline.text(first.operation));
  // Put the tensor's name in parentheses. It may contain the name of another kind of collective,
  // but kinds are recognised only by the text before the parenthesis.
  label += " (" + std::string(timeline.tensor_name(first));
  if (response.uses.size() > 1) {
    label += " and " + std::to_string(response.uses.size() - 1) + " more";
  }
  return label + ")";
}

/// Returns the step of each response: how often its tensors occurred before. The step is -1 for
///   * tensors that occur once: these are the broadcasts at the start of the job,
///   * the last step, if it has fewer tensors than the one before: the recording ended inside it,
///   * the first step, if others follow: the file does not show when its computation began.
/// Returns an empty list if no tensor occurs twice.
std::vector<std::int32_t> steps_of(const Timeline& timeline,
                                   const std::vector<Response>& responses) {
  std::map<std::uint32_t, std::int32_t> total;
  for (const Response& response : responses) {
    for (const std::uint32_t use : response.uses) ++total[timeline.use(use).tensor];
  }
  std::map<std::uint32_t, std::int32_t> seen;
  std::map<std::int32_t, std::size_t> tensors;  // number of tensors in each step
  std::vector<std::int32_t> steps;
  for (const Response& response : responses) {
    std::int32_t step = -1;
    for (const std::uint32_t use : response.uses) {
      const std::uint32_t tensor = timeline.use(use).tensor;
      if (total[tensor] > 1) step = std::max(step, seen[tensor]++);
    }
    if (step >= 0) tensors[step] += response.uses.size();
    steps.push_back(step);
  }
  if (tensors.empty()) return {};
  const auto leave_out = [&](std::map<std::int32_t, std::size_t>::iterator which) {
    std::replace(steps.begin(), steps.end(), which->first, -1);
    tensors.erase(which);
  };
  const auto last = std::prev(tensors.end());
  if (last != tensors.begin() && last->second < std::prev(last)->second) leave_out(last);
  if (tensors.size() > 1) leave_out(tensors.begin());
  return steps;
}

class RankMaker {
 public:
  /// `steps` is the result of steps_of().
  RankMaker(const Timeline& timeline, const std::vector<Response>& responses,
            const std::vector<std::int32_t>& steps)
      : timeline_(timeline), responses_(responses), steps_(steps) {
    for (const Response& response : responses) labels_.push_back(label_of(timeline, response));
  }

  /// `arrivals[k]` is the time at which the rank was ready for responses[k]. `recorder` tells
  /// whether this rank wrote the file and therefore gets the activity lane.
  RankTrace make(std::int32_t rank, std::int32_t world, const std::vector<Nanos>& arrivals,
                 bool recorder) const {
    RankTrace trace;
    trace.rank = rank;
    trace.world = world;
    trace.epoch = timeline_.epoch();
    trace.lanes.push_back({false, 0, 0, -1, "framework"});
    trace.lanes.push_back({true, 0, 0, 0, "horovod"});
    if (recorder) trace.lanes.push_back({true, 0, 1, 0, "activities"});
    Nanos free = 0;
    for (std::size_t k = 0; k < responses_.size(); ++k) {
      const Response& response = responses_[k];
      const auto number = static_cast<std::uint32_t>(k + 1);
      const Nanos ready = std::min(arrivals[k], response.end);
      push(trace, EventKind::kRuntime, kHostLane, "enqueue", ready, ready, number);
      // Horovod runs collectives one after another. So a rank arrives at a collective only after
      // the previous collective has ended. Otherwise, waiting for a late rank would count once per
      // tensor.
      const Nanos start = std::min(std::max(ready, free), response.end);
      push(trace, EventKind::kKernel, kStreamLane, labels_[k], start, response.end, number);
      trace.events.detail.back() = kernel_detail(trace, response, k, world);
      free = std::max(free, response.end);
      if (recorder) add_activities(trace, response, k);
    }
    mark_steps(trace, arrivals);
    trace.facts.device_events = true;
    trace.facts.collective_args = true;
    return trace;
  }

 private:
  static void push(RankTrace& trace, EventKind kind, std::uint32_t lane, std::string_view name,
                   Nanos start, Nanos end, std::uint32_t correlation) {
    trace.events.add(kind, start, end - start, trace.names.intern(name), lane, correlation);
  }

  std::uint32_t kernel_detail(RankTrace& trace, const Response& response, std::size_t k,
                              std::int32_t world) const {
    const TensorUse& first = timeline_.use(response.uses.front());
    const std::string_view operation = timeline_.text(first.operation);
    CollectiveDetail detail;
    detail.name = trace.names.intern(operation == "ADASUM" ? "ALLREDUCE" : operation);
    detail.dtype = trace.names.intern(first.dtype);
    detail.group = trace.names.intern("horovod");
    detail.group_size = world;
    detail.sequence = static_cast<std::int64_t>(k);
    std::int64_t elements = 0;
    for (const std::uint32_t use : response.uses) {
      const TensorUse& part = timeline_.use(use);
      if (part.elements < 0 || part.dtype != first.dtype) elements = -1;
      if (elements < 0) break;
      elements = std::min(elements + part.elements, kMostElements);
    }
    // The file gives the shapes of the outputs.
    detail.out_elements = elements;
    trace.collectives.push_back(detail);
    KernelDetail kernel;
    kernel.collective = static_cast<std::uint32_t>(trace.collectives.size() - 1);
    trace.kernels.push_back(kernel);
    return static_cast<std::uint32_t>(trace.kernels.size() - 1);
  }

  void add_activities(RankTrace& trace, const Response& response, std::size_t k) const {
    // Horovod writes an activity of a fused response once per tensor; these copies become one
    // event. Copies have the same position and the same name in the activities of their tensors.
    std::map<std::pair<std::size_t, NameId>, Activity> together;
    Activity negotiation{0, -1, -1};
    for (const std::uint32_t index : response.uses) {
      const TensorUse& use = timeline_.use(index);
      if (use.negotiated_from >= 0) {
        const bool first = negotiation.start < 0;
        negotiation.start =
            first ? use.negotiated_from : std::min(negotiation.start, use.negotiated_from);
        negotiation.end = std::max(negotiation.end, use.negotiated);
      }
      for (std::size_t i = 0; i < use.activities.size(); ++i) {
        const Activity& activity = use.activities[i];
        const Nanos end = activity.end < 0 ? use.end : activity.end;
        const auto [found, is_new] = together.try_emplace({i, activity.name}, activity);
        found->second.start = std::min(found->second.start, activity.start);
        found->second.end = is_new ? end : std::max(found->second.end, end);
      }
    }
    if (negotiation.start >= 0) {
      push(trace, EventKind::kGpuAnnotation, kActivityLane, "NEGOTIATE_" + labels_[k],
           negotiation.start, negotiation.end, 0);
    }
    for (const auto& [place, activity] : together) {
      push(trace, EventKind::kGpuAnnotation, kActivityLane, timeline_.text(activity.name),
           activity.start, std::max(activity.start, activity.end), 0);
    }
  }

  /// The optimiser waits for all gradients. So a step ends with its last collective, and the next
  /// step begins there. If a rank was ready for a gradient before its step began, this assumption
  /// does not hold and no steps are marked.
  void mark_steps(RankTrace& trace, const std::vector<Nanos>& arrivals) const {
    struct Step {
      Nanos first_ready, last_ready, end;
    };
    std::map<std::int32_t, Step> steps;
    Nanos before = -1;  // end of the last collective before the first step
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (steps_[k] < 0) {
        if (steps.empty()) before = std::max(before, responses_[k].end);
        continue;
      }
      const Nanos ready = std::min(arrivals[k], responses_[k].end);
      const auto [found, is_new] =
          steps.try_emplace(steps_[k], Step{ready, ready, responses_[k].end});
      Step& step = found->second;
      step.first_ready = std::min(step.first_ready, ready);
      step.last_ready = std::max(step.last_ready, ready);
      step.end = std::max(step.end, responses_[k].end);
    }
    // Check all steps before marking any, because a trace with only some of its steps would be
    // misleading.
    Nanos begin = before;
    for (const auto& [number, step] : steps) {
      if (begin > step.first_ready) return;
      begin = step.end;
    }
    begin = before;
    for (const auto& [number, step] : steps) {
      trace.steps.push_back({number, kHostLane, begin < 0 ? step.first_ready : begin, step.end});
      // 1 ns after the last "enqueue": the graph lets a blocking call wait only for work that was
      // issued before the call.
      push(trace, EventKind::kRuntime, kHostLane, "synchronize",
           std::min(step.last_ready + 1, step.end), step.end, 0);
      begin = step.end;
    }
  }

  const Timeline& timeline_;
  const std::vector<Response>& responses_;
  const std::vector<std::int32_t>& steps_;
  std::vector<std::string> labels_;
};

}  // namespace

RankTraces make_ranks(const Timeline& timeline, const std::vector<Response>& responses,
                      std::int32_t recorder) {
  std::vector<Arrivals> arrivals;
  std::set<std::int32_t> seen;
  for (const Response& response : responses) {
    arrivals.push_back(arrivals_of(timeline, response));
    for (const auto& [rank, time] : arrivals.back()) seen.insert(rank);
  }
  const auto world = seen.empty() ? -1 : *seen.rbegin() + 1;
  const std::vector<std::int32_t> steps = steps_of(timeline, responses);
  RankTraces result;
  // The file always has the arrivals at the broadcasts at the start of a job, because the response
  // cache is empty at that time. These broadcasts say nothing about later responses. So if there
  // are steps, only the responses in steps are counted.
  std::size_t asked = 0, known = 0;
  for (std::size_t k = 0; k < responses.size(); ++k) {
    const bool tells = world > 0 && arrivals[k].size() == static_cast<std::size_t>(world);
    result.unknown_arrivals += tells ? 0 : 1;
    if (!steps.empty() && steps[k] < 0) continue;
    ++asked;
    known += tells ? 1 : 0;
  }
  const RankMaker maker(timeline, responses, steps);
  const bool all_ranks = world > 1 && known * 2 >= asked;
  // Only the coordinator, rank 0, writes ready marks. A file without any was written by a worker.
  const std::int32_t self = seen.empty() ? recorder : 0;
  for (std::int32_t rank = all_ranks ? 0 : self; rank <= (all_ranks ? world - 1 : self); ++rank) {
    std::vector<Nanos> ready;
    for (std::size_t k = 0; k < responses.size(); ++k) {
      const auto found = arrivals[k].find(rank);
      if (found != arrivals[k].end()) {
        ready.push_back(found->second);
      } else if (all_ranks) {
        // If an arrival is unknown, let all ranks arrive together when the response begins. So no
        // rank appears late without evidence.
        ready.push_back(responses[k].start);
      } else {
        const Nanos from = negotiated_from(timeline, responses[k]);
        ready.push_back(from < 0 ? responses[k].start : from);
      }
    }
    result.ranks.push_back(maker.make(rank, world, ready, rank == self));
  }
  return result;
}

}  // namespace weft::trace::horovod
