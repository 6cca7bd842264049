// SPDX-License-Identifier: Apache-2.0
// Finds launches and steps first, in parallel over ranks, because they need only the trace of one
// rank. Then one thread assigns the matches, because a match connects several ranks.
#include "weft/report/exports/event_facts.h"

#include <algorithm>
#include <set>

#include "weft/base/parallel.h"
#include "weft/trace/steps.h"

namespace weft::report {
namespace {

using trace::EventKind;

/// The step of an event. A phase of an op timeline has its step in the recording. Device work
/// belongs to the step in which the call that launched it starts. Any other event belongs to the
/// step in which it starts.
std::int32_t step_of(const trace::RankTrace& trace, const trace::Launches& launches,
                     std::uint32_t event) {
  const trace::Events& events = trace.events;
  if (events.kind[event] == EventKind::kPhase && events.detail[event] < trace.phases.size()) {
    return trace.phases[events.detail[event]].step;
  }
  const std::uint32_t launcher = launches.launcher[event];
  return trace::step_at(trace, events.start[launcher == trace::kNone ? event : launcher]);
}

/// The name of a lane, which may not be unique: lane_names() numbers duplicates. The name of a
/// stream contains its number.
std::string plain_name(const trace::Lane& lane, bool several_devices) {
  if (!lane.on_device) {
    return lane.name.empty() ? "thread " + std::to_string(lane.tid) : lane.name;
  }
  if (lane.device < 0 && !lane.name.empty()) return lane.name;  // a track of an op timeline
  const std::string stream = "stream " + std::to_string(lane.tid);
  return several_devices ? "device " + std::to_string(lane.device) + " " + stream : stream;
}

}  // namespace

std::vector<EventFacts> find_event_facts(const predict::Job& job) {
  const auto& ranks = job.run.ranks;
  std::vector<EventFacts> facts(ranks.size());
  parallel_for(ranks.size(), [&](std::size_t r) {
    EventFacts& of_rank = facts[r];
    of_rank.launches = trace::resolve_launches(ranks[r]);
    of_rank.match.assign(ranks[r].events.size(), trace::kNone);
    of_rank.step.resize(ranks[r].events.size());
    for (std::uint32_t i = 0; i < of_rank.step.size(); ++i) {
      of_rank.step[i] = step_of(ranks[r], of_rank.launches, i);
    }
  });
  for (std::uint32_t m = 0; m < job.matches.size(); ++m) {
    for (const trace::Member& member : job.matches[m].members) {
      // A kernel with several messages is a member of several matches. Exports show only the first.
      std::uint32_t& match = facts[member.rank].match[member.event];
      if (match == trace::kNone) match = m;
    }
  }
  return facts;
}

Bytes bytes_of(const trace::RankTrace& trace, std::uint32_t event) {
  const std::uint32_t detail = trace.events.detail[event];
  switch (trace.events.kind[event]) {
    case EventKind::kMemcpy:
    case EventKind::kMemset:
      return detail < trace.copies.size() ? trace.copies[detail].bytes : -1;
    case EventKind::kHostOp:
      return detail < trace.host_ops.size() ? trace.host_ops[detail].input_bytes : -1;
    default:
      return -1;
  }
}

Nanos first_time(const trace::Run& run) {
  Nanos first = INT64_MAX;
  for (const trace::RankTrace& rank : run.ranks) {
    for (const Nanos start : rank.events.start) first = std::min(first, start);
    for (const trace::StepMark& step : rank.steps) first = std::min(first, step.start);
  }
  return first == INT64_MAX ? 0 : first;
}

const char* kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kHostOp:
      return "host_op";
    case EventKind::kAnnotation:
      return "annotation";
    case EventKind::kRuntime:
      return "runtime";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kMemcpy:
      return "memcpy";
    case EventKind::kMemset:
      return "memset";
    case EventKind::kSync:
      return "sync";
    case EventKind::kMemory:
      return "memory";
    case EventKind::kGpuAnnotation:
      return "gpu_annotation";
    case EventKind::kOverhead:
      return "overhead";
    case EventKind::kPhase:
      return "phase";
  }
  return "other";
}

std::vector<std::string> lane_names(const trace::RankTrace& trace) {
  std::set<std::int32_t> devices;
  for (const trace::Lane& lane : trace.lanes) {
    if (lane.on_device) devices.insert(lane.device);
  }
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const trace::Lane& lane : trace.lanes) {
    const std::string plain = plain_name(lane, devices.size() > 1);
    std::string name = plain;
    for (int n = 2; !taken.insert(name).second; ++n) name = plain + " #" + std::to_string(n);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace weft::report
