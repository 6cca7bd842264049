// SPDX-License-Identifier: Apache-2.0
// Matches collectives of different ranks:
//   1. Each rank's calls are split into tracks: one per named group, and one per stream for calls
//      without group name.
//   2. Tracks of different ranks should hold the same calls if they have the same group name and
//      the same members. A group that uses several streams is split further, by kind of collective.
//   3. The tracks are merged into clusters, one after another. A cluster is a list of slots; a slot
//      is one collective with the members found so far. align_sequences() aligns a track with the
//      slots. Pairs become members of their slot; calls without partner become new slots.
//      If the membership of a group is unknown, a track joins the cluster that fits it best, and
//      starts a new one if none fits well.
//   4. Each slot becomes a match.
// Large groups are matched first, and within a group long tracks are matched first. Large groups
// and long tracks have the fewest possible alignments. They reveal clock offsets, which help to
// align the rest.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "weft/trace/match/match_context.h"
#include "weft/trace/match/step_numbers.h"

namespace weft::trace {
namespace {

// The calls of one group on one rank, as indices into calls[rank].
struct Track {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> calls;
};

// One collective with the members found so far. The end of `item` is the mean end of the members.
struct Slot {
  SequenceItem item;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // rank, call
};

// The collectives of ranks that take part in the same calls.
struct Cluster {
  std::uint32_t reference = 0;  // the rank whose clock the ends of the slots refer to
  std::vector<Slot> slots;
  std::set<std::uint32_t> ranks;
  std::int32_t group_size = -1;

  bool has_room() const {
    return group_size < 0 || ranks.size() < static_cast<std::size_t>(group_size);
  }
};

class CollectiveMatcher {
 public:
  explicit CollectiveMatcher(MatchContext& context)
      : c_(context), by_step_(step_numbers(context.run, context.calls)) {}

  void run() {
    // Named groups: one track per rank. Unnamed: one track per rank and stream.
    std::map<std::string, std::map<std::uint32_t, Track>> named;
    std::vector<Track> unnamed;
    for (std::uint32_t r = 0; r < c_.calls.size(); ++r) {
      std::map<std::uint32_t, Track> by_lane;
      const std::map<std::string, std::string> keys = group_keys(c_.run.ranks[r]);
      std::map<std::string, Track*> tracks;  // of this rank
      for (std::uint32_t c = 0; c < c_.calls[r].size(); ++c) {
        const Call& call = c_.calls[r][c];
        if (call.kind == CollectiveKind::kSendRecv) continue;
        // Host-side back-ends (gloo) run a call on any free thread, so threads do not separate
        // groups as streams do.
        const Events& events = c_.run.ranks[r].events;
        const bool on_host = events.kind[call.event] == EventKind::kAnnotation;
        Track* track = nullptr;
        if (call.group.empty()) {
          track = &by_lane[on_host ? kNone : events.lane[call.event]];
        } else {
          Track*& known = tracks[call.group];
          if (known == nullptr) {
            const auto key = keys.find(call.group);
            known = &named[key == keys.end() ? call.group : key->second][r];
          }
          track = known;
        }
        track->rank = r;
        track->calls.push_back(c);
      }
      for (auto& [lane, track] : by_lane) unnamed.push_back(std::move(track));
    }
    std::vector<std::vector<Track>> groups;
    for (auto& [key, tracks] : named) {
      std::vector<Track> list;
      for (auto& [rank, track] : tracks) list.push_back(std::move(track));
      split_by_kind(std::move(list), groups);
    }
    // Large groups first: they reveal most about the clocks.
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      auto size = [](const std::vector<Track>& tracks) {
        std::size_t sum = 0;
        for (const Track& t : tracks) sum += t.calls.size();
        return sum;
      };
      return size(a) > size(b);
    });
    std::vector<Cluster> clusters;
    for (auto& tracks : groups) {
      const Call& first = c_.calls[tracks[0].rank][tracks[0].calls[0]];
      // If more ranks use this name than the group has members, several groups share the name.
      const bool too_many =
          first.group_size > 0 && tracks.size() > static_cast<std::size_t>(first.group_size);
      std::vector<Cluster> found;
      cluster(std::move(tracks), too_many, found);
      std::move(found.begin(), found.end(), std::back_inserter(clusters));
    }
    // A track without group name may be the missing member of a named group, so it may join any
    // cluster.
    cluster(std::move(unnamed), true, clusters);
    emit(clusters);
  }

