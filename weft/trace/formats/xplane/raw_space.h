// SPDX-License-Identifier: Apache-2.0
// Reads an XSpace file into a compact form without interpreting it: planes contain lines, lines
// contain events, and events refer to names by number. The whole file is held in this form first,
// because names come after the events that use them, and because host events can only be assigned
// to devices once all devices are known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/interner.h"
#include "weft/base/result.h"
#include "weft/trace/formats/proto_stream.h"
#include "weft/trace/formats/xplane/hlo.h"
#include "weft/trace/reader.h"

namespace weft::trace::xplane {

/// A named value of an event or of a plane.
struct RawStat {
  enum class Kind : std::uint8_t { kNumber, kText, kReference, kOther };
  std::uint32_t name = 0;  ///< key in RawPlane::stat_names
  Kind kind = Kind::kOther;
  std::int64_t value = 0;  ///< the number, an index into RawPlane::texts, or a key in stat_names
};

struct RawEvent {
  std::uint32_t metadata = 0;    ///< key in RawPlane::event_names
  std::uint32_t first_stat = 0;  ///< index of the event's first stat; the next event's stats follow
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
};

/// A stream of a device or a thread of the host.
struct RawLine {
  std::int64_t id = 0;
  std::string name;
  std::int64_t timestamp_ns = 0;
  std::size_t first_event = 0;  ///< index of the line's first event; the next line's events follow
};

struct EventName {
  std::string name;     ///< on TPUs the text of the instruction
  std::string display;  ///< a shorter name; empty if there is none
};

/// A device, or one kind of recorder of the host.
struct RawPlane {
  std::string name;
  std::vector<RawLine> lines;
  std::vector<RawEvent> events;
  std::vector<RawStat> stats;  ///< stats of the events
  std::vector<RawStat> facts;  ///< stats of the plane itself
  std::unordered_map<std::uint32_t, EventName> event_names;
  std::unordered_map<std::uint32_t, std::string> stat_names;
  Interner texts;

  std::size_t line_end(std::size_t line) const {
    return line + 1 < lines.size() ? lines[line + 1].first_event : events.size();
  }
  std::size_t stats_end(std::size_t event) const {
    return event + 1 < events.size() ? events[event + 1].first_stat : stats.size();
  }
  /// Returns the value of a text or reference; "" for a number.
  std::string_view text(const RawStat& stat) const;
  /// Returns the id of a stat name. It differs from plane to plane. Returns kNone if the plane does
  /// not use the name.
  std::uint32_t stat_id(std::string_view wanted) const;
};

struct RawSpace {
  std::vector<RawPlane> planes;
  std::vector<std::string> hosts;
  HloCollectives collectives;  ///< collectives of all programs in the file
  std::int64_t events = 0;
  std::int64_t bad_messages = 0;  ///< messages that could not be decoded and were left out
};

/// Reads until the end of the file, or until the place where the file is cut or damaged. `stream`
/// tells which of these happened. Everything before that place is kept. Returns an Error if the
/// source cannot be read or if the progress callback cancels.
Result<RawSpace> read_space(ProtoStream& stream, const std::string& file,
                            const ReadOptions& options);

}  // namespace weft::trace::xplane
