// SPDX-License-Identifier: Apache-2.0
// What tables and timelines tell about an event beyond its own columns: its step, the collective it
// takes part in, the call that launched it. Found once for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/predict/job.h"
#include "weft/trace/launches.h"

namespace weft::report {

/// Of one rank; one entry an event.
struct EventFacts {
  /// Number of the step that issued the event: device work belongs to the step of its launch. -1
  /// outside of all steps.
  std::vector<std::int32_t> step;
  /// Index into Job::matches, of several the first; trace::kNone if it is no communication.
  std::vector<std::uint32_t> match;
  trace::Launches launches;
};

/// By rank, as Job::run has them. O(n log n) in events, in parallel over ranks.
std::vector<EventFacts> find_event_facts(const predict::Job& job);

/// Time 0 of everything that is written: where the first event or step of any rank begins.
Nanos first_time(const trace::Run& run);

/// What a copy moved, or the inputs of a host op; -1 where that was not recorded.
Bytes bytes_of(const trace::RankTrace& trace, std::uint32_t event);

/// "host_op", "kernel" ...
const char* kind_name(trace::EventKind kind);

/// One name a lane, none twice: "thread 408 (python3)", "stream 7"; "device 1 stream 7" where the
/// rank uses several devices.
std::vector<std::string> lane_names(const trace::RankTrace& trace);

}  // namespace weft::report
