// SPDX-License-Identifier: Apache-2.0
// Walks the outer messages (space, plane, line) with ProtoStream, and decodes the inner messages
// (event, names, stats) with protozero. Field numbers are those of XLA's xplane.proto. Unused
// fields are skipped.
#include "weft/trace/formats/xplane/raw_space.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

namespace weft::trace::xplane {
namespace {

constexpr std::string_view kMetadataPlane = "/host:metadata";
constexpr std::int64_t kEventsBetweenProgress = 4096;

std::string_view view(protozero::data_view data) { return {data.data(), data.size()}; }

bool is_number(protozero::pbf_wire_type wire) { return wire == protozero::pbf_wire_type::varint; }
bool is_text(protozero::pbf_wire_type wire) {
  return wire == protozero::pbf_wire_type::length_delimited;
}

class SpaceReading {
 public:
  SpaceReading(ProtoStream& stream, const std::string& file, const ReadOptions& options)
      : stream_(stream), file_(file), options_(options) {}

  Result<RawSpace> run() {
    ProtoStream::Field field;
    // Fields of XSpace: planes (1), host names (4).
    while (!cancelled_ && stream_.next(field)) {
      if (field.number == 1 && field.is_bytes) {
        stream_.enter(field.value);
        read_plane();
      } else if (field.number == 4 && field.is_bytes) {
        const std::string_view host = stream_.take(field.value);
        if (!host.empty()) space_.hosts.emplace_back(host);
      } else if (field.is_bytes) {
        stream_.skip(field.value);
      }
    }
    if (cancelled_) return fail(ErrorCode::kCancelled, "interrupted", file_);
    WEFT_TRY(stream_.status());
    return std::move(space_);
  }

 private:
  void read_plane() {
    space_.planes.emplace_back();
    RawPlane& plane = space_.planes.back();
    ProtoStream::Field field;
    while (!cancelled_ && stream_.next(field)) {
      if (!field.is_bytes) continue;
      // Fields of XPlane: name (2), lines (3), event names (4), stat names (5), stats (6).
      switch (field.number) {
        case 2:
          plane.name = stream_.take(field.value);
          break;
        case 3:
          stream_.enter(field.value);
          read_line(plane);
          break;
        case 4:
          decode(field.value, [&](std::string_view bytes) { add_event_name(plane, bytes); });
          break;
        case 5:
          decode(field.value, [&](std::string_view bytes) { add_stat_name(plane, bytes); });
          break;
        case 6:
          decode(field.value, [&](std::string_view bytes) { add_stat(plane, bytes, plane.facts); });
          break;
        default:
          stream_.skip(field.value);
      }
    }
  }

  void read_line(RawPlane& plane) {
    plane.lines.push_back({0, {}, 0, plane.events.size()});
    RawLine& line = plane.lines.back();
    ProtoStream::Field field;
    // Fields of XLine: id (1), name (2), timestamp (3), events (4), display name (11).
    while (!cancelled_ && stream_.next(field)) {
      if (field.number == 1 && !field.is_bytes) {
        line.id = static_cast<std::int64_t>(field.value);
      } else if (field.number == 3 && !field.is_bytes) {
        line.timestamp_ns = static_cast<std::int64_t>(field.value);
      } else if ((field.number == 2 || field.number == 11) && field.is_bytes) {
        const std::string_view name = stream_.take(field.value);
        if (!name.empty()) line.name = name;
      } else if (field.number == 4 && field.is_bytes) {
        decode(field.value, [&](std::string_view bytes) { add_event(plane, bytes); });
        if (++space_.events % kEventsBetweenProgress == 0 && options_.progress) {
          cancelled_ = !options_.progress(stream_.offset());
        }
      } else if (field.is_bytes) {
        stream_.skip(field.value);
      }
    }
  }

  // Decodes one inner message. protozero throws if the message is damaged; then only this message
  // is left out. A message that is longer than ProtoStream can take is left out too.
  template <class Add>
  void decode(std::uint64_t length, const Add& add) {
    const std::string_view bytes = stream_.take(length);
    if (!stream_.ok()) return;
    if (bytes.size() != length) {
      ++space_.bad_messages;
      return;
    }
    try {
      add(bytes);
    } catch (const protozero::exception&) {
      ++space_.bad_messages;
    }
  }

  void add_event(RawPlane& plane, std::string_view bytes) {
    RawEvent event;
    const std::size_t stats = plane.stats.size();
    event.first_stat = static_cast<std::uint32_t>(stats);
    // Fields of XEvent: metadata id (1), offset (2), duration (3), stats (4).
    try {
      protozero::pbf_reader message(bytes.data(), bytes.size());
      while (message.next()) {
        if (message.tag() == 1 && is_number(message.wire_type())) {
          event.metadata = static_cast<std::uint32_t>(message.get_int64());
        } else if (message.tag() == 2 && is_number(message.wire_type())) {
          event.offset_ps = message.get_int64();
        } else if (message.tag() == 3 && is_number(message.wire_type())) {
          event.duration_ps = message.get_int64();
        } else if (message.tag() == 4 && is_text(message.wire_type())) {
          add_stat(plane, view(message.get_view()), plane.stats);
        } else {
          message.skip();
        }
      }
    } catch (const protozero::exception&) {
      plane.stats.resize(stats);  // the event is dropped, so its stats must go too
      throw;
    }
    plane.events.push_back(event);
  }

