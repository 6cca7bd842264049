// SPDX-License-Identifier: Apache-2.0
// Writes a sequence of packets: the interned texts, a clock snapshot, one descriptor for each
// process, track and curve, then the events of each track and curve. A span is written as a begin
// event and an end event. A viewer pairs these events like brackets, so the end event of an inner
// span must come before the end event of the span around it.
#include "weft/report/exports/perfetto.h"

#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "weft/report/exports/perfetto_fields.h"

namespace weft::report {
namespace {

using protozero::pbf_writer;

/// In Perfetto an interned id of 0 means that there is none, so ids start at 1.
std::uint64_t interned_id(NameId id) { return std::uint64_t{id} + 1; }

/// All packets belong to one sequence, because interned ids are valid within a sequence only. Every
/// process, track and curve needs a unique uuid. The uuids count from 1: first all processes, then
/// all tracks, then all curves.
class ProtobufWriter {
 public:
  ProtobufWriter(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress)
      : tracks_(tracks), out_(sink), progress_(progress) {}

  Status write() {
    WEFT_TRY(write_head());
    for (std::size_t p = 0; p < tracks_.processes.size(); ++p) WEFT_TRY(describe_process(p));
    for (std::size_t t = 0; t < tracks_.tracks.size(); ++t) WEFT_TRY(describe_track(t));
    for (std::size_t c = 0; c < tracks_.curves.size(); ++c) WEFT_TRY(describe_curve(c));
    for (std::size_t t = 0; t < tracks_.tracks.size(); ++t) WEFT_TRY(write_track(t));
    for (std::size_t c = 0; c < tracks_.curves.size(); ++c) WEFT_TRY(write_curve(c));
    return out_.flush();
  }

 private:
  static std::int32_t process_id(std::size_t process) {
    return static_cast<std::int32_t>(process) + 1;  // viewers take pid 0 for the idle process
  }
  /// Thread ids start above all process ids, because viewers take a thread for the main thread if
  /// its id equals the id of its process.
  std::int32_t thread_id(std::size_t track) const {
    return process_id(tracks_.processes.size() + track);
  }
  static std::uint64_t uuid_of_process(std::size_t process) { return process + 1; }
  std::uint64_t uuid_of_track(std::size_t track) const {
    return tracks_.processes.size() + track + 1;
  }
  std::uint64_t uuid_of_curve(std::size_t curve) const {
    return tracks_.processes.size() + tracks_.tracks.size() + curve + 1;
  }

  /// Writes one packet. The destructors of the two writers fill in the length fields of the packet.
  /// The inner block runs these destructors before advance(), which may flush the buffer.
  template <class Fill>
  Status packet(Fill fill, std::uint32_t flags = field::kNeedsState) {
    {
      pbf_writer trace(out_.buffer());
      pbf_writer packet(trace, field::kTracePacket);
      packet.add_uint32(field::kSequenceId, 1);
      packet.add_uint32(field::kSequenceFlags, flags);
      fill(packet);
    }
    return out_.advance();
  }

  Status write_head() {
    WEFT_TRY(packet(
        [&](pbf_writer& packet) {
          packet.add_bool(field::kFirstOnSequence, true);
          pbf_writer defaults(packet, field::kPacketDefaults);
          defaults.add_uint32(field::kDefaultClock, field::kBootClock);
          defaults.commit();
          pbf_writer interned(packet, field::kInternedData);
          intern(interned, field::kEventCategories, tracks_.categories);
          intern(interned, field::kEventNames, tracks_.names);
          intern(interned, field::kArgumentNames, tracks_.keys);
          intern(interned, field::kArgumentTexts, tracks_.texts);
        },
        field::kStateCleared));
    // Relates the clock of the trace, which begins at 0, to Unix time.
    return packet([&](pbf_writer& packet) {
      pbf_writer snapshot(packet, field::kClockSnapshot);
      add_clock(snapshot, field::kBootClock, 0);
      add_clock(snapshot, field::kRealClock, tracks_.unix_start);
    });
  }
  static void intern(pbf_writer& interned, std::uint32_t table, const Interner& texts) {
    for (NameId id = 0; id < texts.size(); ++id) {
      pbf_writer entry(interned, table);
      entry.add_uint64(field::kInternedId, interned_id(id));
      const std::string_view text = texts.text(id);
      entry.add_string(field::kInternedText, text.data(), text.size());
    }
  }
  static void add_clock(pbf_writer& snapshot, std::uint32_t clock, Nanos time) {
    pbf_writer entry(snapshot, field::kClocks);
    entry.add_uint32(field::kClockId, clock);
    entry.add_uint64(field::kClockTime, static_cast<std::uint64_t>(time));
  }

