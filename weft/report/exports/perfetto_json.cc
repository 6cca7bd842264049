// SPDX-License-Identifier: Apache-2.0
// Writes Chrome trace events. The member "ph" (phase) of an event says what the event is: "M" is
// the name or the sort index of a process or thread, "X" is a span, "s", "t" and "f" are the start,
// a middle point and the end of an arrow, and "C" is a point of a curve. An export can have
// millions of events, so they are appended as text and no JSON tree is built.
#include "weft/report/exports/perfetto_json.h"

#include <charconv>
#include <string>
#include <vector>

#include "weft/base/json/writer.h"

namespace weft::report {
namespace {

/// All texts of an interner as JSON strings. Escaping each text once is much faster than once per
/// event.
std::vector<std::string> json_strings(const Interner& texts) {
  std::vector<std::string> out(texts.size());
  for (NameId id = 0; id < out.size(); ++id) append_json_string(out[id], texts.text(id));
  return out;
}

void append(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Appends a time, which must not be negative. The format counts in microseconds; three decimals
/// keep every nanosecond.
void append_time(std::string& out, Nanos time) {
  append(out, time / 1000);
  const auto rest = static_cast<int>(time % 1000);
  if (rest == 0) return;
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

class ChromeWriter {
 public:
  ChromeWriter(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress)
      : tracks_(tracks),
        out_(sink),
        progress_(progress),
        names_(json_strings(tracks.names)),
        categories_(json_strings(tracks.categories)),
        keys_(json_strings(tracks.keys)),
        texts_(json_strings(tracks.texts)) {}

  Status write() {
    JsonWriter head;
    head.begin_object().field("displayTimeUnit", "ns").key("otherData").begin_object();
    head.field("writer", "weft").field("label", tracks_.label);
    // This number is written as a string, because readers parse JSON numbers as doubles. A double
    // cannot hold the nanoseconds since 1970 exactly.
    head.field("unix_start_ns", std::to_string(tracks_.unix_start)).end_object();
    out_.buffer() += head.text();
    out_.buffer() += ",\n\"traceEvents\":[";
    for (std::size_t p = 0; p < tracks_.processes.size(); ++p) name_process(p);
    for (std::size_t t = 0; t < tracks_.tracks.size(); ++t) name_track(t);
    for (std::size_t t = 0; t < tracks_.tracks.size(); ++t) WEFT_TRY(write_track(t));
    for (const Curve& curve : tracks_.curves) WEFT_TRY(write_curve(curve));
    out_.buffer() += "\n]}\n";
    return out_.flush();
  }

 private:
  static std::int64_t process_id(std::size_t process) {
    return static_cast<std::int64_t>(process) + 1;  // viewers take pid 0 for the idle process
  }
  /// Thread ids start above all process ids, because viewers take a thread for the main thread if
  /// its id equals the id of its process.
  std::int64_t thread_id(std::size_t track) const {
    return process_id(tracks_.processes.size() + track);
  }

  /// Starts an event on a new line, with a comma after the previous event.
  std::string& begin(std::string_view start) {
    std::string& out = out_.buffer();
    out += first_ ? "\n" : ",\n";
    first_ = false;
    return out += start;
  }
  /// Appends the process and the thread of a track.
  void place(std::string& out, std::size_t track) const {
    out += ",\"pid\":";
    append(out, process_id(tracks_.tracks[track].process));
    out += ",\"tid\":";
    append(out, thread_id(track));
  }

  void metadata(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
                std::string_view json) {
    std::string& out = begin("{\"ph\":\"M\",\"name\":\"");
    out.append(what).append("\",\"pid\":");
    append(out, pid);
    out += ",\"tid\":";
    append(out, tid);
    out.append(",\"args\":{\"").append(key).append("\":").append(json).append("}}");
  }
  void name_process(std::size_t process) {
    std::string name;
    append_json_string(name, tracks_.processes[process]);
    metadata("process_name", process_id(process), 0, "name", name);
    metadata("process_sort_index", process_id(process), 0, "sort_index", std::to_string(process));
  }
  void name_track(std::size_t track) {
    std::string name;
    append_json_string(name, tracks_.tracks[track].name);
    const std::int64_t pid = process_id(tracks_.tracks[track].process);
    metadata("thread_name", pid, thread_id(track), "name", name);
    metadata("thread_sort_index", pid, thread_id(track), "sort_index", std::to_string(track));
  }

  Status write_track(std::size_t track) {
    for (std::uint32_t s = tracks_.tracks[track].first; s < tracks_.tracks[track].last; ++s) {
      write_span(track, s);
      for (; next_end_ < tracks_.arrow_ends.size() && tracks_.arrow_ends[next_end_].span == s;
           ++next_end_) {
        write_arrow_end(track, tracks_.arrow_ends[next_end_]);
      }
      WEFT_TRY(out_.advance());
    }
    return report_progress(progress_, tracks_.tracks[track].last, tracks_.spans.size());
  }

  void write_span(std::size_t track, std::uint32_t s) {
    const TrackSpan& span = tracks_.spans[s];
    std::string& out = begin("{\"ph\":\"X\",\"name\":");
    out.append(names_[span.name]).append(",\"cat\":").append(categories_[span.category]);
    place(out, track);
    out += ",\"ts\":";
    append_time(out, span.start);
    out += ",\"dur\":";
    append_time(out, span.duration);
    const std::size_t last = s + 1 < tracks_.spans.size() ? tracks_.spans[s + 1].first_argument
                                                          : tracks_.arguments.size();
    if (span.first_argument < last) {
      out += ",\"args\":{";
      for (std::size_t a = span.first_argument; a < last; ++a) {
        const SpanArgument& argument = tracks_.arguments[a];
        if (a > span.first_argument) out += ',';
        out.append(keys_[argument.key]) += ':';
        if (argument.is_text) {
          out += texts_[static_cast<std::size_t>(argument.value)];
        } else {
          append(out, argument.value);
        }
      }
      out += '}';
    }
    out += '}';
  }

  void write_arrow_end(std::size_t track, const ArrowEnd& end) {
    using Role = ArrowEnd::Role;
    std::string& out = begin("{\"ph\":\"");
    out += end.role == Role::kFirst ? 's' : end.role == Role::kMiddle ? 't' : 'f';
    const std::string& category = categories_[tracks_.arrows[end.arrow]];
    out.append("\",\"name\":").append(category).append(",\"cat\":").append(category);
    out += ",\"id\":";
    append(out, end.arrow);
    place(out, track);
    out += ",\"ts\":";
    append_time(out, tracks_.spans[end.span].start);
    // "bp": "e" binds the end of the arrow to the span around it. Without it, the arrow would end
    // at the next span that begins.
    if (end.role == Role::kLast) out += ",\"bp\":\"e\"";
    out += '}';
  }

  Status write_curve(const Curve& curve) {
    std::string name;
    append_json_string(name, curve.name);
    for (const auto& [time, bytes] : curve.points) {
      std::string& out = begin("{\"ph\":\"C\",\"name\":");
      out.append(name).append(",\"pid\":");
      append(out, process_id(curve.process));
      out += ",\"ts\":";
      append_time(out, time);
      out += ",\"args\":{\"bytes\":";
      append(out, bytes);
      out += "}}";
      WEFT_TRY(out_.advance());
    }
    return {};
  }

  const Tracks& tracks_;
  BufferedWriter out_;
  const ExportProgress& progress_;
  std::vector<std::string> names_, categories_, keys_, texts_;
  std::size_t next_end_ = 0;  ///< next entry of Tracks::arrow_ends, which is sorted by span
  bool first_ = true;
};

}  // namespace

Status write_perfetto_json(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress) {
  return ChromeWriter(tracks, sink, progress).write();
}

}  // namespace weft::report