  void add_stat(RawPlane& plane, std::string_view bytes, std::vector<RawStat>& out) {
    // Fields of XStat: metadata id (1), then one value: unsigned (3), signed (4), text (5) or
    // reference to a stat name (7).
    RawStat stat;
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      const bool number = is_number(message.wire_type());
      if (message.tag() == 1 && number) {
        stat.name = static_cast<std::uint32_t>(message.get_int64());
      } else if ((message.tag() == 3 || message.tag() == 4) && number) {
        stat.kind = RawStat::Kind::kNumber;
        stat.value = message.get_int64();
      } else if (message.tag() == 7 && number) {
        stat.kind = RawStat::Kind::kReference;
        stat.value = message.get_int64();
      } else if (message.tag() == 5 && is_text(message.wire_type())) {
        stat.kind = RawStat::Kind::kText;
        stat.value = plane.texts.intern(view(message.get_view()));
      } else {
        message.skip();
      }
    }
    out.push_back(stat);
  }

  // Protobuf writes a map as a list of entries; an entry has the key in field 1 and the value in
  // field 2. Event names and stat names are such maps.
  static bool map_entry(std::string_view bytes, std::uint32_t& key, std::string_view& value) {
    protozero::pbf_reader entry(bytes.data(), bytes.size());
    bool found = false;
    while (entry.next()) {
      if (entry.tag() == 1 && is_number(entry.wire_type())) {
        key = static_cast<std::uint32_t>(entry.get_int64());
      } else if (entry.tag() == 2 && is_text(entry.wire_type())) {
        value = view(entry.get_view());
        found = true;
      } else {
        entry.skip();
      }
    }
    return found;
  }

  void add_event_name(RawPlane& plane, std::string_view bytes) {
    std::uint32_t key = 0;
    std::string_view value;
    if (!map_entry(bytes, key, value)) return;
    EventName name;
    const bool programs = plane.name == kMetadataPlane;
    std::vector<std::string_view> program_stats;
    protozero::pbf_reader message(value.data(), value.size());
    while (message.next()) {
      if (!is_text(message.wire_type())) {
        message.skip();
      } else if (message.tag() == 2) {
        name.name = view(message.get_view());
      } else if (message.tag() == 4) {
        name.display = view(message.get_view());
      } else if (message.tag() == 5 && programs) {
        program_stats.push_back(view(message.get_view()));
      } else {
        message.skip();
      }
    }
    for (const std::string_view stat : program_stats) add_program(name.name, stat);
    if (!programs) plane.event_names[key] = std::move(name);
  }

  // In the metadata plane, each event name is a program. It has one stat of type bytes (field 6),
  // which is the HloProto of the program.
  void add_program(const std::string& name, std::string_view stat) {
    protozero::pbf_reader message(stat.data(), stat.size());
    while (message.next()) {
      if (message.tag() == 6 && is_text(message.wire_type())) {
        space_.collectives.add_program(name, view(message.get_view()));
      } else {
        message.skip();
      }
    }
  }

  static void add_stat_name(RawPlane& plane, std::string_view bytes) {
    std::uint32_t key = 0;
    std::string_view value;
    if (!map_entry(bytes, key, value)) return;
    protozero::pbf_reader message(value.data(), value.size());
    while (message.next()) {
      if (message.tag() == 2 && is_text(message.wire_type())) {
        plane.stat_names[key] = view(message.get_view());
      } else {
        message.skip();
      }
    }
  }

  ProtoStream& stream_;
  const std::string& file_;
  const ReadOptions& options_;
  RawSpace space_;
  bool cancelled_ = false;
};

}  // namespace

std::string_view RawPlane::text(const RawStat& stat) const {
  if (stat.kind == RawStat::Kind::kText) return texts.text(static_cast<NameId>(stat.value));
  if (stat.kind != RawStat::Kind::kReference) return {};
  const auto found = stat_names.find(static_cast<std::uint32_t>(stat.value));
  return found == stat_names.end() ? std::string_view() : std::string_view(found->second);
}

std::uint32_t RawPlane::stat_id(std::string_view wanted) const {
  std::uint32_t best = kNone;
  for (const auto& [id, text] : stat_names) {
    if (text == wanted) best = std::min(best, id);
  }
  return best;
}

Result<RawSpace> read_space(ProtoStream& stream, const std::string& file,
                            const ReadOptions& options) {
  return SpaceReading(stream, file, options).run();
}

}  // namespace weft::trace::xplane