  Status describe_process(std::size_t process) {
    return packet([&](pbf_writer& packet) {
      pbf_writer descriptor(packet, field::kTrackDescriptor);
      descriptor.add_uint64(field::kUuid, uuid_of_process(process));
      // Viewers show the tracks of a process in the order of their kOrderRank.
      descriptor.add_enum(field::kChildOrdering, field::kExplicitOrder);
      pbf_writer description(descriptor, field::kProcess);
      description.add_int32(field::kProcessPid, process_id(process));
      description.add_int32(field::kSortIndex, static_cast<std::int32_t>(process));
      description.add_string(field::kProcessName, tracks_.processes[process]);
    });
  }
  Status describe_track(std::size_t t) {
    return packet([&](pbf_writer& packet) {
      const Track& track = tracks_.tracks[t];
      pbf_writer descriptor(packet, field::kTrackDescriptor);
      descriptor.add_uint64(field::kUuid, uuid_of_track(t));
      descriptor.add_uint64(field::kParentUuid, uuid_of_process(track.process));
      descriptor.add_int32(field::kOrderRank, static_cast<std::int32_t>(t));
      descriptor.add_string(field::kTrackName, track.name);
      if (!track.is_thread) return;
      pbf_writer thread(descriptor, field::kThread);
      thread.add_int32(field::kThreadPid, process_id(track.process));
      thread.add_int64(field::kThreadTid, thread_id(t));
      thread.add_int32(field::kSortIndex, static_cast<std::int32_t>(t));
      thread.add_string(field::kThreadName, track.name);
    });
  }
  /// A curve is a counter track in bytes.
  Status describe_curve(std::size_t c) {
    return packet([&](pbf_writer& packet) {
      const Curve& curve = tracks_.curves[c];
      pbf_writer descriptor(packet, field::kTrackDescriptor);
      descriptor.add_uint64(field::kUuid, uuid_of_curve(c));
      descriptor.add_uint64(field::kParentUuid, uuid_of_process(curve.process));
      descriptor.add_string(field::kTrackName, curve.name);
      pbf_writer counter(descriptor, field::kCounter);
      counter.add_enum(field::kCounterUnit, field::kUnitBytes);
    });
  }

  Status write_track(std::size_t t) {
    const Track& track = tracks_.tracks[t];
    open_.clear();
    for (std::uint32_t s = track.first; s < track.last; ++s) {
      WEFT_TRY(close_until(t, tracks_.spans[s].start));
      WEFT_TRY(begin_span(t, s));
      open_.push_back(tracks_.spans[s].end());
    }
    WEFT_TRY(close_until(t, INT64_MAX));
    return report_progress(progress_, track.last, tracks_.spans.size());
  }

  /// Writes the end events of all open spans that end at `time` or before, inner spans first.
  Status close_until(std::size_t track, Nanos time) {
    for (; !open_.empty() && open_.back() <= time; open_.pop_back()) {
      WEFT_TRY(event(open_.back(), uuid_of_track(track), field::kSliceEnd, [](pbf_writer&) {}));
    }
    return {};
  }

  Status begin_span(std::size_t track, std::uint32_t s) {
    const TrackSpan& span = tracks_.spans[s];
    return event(span.start, uuid_of_track(track), field::kSliceBegin, [&](pbf_writer& event) {
      event.add_uint64(field::kNameId, interned_id(span.name));
      event.add_uint64(field::kCategoryIds, interned_id(span.category));
      const std::size_t last = s + 1 < tracks_.spans.size() ? tracks_.spans[s + 1].first_argument
                                                            : tracks_.arguments.size();
      for (std::size_t a = span.first_argument; a < last; ++a) {
        const SpanArgument& argument = tracks_.arguments[a];
        pbf_writer note(event, field::kArgument);
        note.add_uint64(field::kArgumentNameId, interned_id(argument.key));
        if (argument.is_text) {
          note.add_uint64(field::kArgumentTextId, interned_id(static_cast<NameId>(argument.value)));
        } else {
          note.add_int64(field::kArgumentInt, argument.value);
        }
      }
      add_arrow_ends(event, s);
    });
  }

  void add_arrow_ends(pbf_writer& event, std::uint32_t s) {
    for (; next_end_ < tracks_.arrow_ends.size() && tracks_.arrow_ends[next_end_].span == s;
         ++next_end_) {
      const ArrowEnd& end = tracks_.arrow_ends[next_end_];
      const bool last = end.role == ArrowEnd::Role::kLast;
      event.add_fixed64(last ? field::kLastFlowIds : field::kFlowIds, std::uint64_t{end.arrow} + 1);
    }
  }

  Status write_curve(std::size_t c) {
    for (const auto& [time, bytes] : tracks_.curves[c].points) {
      WEFT_TRY(event(time, uuid_of_curve(c), field::kCounterEvent,
                     [&](pbf_writer& event) { event.add_int64(field::kCounterValue, bytes); }));
    }
    return {};
  }

  template <class Fill>
  Status event(Nanos time, std::uint64_t uuid, std::int32_t type, Fill fill) {
    return packet([&](pbf_writer& packet) {
      packet.add_uint64(field::kTimestamp, static_cast<std::uint64_t>(time));
      pbf_writer event(packet, field::kTrackEvent);
      event.add_enum(field::kEventType, type);
      event.add_uint64(field::kTrackUuid, uuid);
      fill(event);
    });
  }

  const Tracks& tracks_;
  BufferedWriter out_;
  const ExportProgress& progress_;
  std::vector<Nanos> open_;   ///< ends of the open spans of the current track, outermost first
  std::size_t next_end_ = 0;  ///< next entry of Tracks::arrow_ends, which is sorted by span
};

}  // namespace

Status write_perfetto(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress) {
  return ProtobufWriter(tracks, sink, progress).write();
}

}  // namespace weft::report
