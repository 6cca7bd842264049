// SPDX-License-Identifier: Apache-2.0
// Builds Tracks lane by lane. Only the files that make tracks include this header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/report/exports/track_layout.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {

/// Stands for an event without a span.
constexpr std::uint32_t kNotDrawn = 0xffffffffu;

class TracksBuilder {
 public:
  explicit TracksBuilder(Nanos time_zero) : zero_(time_zero) {}

  Tracks& tracks() { return tracks_; }
  std::uint32_t add_process(std::string name);

  /// Adds the spans of a lane, on the tracks that lay_out() chooses. Times are on the clock of the
  /// traces. After each span is added, this function calls `describe(id)` with the id of the span.
  /// `describe` sets the name and the category with span() and adds arguments with number() and
  /// text().
  template <class Describe>
  void add_lane(std::uint32_t process, bool is_thread, const std::string& name,
                std::vector<LaidSpan> spans, Describe describe) {
    const auto laid = lay_out(std::move(spans));
    for (std::size_t t = 0; t < laid.size(); ++t) {
      begin_track(process, is_thread && t == 0, name, t);
      for (const LaidSpan& span : laid[t]) {
        add_span(span);
        describe(span.id);
      }
      tracks_.tracks.back().last = next_span();
    }
  }

  /// The span that was added last, and its index in Tracks::spans.
  TrackSpan& span() { return tracks_.spans.back(); }
  std::uint32_t span_index() const { return next_span() - 1; }
  void number(NameId key, std::int64_t value) { tracks_.arguments.push_back({key, false, value}); }
  void text(NameId key, std::string_view value) {
    tracks_.arguments.push_back({key, true, tracks_.texts.intern(value)});
  }
  NameId key(std::string_view text) { return tracks_.keys.intern(text); }
  NameId category(std::string_view text) { return tracks_.categories.intern(text); }

  /// Adds an arrow through `spans`, which must be in order of time. Entries that are kNotDrawn are
  /// skipped. Viewers follow arrows forward in time only, so an arrow that would go back in time is
  /// not added. An arrow with fewer than two spans is not added either.
  void add_arrow(NameId category, std::vector<std::uint32_t> spans);

  Tracks finish();

 private:
  std::uint32_t next_span() const { return static_cast<std::uint32_t>(tracks_.spans.size()); }
  void begin_track(std::uint32_t process, bool is_thread, const std::string& name,
                   std::size_t overflow);
  void add_span(const LaidSpan& span);

  Tracks tracks_;
  Nanos zero_;
};

}  // namespace weft::report
