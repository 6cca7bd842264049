// SPDX-License-Identifier: Apache-2.0
// Finds ranks that spend their time in about the same way. Similar ranks form a group. The page
// shows the first rank of each group and folds the others. Each rank is compared only with the
// first ranks of the groups that are already known.
#include <array>
#include <cstdlib>

#include "weft/report/timeline/draft.h"

namespace weft::report {
namespace {

/// Two ranks are similar if, in every class of spans, their times differ by at most this share of
/// the larger of their total device times.
constexpr double kTolerance = 0.02;

struct Profile {
  std::vector<std::string> lanes;  ///< names of the device lanes
  std::array<Nanos, kSpanClasses + 1>
      time{};  ///< per class of spans; the last entry is the waiting time

  /// The sum of the times of all classes. Waiting time is not added, because it is already part of
  /// the communication class.
  Nanos total() const {
    Nanos sum = 0;
    for (std::size_t c = 0; c < kSpanClasses; ++c) sum += time[c];
    return sum;
  }
};

std::vector<Profile> profile_ranks(const Timeline& timeline) {
  std::vector<Profile> profiles(timeline.ranks.size());
  std::vector<std::uint32_t> rank_of(timeline.spans.size());
  for (const TimelineRow& row : timeline.rows) {
    const TimelineLane& lane = timeline.lanes[row.lane];
    Profile& profile = profiles[lane.rank];
    for (std::uint32_t i = row.first; i < row.last; ++i) rank_of[i] = lane.rank;
    // Only device time is compared; host threads are not part of the profile.
    if (lane.group != RowGroup::kStream && lane.group != RowGroup::kTrack) continue;
    if (row.depth == 0) profile.lanes.push_back(lane.name);
    for (std::uint32_t i = row.first; i < row.last; ++i) {
      const SpanLabel& label = timeline.labels[timeline.spans.label[i]];
      profile.time[static_cast<std::size_t>(label.span_class)] += timeline.spans.busy[i];
    }
  }
  for (const TimelineCollective& collective : timeline.collectives) {
    for (const std::uint32_t member : collective.members) {
      const Nanos waited = collective.last_arrival - timeline.spans.start[member];
      if (waited > 0) profiles[rank_of[member]].time[kSpanClasses] += waited;
    }
  }
  return profiles;
}

bool is_similar(const Profile& a, const Profile& b) {
  if (a.lanes != b.lanes) return false;
  const double allowed = kTolerance * static_cast<double>(std::max(a.total(), b.total()));
  for (std::size_t c = 0; c < a.time.size(); ++c) {
    if (static_cast<double>(std::abs(a.time[c] - b.time[c])) > allowed) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> find_similar_ranks(const Timeline& timeline) {
  const std::vector<Profile> profiles = profile_ranks(timeline);
  std::vector<std::uint32_t> like, firsts;
  for (std::uint32_t r = 0; r < profiles.size(); ++r) {
    std::uint32_t first = r;
    for (const std::uint32_t candidate : firsts) {
      if (!is_similar(profiles[candidate], profiles[r])) continue;
      first = candidate;
      break;
    }
    if (first == r) firsts.push_back(r);
    like.push_back(first);
  }
  return like;
}

}  // namespace weft::report
