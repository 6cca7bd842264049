// SPDX-License-Identifier: Apache-2.0
// Turns the events of a Kineto file, one at a time, into the columns of a RankTrace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/kineto/raw_event.h"

namespace weft::trace::kineto {

/// How many events could not be used or had to be corrected.
struct Losses {
  std::int64_t without_time = 0;
  std::int64_t negative_duration = 0;
  std::map<std::string, std::int64_t> unknown_categories;
};

/// Writes into `trace`, which must outlive the collector.
class Collector {
 public:
  explicit Collector(RankTrace& trace) : trace_(trace) {}

  void add(const RawEvent& event);
  /// Call it once, after the last event: names the lanes, sorts the steps, and sets the process and
  /// the facts that depend on all events.
  void finish();

  const Losses& losses() const { return losses_; }
  /// The rank that collective calls give as their own rank; -1 if no call does.
  std::int32_t rank_seen() const { return rank_seen_; }
  /// Size of the largest process group of any collective call; -1 if no call has one.
  std::int32_t largest_group() const { return largest_group_; }

 private:
  struct LaneKey {
    bool on_device = false;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    bool operator==(const LaneKey&) const = default;
  };
  struct LaneKeyHash {
    std::size_t operator()(const LaneKey& key) const;
  };

  void add_complete(const RawEvent& event);
  void add_memory(const RawEvent& event);
  void add_flow(const RawEvent& event);
  void add_metadata(const RawEvent& event);
  void add_step(const RawEvent& event, std::uint32_t lane, Nanos start, Nanos duration);

  std::uint32_t lane_of(const RawEvent& event, bool on_device);
  std::uint32_t host_detail(const RawEvent& event);
  std::uint32_t kernel_detail(const RawEvent& event);
  std::uint32_t sync_detail(const RawEvent& event);
  std::uint32_t collective_of(const RawEvent& event);
  void note_group(const RawEvent& event);
  NameId shape_of(const RawEvent& event);
  void push(EventKind kind, const RawEvent& event, std::uint32_t lane, Nanos start, Nanos duration,
            std::uint32_t detail);

  RankTrace& trace_;
  std::unordered_map<LaneKey, std::uint32_t, LaneKeyHash> lanes_;
  LaneKey last_key_;  ///< cache: neighbouring events are mostly on the same lane
  std::uint32_t last_lane_ = kNone;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> lane_names_;
  std::map<std::string, ProcessGroup, std::less<>> groups_;
  std::string scratch_;
  std::int32_t rank_seen_ = -1;
  std::int32_t largest_group_ = -1;
  Losses losses_;
};

}  // namespace weft::trace::kineto
