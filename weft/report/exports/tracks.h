// SPDX-License-Identifier: Apache-2.0
// Turns a job into Tracks, the form that timeline viewers need: processes with tracks, nested spans
// on each track, arrows between spans, and curves. The writers of all timeline formats take Tracks
// as their input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/units.h"
#include "weft/diagnose/path.h"
#include "weft/predict/job.h"

namespace weft::report {

/// A key and a value that a viewer shows for a span. The value is a number, or the id of a text in
/// Tracks::texts.
struct SpanArgument {
  NameId key = 0;  ///< index into Tracks::keys
  bool is_text = false;
  std::int64_t value = 0;
};

/// The arguments of a span start at `first_argument` in Tracks::arguments and end where those of
/// the next span start.
struct TrackSpan {
  Nanos start = 0;  ///< nanoseconds since the first event of the job, never negative
  Nanos duration = 0;
  NameId name = 0;      ///< index into Tracks::names
  NameId category = 0;  ///< index into Tracks::categories
  std::uint32_t first_argument = 0;

  Nanos end() const { return start + duration; }
};

/// A track shows spans [first, last) of Tracks::spans. They are sorted by start, outer spans before
/// inner ones. Any two of them either nest or do not overlap.
struct Track {
  std::uint32_t process = 0;  ///< index into Tracks::processes
  bool is_thread = false;     ///< a thread of the host
  std::string name;           ///< unique within the process
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A point at which an arrow touches a span. An arrow leads through all its ends in order of time.
struct ArrowEnd {
  enum class Role : std::uint8_t { kFirst, kMiddle, kLast };
  std::uint32_t span = 0;
  std::uint32_t arrow = 0;
  Role role = Role::kFirst;
};

/// A value that changes over time. Viewers show each curve on a separate track.
struct Curve {
  std::uint32_t process = 0;
  std::string name;
  std::vector<std::pair<Nanos, std::int64_t>> points;  ///< time, and bytes from that time on
};

struct Tracks {
  std::string label;
  Nanos unix_start = 0;  ///< Unix time in nanoseconds at time 0
  std::vector<std::string> processes;
  std::vector<Track> tracks;  ///< grouped by process
  std::vector<TrackSpan> spans;
  std::vector<SpanArgument> arguments;
  std::vector<NameId> arrows;        ///< category of each arrow
  std::vector<ArrowEnd> arrow_ends;  ///< sorted by span
  std::vector<Curve> curves;
  Interner names, categories, keys, texts;
};

/// The first process of the result shows the critical path. Then follows one process per rank.
/// Takes O(n log n) time for n events.
Tracks make_tracks(const predict::Job& job, const diagnose::CriticalPath& path);

}  // namespace weft::report
