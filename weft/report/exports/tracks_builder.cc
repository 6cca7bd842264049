// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/tracks_builder.h"

#include <algorithm>

namespace weft::report {

std::uint32_t TracksBuilder::add_process(std::string name) {
  tracks_.processes.push_back(std::move(name));
  return static_cast<std::uint32_t>(tracks_.processes.size() - 1);
}

void TracksBuilder::begin_track(std::uint32_t process, bool is_thread, const std::string& name,
                                std::size_t overflow) {
  Track& track = tracks_.tracks.emplace_back();
  track.process = process;
  track.is_thread = is_thread;
  track.name = overflow == 0 ? name : name + " (overlap " + std::to_string(overflow) + ")";
  track.first = track.last = next_span();
}

void TracksBuilder::add_span(const LaidSpan& span) {
  TrackSpan& added = tracks_.spans.emplace_back();
  added.start = span.start - zero_;
  added.duration = span.duration;
  added.first_argument = static_cast<std::uint32_t>(tracks_.arguments.size());
}

void TracksBuilder::add_arrow(NameId category, std::vector<std::uint32_t> spans) {
  // An event without a span is not drawn. So the arrow skips it and goes on to the next span.
  std::erase(spans, kNotDrawn);
  const auto starts_before = [&](std::uint32_t a, std::uint32_t b) {
    return tracks_.spans[a].start < tracks_.spans[b].start;
  };
  if (spans.size() < 2 || !std::is_sorted(spans.begin(), spans.end(), starts_before)) return;
  const auto arrow = static_cast<std::uint32_t>(tracks_.arrows.size());
  tracks_.arrows.push_back(category);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto role = i == 0                  ? ArrowEnd::Role::kFirst
                      : i + 1 == spans.size() ? ArrowEnd::Role::kLast
                                              : ArrowEnd::Role::kMiddle;
    tracks_.arrow_ends.push_back({spans[i], arrow, role});
  }
}

Tracks TracksBuilder::finish() {
  // A writer goes through the spans once and writes the arrow ends of a span right after the span.
  // So the arrow ends are sorted by span.
  auto& ends = tracks_.arrow_ends;
  std::sort(ends.begin(), ends.end(), [](const ArrowEnd& a, const ArrowEnd& b) {
    return std::pair{a.span, a.arrow} < std::pair{b.span, b.arrow};
  });
  return std::move(tracks_);
}

}  // namespace weft::report
