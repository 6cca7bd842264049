// SPDX-License-Identifier: Apache-2.0
// Facts about an event that the trace does not store in the event itself: its step, the collective
// that it takes part in, and the call that launched it. Tables and timeline tracks show these
// facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/predict/job.h"
#include "weft/trace/launches.h"

namespace weft::report {

/// The facts of one rank; each column has one entry per event.
struct EventFacts {
  /// Number of the step that issued the event; -1 outside of all steps. Device work belongs to the
  /// step of the call that launched it.
  std::vector<std::int32_t> step;
  /// Index into Job::matches. If the event belongs to several matches, this is the first of them.
  /// trace::kNone if the event is not communication.
  std::vector<std::uint32_t> match;
  trace::Launches launches;
};

/// One entry per rank, in the order of Job::run. O(n log n) in events, in parallel over ranks.
std::vector<EventFacts> find_event_facts(const predict::Job& job);

/// Time 0 of all exports: the start of the first event or step mark of any rank. 0 if there is
/// none.
Nanos first_time(const trace::Run& run);

/// The bytes that a copy or memset moves, or the bytes of all inputs of a host op; -1 if they were
/// not recorded or the event is of another kind.
Bytes bytes_of(const trace::RankTrace& trace, std::uint32_t event);

/// The name of a kind in exports, such as "host_op" or "kernel".
const char* kind_name(trace::EventKind kind);

/// One unique name per lane, such as "thread 408 (python3)" or "stream 7"; "device 1 stream 7" if
/// the rank uses several devices. Duplicate names get a suffix such as " #2".
std::vector<std::string> lane_names(const trace::RankTrace& trace);

}  // namespace weft::report
