// SPDX-License-Identifier: Apache-2.0
// A job as viewers of timelines want it: processes with tracks, spans that nest on each track,
// arrows between spans, curves. Every format for such viewers is written from this one shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"
#include "weft/diagnose/path.h"
#include "weft/predict/job.h"

namespace weft::report {

/// What the viewer shows beside a span: a number, or a text (then an id of Tracks::texts).
struct SpanArgument {
  NameId key = 0;  ///< into Tracks::keys
  bool is_text = false;
  std::int64_t value = 0;
};

/// Its arguments are those from `first_argument` up to the first one of the next span.
struct TrackSpan {
  Nanos start = 0;  ///< since the first event of the job, never negative
  Nanos duration = 0;
  NameId name = 0;      ///< into Tracks::names
  NameId category = 0;  ///< into Tracks::categories
  std::uint32_t first_argument = 0;

  Nanos end() const { return start + duration; }
};

/// Spans [first, last) of Tracks::spans, by start, outer before inner; each two of them either nest
/// or do not overlap.
struct Track {
  std::uint32_t process = 0;  ///< index into Tracks::processes
  bool is_thread = false;     ///< of the host
  std::string name;           ///< no other track of the process has it
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// Where an arrow touches a span. An arrow is the chain of all its ends, which come in order of
/// time.
struct ArrowEnd {
  enum class Role : std::uint8_t { kFirst, kMiddle, kLast };
  std::uint32_t span = 0;
  std::uint32_t arrow = 0;
  Role role = Role::kFirst;
};

/// A value over time, on a track of its own.
struct Curve {
  std::uint32_t process = 0;
  std::string name;
  std::vector<std::pair<Nanos, std::int64_t>> points;  ///< from this instant on, so many bytes
};

struct Tracks {
  std::string label;
  Nanos unix_start = 0;  ///< Unix time of time 0
  std::vector<std::string> processes;
  std::vector<Track> tracks;  ///< grouped by process
  std::vector<TrackSpan> spans;
  std::vector<SpanArgument> arguments;
  std::vector<NameId> arrows;        ///< category of each
  std::vector<ArrowEnd> arrow_ends;  ///< by span
  std::vector<Curve> curves;
  Interner names, categories, keys, texts;
};

/// The critical path comes first, as a process of its own. O(n log n) in events.
Tracks make_tracks(const predict::Job& job, const diagnose::CriticalPath& path);

}  // namespace weft::report
