// SPDX-License-Identifier: Apache-2.0
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

struct Slot {
  SequenceItem item;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // rank, call
};

// Ranks found to take part in the same calls.
struct Cluster {
  std::uint32_t reference = 0;  // the rank on whose clock the slots lie
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
    // Named groups: one track a rank. Unnamed: one a rank and stream.
    std::map<std::string, std::map<std::uint32_t, Track>> named;
    std::vector<Track> unnamed;
    for (std::uint32_t r = 0; r < c_.calls.size(); ++r) {
      std::map<std::uint32_t, Track> by_lane;
      const std::map<std::string, std::string> keys = group_keys(c_.run.ranks[r]);
      std::map<std::string, Track*> tracks;  // of this rank
      for (std::uint32_t c = 0; c < c_.calls[r].size(); ++c) {
        const Call& call = c_.calls[r][c];
        if (call.kind == CollectiveKind::kSendRecv) continue;
        // Host-side back-ends hand their calls to whichever thread is free.
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
    // Large groups first: they tell most about the clocks.
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
      const bool too_many =
          first.group_size > 0 && tracks.size() > static_cast<std::size_t>(first.group_size);
      std::vector<Cluster> found;
      cluster(std::move(tracks), too_many, found);
      std::move(found.begin(), found.end(), std::back_inserter(clusters));
    }
    // A rank that does not name the group may still be the one that is missing in it.
    cluster(std::move(unnamed), true, clusters);
    emit(clusters);
  }

 private:
  SequenceItem item_of(std::uint32_t rank, std::uint32_t index) const {
    const Call& call = c_.calls[rank][index];
    SequenceItem item;
    item.end = c_.end_of(rank, call);
    if (call.kind != CollectiveKind::kOther) item.kind = static_cast<std::int32_t>(call.kind);
    // All-to-alls differ in size from rank to rank.
    if (!call.inferred && call.kind != CollectiveKind::kAllToAll) item.bytes = call.bytes;
    item.sequence = call.sequence >= 0 ? call.sequence : by_step_[rank][index];
    return item;
  }

  // Group names may be reused by disjoint groups, so the ranks belong to the key where known. Said
  // once a rank: in a job of a thousand ranks such a key is long, and its calls are many.
  static std::map<std::string, std::string> group_keys(const RankTrace& trace) {
    std::map<std::string, std::string> keys;
    for (const ProcessGroup& group : trace.groups) {
      const auto [at, fresh] = keys.try_emplace(group.name, group.name);
      if (!fresh) continue;
      for (const std::int32_t member : group.ranks) at->second += "," + std::to_string(member);
    }
    return keys;
  }

  // Where a group uses several streams, kernels of different streams need not start in the same
  // order on all ranks; those of one kind do.
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

  // Puts tracks together. Where membership is unknown (`choosy`), a track joins the cluster whose
  // ends it agrees with best, or founds a new one.
  void cluster(std::vector<Track> tracks, bool choosy, std::vector<Cluster>& clusters) {
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
        if (choosy && !clusters[k].has_room()) continue;
        SequenceMatch match = against(clusters[k], track.rank, items);
        if (choosy && !convincing(match, items)) continue;
        if (!best || match.score > best->score) {
          best = std::move(match);
          where = k;
        }
      }
      if (best) {
        join(clusters[where], track, items, *best);
      } else {
        Cluster fresh;
        fresh.reference = track.rank;
        fresh.ranks.insert(track.rank);
        fresh.group_size = c_.calls[track.rank][track.calls[0]].group_size;
        for (std::size_t j = 0; j < items.size(); ++j) {
          fresh.slots.push_back({items[j], {{track.rank, track.calls[j]}}});
        }
        clusters.push_back(std::move(fresh));
      }
    }
  }

  SequenceMatch against(const Cluster& cluster, std::uint32_t rank,
                        const std::vector<SequenceItem>& items) {
    std::vector<SequenceItem> slots;
    for (const Slot& slot : cluster.slots) slots.push_back(slot.item);
    return align_sequences(slots, items, c_.prior(cluster.reference, rank));
  }

  // Members of one collective end together; calls of unrelated groups do not.
  static bool convincing(const SequenceMatch& match, const std::vector<SequenceItem>& items) {
    if (2 * match.pairs.size() < items.size()) return false;
    if (items.size() < 3) return true;
    std::vector<Nanos> gaps;
    for (std::size_t i = 1; i < items.size(); ++i) gaps.push_back(items[i].end - items[i - 1].end);
    return match.spread <= std::max(median(gaps) / 5, 200 * kMicrosecond);
  }

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
      // Between two pairs: what only one side has, by time.
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
  const std::vector<std::vector<std::int64_t>> by_step_;  // numbers for calls without
};

}  // namespace

void match_collectives(MatchContext& context) { CollectiveMatcher(context).run(); }

}  // namespace weft::trace