 private:
  SequenceItem item_of(std::uint32_t rank, std::uint32_t index) const {
    const Call& call = c_.calls[rank][index];
    SequenceItem item;
    item.end = c_.end_of(rank, call);
    if (call.kind != CollectiveKind::kOther) item.kind = static_cast<std::int32_t>(call.kind);
    // The ranks contribute different sizes to an all-to-all, so sizes cannot be compared.
    if (!call.inferred && call.kind != CollectiveKind::kAllToAll) item.bytes = call.bytes;
    item.sequence = call.sequence >= 0 ? call.sequence : by_step_[rank][index];
    return item;
  }

  // Returns the key of each group name. Disjoint groups may have the same name, so the key contains
  // the ranks of the group if they are known. The keys are computed once per rank, not per call,
  // because a key with a thousand ranks is long.
  static std::map<std::string, std::string> group_keys(const RankTrace& trace) {
    std::map<std::string, std::string> keys;
    for (const ProcessGroup& group : trace.groups) {
      const auto [at, fresh] = keys.try_emplace(group.name, group.name);
      if (!fresh) continue;
      for (const std::int32_t member : group.ranks) at->second += "," + std::to_string(member);
    }
    return keys;
  }

  // If a group uses several streams, kernels of different streams may start in another order on
  // each rank. But kernels of one kind start in the same order. So the calls of each kind become a
  // separate group. This is not possible if the kind of some calls is unknown.
  void split_by_kind(std::vector<Track> tracks, std::vector<std::vector<Track>>& groups) const {
    bool several = false;
    bool unknown = false;
    for (const Track& track : tracks) {
      std::set<std::uint32_t> lanes;
      for (const std::uint32_t c : track.calls) {
        const Call& call = c_.calls[track.rank][c];
        lanes.insert(c_.run.ranks[track.rank].events.lane[call.event]);
        unknown |= call.kind == CollectiveKind::kOther;
      }
      several |= lanes.size() > 1;
    }
    if (!several || unknown) {
      groups.push_back(std::move(tracks));
      return;
    }
    std::map<CollectiveKind, std::vector<Track>> by_kind;
    for (const Track& track : tracks) {
      std::map<CollectiveKind, Track> parts;
      for (const std::uint32_t c : track.calls) {
        Track& part = parts[c_.calls[track.rank][c].kind];
        part.rank = track.rank;
        part.calls.push_back(c);
      }
      for (auto& [kind, part] : parts) by_kind[kind].push_back(std::move(part));
    }
    for (auto& [kind, list] : by_kind) groups.push_back(std::move(list));
  }

