// SPDX-License-Identifier: Apache-2.0
// Matches messages. A message is a send on one rank and a receive on another. Between two ranks of
// a group, messages arrive in the order in which they were sent (NCCL guarantees this). So for each
// group and pair of ranks:
//   1. If the offset of the two clocks is unknown, find it from the two directions together. Each
//      kernel sends, receives, or does both; the pattern must be mirrored on the other rank.
//   2. Align the sends of each direction with the receives (align_sequences()).
//   3. If the same two kernels send both ways, the two messages become one match with `bytes_back`.
// Pairs of ranks with the most messages are matched first, since they reveal most about the clocks.
// Sends and receives whose peer is unknown are matched last, by their ends alone.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "weft/trace/match/match_context.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kPeerUnknown = {
    "message-peer-unknown", Severity::kWarning,
    "the peer of a send or receive was not recorded, and no other send or receive ends at the same "
    "time; it is treated as local work",
    "record with a framework that writes the arguments of sends and receives (PyTorch 2.2 or "
    "later)"};

class MessageMatcher {
 public:
  explicit MessageMatcher(MatchContext& context) : c_(context) {
    for (std::uint32_t r = 0; r < c_.run.ranks.size(); ++r) {
      rank_index_[c_.run.ranks[r].rank] = r;
    }
  }

  void run() {
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, Traffic> traffic;
    for (std::uint32_t r = 0; r < c_.calls.size(); ++r) {
      for (std::uint32_t c = 0; c < c_.calls[r].size(); ++c) {
        const Call& call = c_.calls[r][c];
        if (call.kind != CollectiveKind::kSendRecv) continue;
        for (std::uint32_t k = 0; k < call.messages.size(); ++k) {
          const Message& message = call.messages[k];
          auto peer = rank_index_.find(message.peer);
          if (peer == rank_index_.end()) {  // the peer's trace is not part of this run
            emit_message(call.group, {r, c, k}, std::nullopt);
            continue;
          }
          const bool first = r < peer->second;
          Traffic& t = traffic[{call.group, std::min(r, peer->second), std::max(r, peer->second)}];
          auto& list =
              first ? (message.send ? t.send_a : t.recv_a) : (message.send ? t.send_b : t.recv_b);
          list.push_back({c, k});
        }
      }
    }
    std::vector<decltype(traffic)::const_iterator> order;
    for (auto it = traffic.begin(); it != traffic.end(); ++it) order.push_back(it);
    std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) {
      return x->second.size() > y->second.size();
    });
    for (const auto& it : order) {
      const auto& [group, a, b] = it->first;
      match_pair(group, a, b, it->second);
    }
  }

 private:
  // One end of a message: the index of the call, and of the message within this call.
  struct End {
    std::uint32_t call = 0;
    std::uint32_t message = 0;
  };
  struct Traffic {  // between ranks a < b of one group
    std::vector<End> send_a, recv_a, send_b, recv_b;
    std::size_t size() const {
      return send_a.size() + recv_a.size() + send_b.size() + recv_b.size();
    }
  };

  struct Place {
    std::uint32_t rank, call, message;
  };

  void match_pair(const std::string& group, std::uint32_t a, std::uint32_t b, const Traffic& t) {
    // Use the two directions together to find the clock offset: a kernel that sends on one rank
    // must match a kernel that receives on the other.
    std::optional<SequencePrior> expected = c_.prior(a, b);
    if (!expected) {
      const auto items_a = patterns(a, t.send_a, t.recv_a, false);
      const auto items_b = patterns(b, t.send_b, t.recv_b, true);
      const SequenceMatch whole = align_sequences(items_a, items_b, std::nullopt, kMessageOptions);
      if (!whole.pairs.empty()) {
        c_.clocks.relate(a, b, median(whole.offset));
        expected = c_.prior(a, b);
      }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> merged;
    match_direction(group, a, b, t.send_a, t.recv_b, expected, false, merged);
    match_direction(group, b, a, t.send_b, t.recv_a, expected, true, merged);
  }

  // Lists the kernels that exchange messages with this peer. Kind 1 sends, kind 2 receives, and
  // kind 3 does both. With `mirror`, kinds 1 and 2 are swapped, so that a send pairs with a
  // receive.
  std::vector<SequenceItem> patterns(std::uint32_t rank, const std::vector<End>& sends,
                                     const std::vector<End>& recvs, bool mirror) const {
    std::map<std::uint32_t, std::int32_t> kinds;
    for (const End& e : sends) kinds[e.call] |= mirror ? 2 : 1;
    for (const End& e : recvs) kinds[e.call] |= mirror ? 1 : 2;
    std::vector<SequenceItem> items;
    for (const auto& [c, kind] : kinds) {
      items.push_back({c_.end_of(rank, c_.calls[rank][c]), kind, -1, c_.calls[rank][c].sequence});
    }
    return items;
  }

  // Matches the messages of one direction. The first direction stores in `merged` the match of each
  // pair of kernels, under their calls on ranks a and b. The second direction (`reversed`) looks up
  // the match in `merged`.
  void match_direction(const std::string& group, std::uint32_t from, std::uint32_t to,
                       const std::vector<End>& sends, const std::vector<End>& recvs,
                       std::optional<SequencePrior> expected, bool reversed,
                       std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>& merged) {
    auto items = [&](std::uint32_t rank, const std::vector<End>& ends) {
      std::vector<SequenceItem> list;
      for (const End& e : ends) {
        const Call& call = c_.calls[rank][e.call];
        const Bytes bytes = call.inferred ? -1 : call.messages[e.message].bytes;
        list.push_back({c_.end_of(rank, call), 1, bytes, call.sequence});
      }
      return list;
    };
    if (expected && reversed) expected->offset = -expected->offset;
    const SequenceMatch match =
        align_sequences(items(from, sends), items(to, recvs), expected, kMessageOptions);
    std::size_t i = 0;
    std::size_t j = 0;
    for (std::size_t k = 0; k <= match.pairs.size(); ++k) {
      const bool last = k == match.pairs.size();
      const std::size_t next_i = last ? sends.size() : match.pairs[k].first;
      const std::size_t next_j = last ? recvs.size() : match.pairs[k].second;
      for (; i < next_i; ++i) {
        emit_message(group, {from, sends[i].call, sends[i].message}, std::nullopt);
      }
      for (; j < next_j; ++j) {
        emit_message(group, {to, recvs[j].call, recvs[j].message}, std::nullopt);
      }
      if (last) break;
      const Place sender{from, sends[i].call, sends[i].message};
      const Place receiver{to, recvs[j].call, recvs[j].message};
      const auto key =
          reversed ? std::pair(receiver.call, sender.call) : std::pair(sender.call, receiver.call);
      auto known = merged.find(key);
      if (reversed && known != merged.end()) {
        // The same two kernels also carry a message in the other direction. So this exchange is one
        // match.
        c_.matches[known->second].bytes_back = message_bytes(sender, receiver);
      } else {
        merged[key] = c_.matches.size();
        emit_message(group, sender, receiver);
      }
      ++i;
      ++j;
    }
  }

  Bytes message_bytes(const Place& a, const Place& b) const {
    return std::max(c_.calls[a.rank][a.call].messages[a.message].bytes,
                    c_.calls[b.rank][b.call].messages[b.message].bytes);
  }

  void emit_message(const std::string& group, const Place& first,
                    const std::optional<Place>& second) {
    Match match;
    match.kind = CollectiveKind::kSendRecv;
    match.group = group;
    match.group_size = 2;
    const Call& call = c_.calls[first.rank][first.call];
    match.sequence = call.sequence >= 0 ? call.sequence : c_.unnumbered++;
    match.bytes = second ? message_bytes(first, *second) : call.messages[first.message].bytes;
    match.members.push_back({first.rank, call.event});
    if (second) {
      match.members.push_back({second->rank, c_.calls[second->rank][second->call].event});
    }
    c_.matches.push_back(std::move(match));
  }

  MatchContext& c_;
  std::map<std::int32_t, std::uint32_t> rank_index_;
};

}  // namespace

