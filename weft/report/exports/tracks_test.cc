// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/tracks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "weft/report/exports/track_layout.h"
#include "weft/trace/made_run.h"

namespace weft::report {
namespace {

using trace::EventKind;
using trace::MadeRank;

template <class Span>
void expect_nested(const std::vector<Span>& spans) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    for (std::size_t j = i + 1; j < spans.size(); ++j) {
      ASSERT_LE(spans[i].start, spans[j].start);
      const bool apart = spans[j].start >= spans[i].end();
      const bool inside = spans[j].end() <= spans[i].end();
      ASSERT_TRUE(apart || inside) << i << " and " << j;
    }
  }
}

TEST(TrackLayout, SpansOfATrackNestAndNoneIsLost) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<LaidSpan> spans;
    for (std::uint32_t i = 0; i < 60; ++i) {
      spans.push_back({static_cast<Nanos>(random() % 40), static_cast<Nanos>(random() % 12), i,
                       random() % 4 == 0});
    }
    std::set<std::uint32_t> seen;
    for (const auto& track : lay_out(spans)) {
      expect_nested(track);
      for (const LaidSpan& span : track) {
        EXPECT_TRUE(seen.insert(span.id).second);
        EXPECT_EQ(span.start, spans[span.id].start);
        EXPECT_EQ(span.duration, spans[span.id].duration);
      }
    }
    EXPECT_EQ(seen.size(), spans.size());
  }
}

TEST(TrackLayout, SpansThatNestStayOnOneTrack) {
  EXPECT_EQ(
      lay_out({{0, 10, 0, false}, {0, 4, 1, false}, {4, 6, 2, false}, {10, 0, 3, false}}).size(),
      1u);
  EXPECT_EQ(lay_out({{0, 10, 0, false}, {5, 10, 1, false}, {12, 1, 2, false}}).size(), 2u);
}

TEST(TrackLayout, AnnotationEnclosesAKernelOfTheSameTime) {
  const auto tracks = lay_out({{5, 3, 0, false}, {5, 3, 1, true}});
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks[0][0].id, 1u);
}

predict::Job overlapping_job() {
  trace::Run run;
  run.world = 2;
  for (std::int32_t r = 0; r < 2; ++r) {
    MadeRank rank(r, 2);
    rank.trace.steps.push_back({3, 0, 0, 900'000});
    rank.host("aten::mm", 100, 50'000);
    rank.runtime(200, 1'000, 1);
    rank.runtime(2'000, 1'000, 2);
    rank.runtime(4'000, 1'000, 3);
    rank.kernel("gemm", 60'000, 50'000, 1, 7);
    rank.kernel("copy", 80'000, 40'000, 2, 7);  // overlaps the gemm of the same stream
    rank.describe(rank.kernel(trace::kAllReduceKernel, 500'000, 300'000 + r * 1'000, 3),
                  "allreduce", 1000);
    rank.add(EventKind::kMemory, "[memory]", 300, 0);
    run.ranks.push_back(std::move(rank.trace));
  }
  Diagnostics diagnostics;
  auto job = predict::make_job(std::move(run), diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return std::move(*job);
}

TEST(Tracks, StreamWithOverlappingSpansGetsASecondTrack) {
  const Tracks tracks = make_tracks(overlapping_job(), {});
  std::map<std::string, int> names;
  for (const Track& track : tracks.tracks) {
    ++names[track.name];
    expect_nested(std::vector<TrackSpan>(tracks.spans.begin() + track.first,
                                         tracks.spans.begin() + track.last));
  }
  const std::map<std::string, int> expected = {{"steps", 2},
                                               {"thread 0", 2},
                                               {"stream 7", 2},
                                               {"stream 7 (overlap 1)", 2},
                                               {"stream 20", 2}};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(tracks.processes, (std::vector<std::string>{"rank 0", "rank 1"}));
  EXPECT_EQ(tracks.spans.size(), 2u * 8) << "a step and all events but the memory instant";
}

TEST(Tracks, ArrowsGoFromLaunchToWorkAndThroughACollectiveInOrderOfArrival) {
  const Tracks tracks = make_tracks(overlapping_job(), {});
  std::map<std::string, int> arrows;
  for (const NameId category : tracks.arrows)
    ++arrows[std::string(tracks.categories.text(category))];
  EXPECT_EQ(arrows["launch"], 6);
  EXPECT_EQ(arrows["collective"], 1);
  std::map<std::uint32_t, std::vector<ArrowEnd>> ends;
  for (std::size_t i = 0; i < tracks.arrow_ends.size(); ++i) {
    EXPECT_LE(tracks.arrow_ends[i > 0 ? i - 1 : 0].span, tracks.arrow_ends[i].span);
    ends[tracks.arrow_ends[i].arrow].push_back(tracks.arrow_ends[i]);
  }
  for (auto& [arrow, chain] : ends) {
    ASSERT_EQ(chain.size(), 2u);
    std::sort(chain.begin(), chain.end(),
              [](const ArrowEnd& a, const ArrowEnd& b) { return a.role < b.role; });
    EXPECT_EQ(chain[0].role, ArrowEnd::Role::kFirst);
    EXPECT_EQ(chain[1].role, ArrowEnd::Role::kLast);
    EXPECT_LE(tracks.spans[chain[0].span].start, tracks.spans[chain[1].span].start);
  }
}

TEST(Tracks, CriticalPathIsAProcessWithArrowsThroughItsEvents) {
  const predict::Job job = overlapping_job();
  const diagnose::CriticalPath path = diagnose::find_critical_path(job);
  ASSERT_FALSE(path.pieces.empty());
  const Tracks tracks = make_tracks(job, path);
  ASSERT_EQ(tracks.processes.size(), 3u);
  EXPECT_EQ(tracks.processes[0], "critical path");
  const Track& track = tracks.tracks[0];
  EXPECT_EQ(track.last - track.first, path.pieces.size());
  for (std::uint32_t s = track.first; s + 1 < track.last; ++s) {
    EXPECT_EQ(tracks.spans[s].end(), tracks.spans[s + 1].start) << "pieces lie end to end";
  }
  int arrows = 0;
  for (const NameId category : tracks.arrows) {
    arrows += tracks.categories.text(category) == "critical_path";
  }
  EXPECT_GT(arrows, 0);
}

}  // namespace
}  // namespace weft::report