  // Merges tracks into clusters. If it is unknown which tracks belong together
  // (`unknown_membership`), a track joins the cluster with which its ends agree best. If it fits no
  // cluster well, it starts a new cluster.
  void cluster(std::vector<Track> tracks, bool unknown_membership, std::vector<Cluster>& clusters) {
    std::stable_sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) {
      return a.calls.size() > b.calls.size();
    });
    for (const Track& track : tracks) {
      std::vector<SequenceItem> items;
      for (const std::uint32_t c : track.calls) {
        items.push_back(item_of(track.rank, c));
      }
      std::optional<SequenceMatch> best;
      std::size_t where = 0;
      for (std::size_t k = 0; k < clusters.size(); ++k) {
        if (clusters[k].ranks.count(track.rank) != 0) continue;
        if (unknown_membership && !clusters[k].has_room()) continue;
        SequenceMatch match = align_with(clusters[k], track.rank, items);
        if (unknown_membership && !fits_well(match, items)) continue;
        if (!best || match.score > best->score) {
          best = std::move(match);
          where = k;
        }
      }
      if (best) {
        join(clusters[where], track, items, *best);
      } else {
        Cluster created;
        created.reference = track.rank;
        created.ranks.insert(track.rank);
        created.group_size = c_.calls[track.rank][track.calls[0]].group_size;
        for (std::size_t j = 0; j < items.size(); ++j) {
          created.slots.push_back({items[j], {{track.rank, track.calls[j]}}});
        }
        clusters.push_back(std::move(created));
      }
    }
  }

  SequenceMatch align_with(const Cluster& cluster, std::uint32_t rank,
                           const std::vector<SequenceItem>& items) {
    std::vector<SequenceItem> slots;
    for (const Slot& slot : cluster.slots) slots.push_back(slot.item);
    return align_sequences(slots, items, c_.prior(cluster.reference, rank));
  }

  // Whether a track belongs to the cluster that it was aligned with. Members of a collective end
  // together, but calls of unrelated groups do not. So at least half of the calls must have a
  // partner. And their ends may scatter by at most a fifth of the usual gap between calls (or 200
  // us).
  static bool fits_well(const SequenceMatch& match, const std::vector<SequenceItem>& items) {
    if (2 * match.pairs.size() < items.size()) return false;
    if (items.size() < 3) return true;
    std::vector<Nanos> gaps;
    for (std::size_t i = 1; i < items.size(); ++i) gaps.push_back(items[i].end - items[i - 1].end);
    return match.spread <= std::max(median(gaps) / 5, 200 * kMicrosecond);
  }

  // Merges the track into the slots of the cluster, in order of time.
  void join(Cluster& cluster, const Track& track, const std::vector<SequenceItem>& items,
            const SequenceMatch& match) {
    if (!match.pairs.empty()) {
      c_.clocks.relate(cluster.reference, track.rank, median(match.offset));
    }
    cluster.ranks.insert(track.rank);
    std::vector<Slot> merged;
    std::size_t i = 0;
    std::size_t j = 0;
    const Nanos fallback = c_.clocks.between(cluster.reference, track.rank).value_or(0);
    for (std::size_t k = 0; k <= match.pairs.size(); ++k) {
      const bool last = k == match.pairs.size();
      const std::size_t next_i = last ? cluster.slots.size() : match.pairs[k].first;
      const std::size_t next_j = last ? items.size() : match.pairs[k].second;
      const Nanos offset =
          match.pairs.empty() ? fallback : match.offset[std::min(k, match.offset.size() - 1)];
      // Between two pairs, each call exists only in the cluster or only in the track. Put these
      // calls in order of time.
      while (i < next_i || j < next_j) {
        const bool from_slots =
            j >= next_j || (i < next_i && cluster.slots[i].item.end <= items[j].end + offset);
        if (from_slots) {
          merged.push_back(std::move(cluster.slots[i++]));
        } else {
          Slot slot{items[j], {{track.rank, track.calls[j]}}};
          slot.item.end += offset;
          merged.push_back(std::move(slot));
          ++j;
        }
      }
      if (last) break;
      Slot slot = std::move(cluster.slots[i++]);
      slot.members.emplace_back(track.rank, track.calls[j]);
      const SequenceItem& item = items[j++];
      if (slot.item.kind < 0) slot.item.kind = item.kind;
      if (slot.item.bytes < 0) slot.item.bytes = item.bytes;
      if (slot.item.sequence < 0) slot.item.sequence = item.sequence;
      const auto members = static_cast<Nanos>(slot.members.size());
      slot.item.end += (item.end + offset - slot.item.end) / members;
      merged.push_back(std::move(slot));
    }
    cluster.slots = std::move(merged);
  }

  void emit(const std::vector<Cluster>& clusters) {
    for (const Cluster& cluster : clusters) {
      std::int64_t position = 0;
      for (const Slot& slot : cluster.slots) {
        Match match;
        match.sequence = position++;
        auto members = slot.members;
        std::sort(members.begin(), members.end());
        for (const auto& [rank, c] : members) {
          const Call& call = c_.calls[rank][c];
          match.members.push_back({rank, call.event});
          if (match.kind == CollectiveKind::kOther) match.kind = call.kind;
          if (match.group.empty()) match.group = call.group;
          if (call.sequence >= 0) match.sequence = call.sequence;
          match.bytes = std::max(match.bytes, call.bytes);
          match.group_size = std::max(match.group_size, call.group_size);
        }
        if (match.group_size < 0) match.group_size = static_cast<int>(cluster.ranks.size());
        c_.matches.push_back(std::move(match));
      }
    }
  }

  MatchContext& c_;
  const std::vector<std::vector<std::int64_t>>
      by_step_;  // numbers for calls without recorded number
};

}  // namespace

void match_collectives(MatchContext& context) { CollectiveMatcher(context).run(); }

}  // namespace weft::trace