void match_messages(MatchContext& context) { MessageMatcher(context).run(); }

void match_nameless_messages(MatchContext& c_) {
  std::vector<std::tuple<Nanos, std::uint32_t, std::uint32_t>> open;  // end, rank, call
  for (std::uint32_t r = 0; r < c_.calls.size(); ++r) {
    for (std::uint32_t c = 0; c < c_.calls[r].size(); ++c) {
      const Call& call = c_.calls[r][c];
      if (call.kind != CollectiveKind::kSendRecv || !call.messages.empty()) continue;
      const Nanos offset = c_.clocks.between(0, r).value_or(0);
      open.emplace_back(c_.end_of(r, call) + offset, r, c);
    }
  }
  std::sort(open.begin(), open.end());
  std::vector<bool> used(open.size(), false);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (used[i]) continue;
    const auto& [end, rank, c] = open[i];
    Match match;
    match.kind = CollectiveKind::kSendRecv;
    match.group = c_.calls[rank][c].group;
    match.sequence = c_.unnumbered++;
    match.members.push_back({rank, c_.calls[rank][c].event});
    // The two ends of a message end together. If several calls end within a millisecond, any choice
    // of a partner would be a guess. So no partner is chosen.
    std::vector<std::size_t> near;
    for (std::size_t k = i + 1; k < open.size() && std::get<0>(open[k]) - end < kMillisecond; ++k) {
      if (!used[k] && std::get<1>(open[k]) != rank) near.push_back(k);
    }
    if (near.size() == 1) {
      const auto& [other_end, other_rank, other] = open[near[0]];
      match.members.push_back({other_rank, c_.calls[other_rank][other].event});
      match.group_size = 2;
      used[near[0]] = true;
    } else {
      c_.diagnostics.add(kPeerUnknown, "rank " + std::to_string(c_.run.ranks[rank].rank));
    }
    c_.matches.push_back(std::move(match));
  }
}

}  // namespace weft::trace
