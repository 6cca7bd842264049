// SPDX-License-Identifier: Apache-2.0
// An XSpace file as it is: planes of lines of events, with names by number. Names come behind the
// events that use them, and what a host event means is only known once the devices are, so a file
// is held in this compact form before it is judged.
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

struct RawStat {
  enum class Kind : std::uint8_t { kNumber, kText, kReference, kOther };
  std::uint32_t name = 0;  ///< stat metadata id
  Kind kind = Kind::kOther;
  std::int64_t value = 0;  ///< number; index of the text; stat metadata id
};

struct RawEvent {
  std::uint32_t metadata = 0;
  std::uint32_t first_stat = 0;  ///< up to the next event's
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
};

struct RawLine {
  std::int64_t id = 0;
  std::string name;
  std::int64_t timestamp_ns = 0;
  std::size_t first_event = 0;  ///< up to the next line's
};

struct EventName {
  std::string name;     ///< on TPUs the text of the instruction
  std::string display;  ///< shorter, if there is one
};

struct RawPlane {
  std::string name;
  std::vector<RawLine> lines;
  std::vector<RawEvent> events;
  std::vector<RawStat> stats;  ///< of the events
  std::vector<RawStat> facts;  ///< of the plane
  std::unordered_map<std::uint32_t, EventName> event_names;
  std::unordered_map<std::uint32_t, std::string> stat_names;
  Interner texts;

  std::size_t line_end(std::size_t line) const {
    return line + 1 < lines.size() ? lines[line + 1].first_event : events.size();
  }
  std::size_t stats_end(std::size_t event) const {
    return event + 1 < events.size() ? events[event + 1].first_stat : stats.size();
  }
  /// Text of a text or reference; empty for numbers.
  std::string_view text(const RawStat& stat) const;
  /// The id of a stat's name, which differs from plane to plane; kNone if the
  /// plane does not use it.
  std::uint32_t stat_id(std::string_view wanted) const;
};

struct RawSpace {
  std::vector<RawPlane> planes;
  std::vector<std::string> hosts;
  HloCollectives collectives;  ///< of the programs that the file holds
  std::int64_t events = 0;
  std::int64_t bad_messages = 0;  ///< that could not be decoded, and were left out
};

/// Reads until the end, or until the file is cut or broken, which `stream` then tells; what was
/// read before is kept. An Error is a failing disk or a cancelled run.
Result<RawSpace> read_space(ProtoStream& stream, const std::string& file,
                            const ReadOptions& options);

}  // namespace weft::trace::xplane
