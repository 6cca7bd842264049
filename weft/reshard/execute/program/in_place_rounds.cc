// SPDX-License-Identifier: Apache-2.0
// Decides how each hop runs with one buffer. It chooses the kind of the round, then the sender of
// each piece, and then the number of sub-rounds. All devices compute the same result, because it
// depends only on layouts and the budget.
#include "weft/reshard/execute/program/in_place_rounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/program/peer_regions.h"

namespace weft::reshard::execute {
namespace {

/// The number of sub-rounds if no budget asks for more. Then staging is small compared with the
/// data that is exchanged.
constexpr std::int64_t kUsualSubRounds = 16;
/// The most sub-rounds. With more sub-rounds, to list the moves would take longer than to run them.
constexpr std::int64_t kMostSubRounds = 1 << 16;

bool meet(const std::vector<Strips>& a, const Layout& layout, Part part) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (common_length(a[i], layout.cuts[i]->piece(part)) == 0) return false;
  }
  return true;
}

/// For each device, the boxes of the next layout that the device keeps or has been chosen to send.
class Obligations {
 public:
  Obligations(const Route& route, std::size_t hop)
      : route_(route), hop_(hop), sent_(route.problem->source.devices()) {}

  bool keeps(Device device, const std::vector<Strips>& box) const {
    for (const Part own : route_.parts(hop_ + 1, device)) {
      if (route_.contributes(hop_, device, own) && meet(box, *route_.layouts[hop_ + 1], own)) {
        return true;
      }
    }
    return false;
  }
  bool sends(Device device, const std::vector<Strips>& box) const {
    return std::any_of(sent_[device].begin(), sent_[device].end(),
                       [&](Part other) { return meet(box, *route_.layouts[hop_ + 1], other); });
  }
  std::size_t load(Device device) const { return sent_[device].size(); }
  void send(Device device, Part to) { sent_[device].push_back(to); }

 private:
  const Route& route_;
  std::size_t hop_;
  std::vector<std::vector<Part>> sent_;
};

/// Chooses the sender of each piece among the devices that hold a copy of it. These rules apply in
/// this order:
///   1. Prefer a device that does not keep the box itself.
///   2. If `once`, prefer a device that does not already send the box.
///   3. Prefer the device with the fewest pieces to send.
/// Returns for each device whether it keeps nothing of what it sends and, if `once`, also sends
/// nothing twice.
std::vector<char> choose_senders(const Route& route, std::size_t hop, bool once,
                                 std::vector<Piece>& pieces) {
  const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
  // The devices that hold equal parts, indexed by group and slots of the part.
  std::map<std::vector<std::int32_t>, std::vector<Device>> holders;
  const auto key = [&](Part part) {
    std::vector<std::int32_t> slots{from.group[part]};
    for (const auto& cut : from.cuts) slots.push_back(cut->slot_of[part]);
    return slots;
  };
  for (Part part = 0; part < from.parts(); ++part) {
    if (from.holds(part)) holders[key(part)].push_back(from.device_of(part));
  }
  Obligations obligations(route, hop);
  std::vector<char> apart(from.devices(), 1);
  for (Piece& piece : pieces) {
    const auto box = shared_region(from, piece.from_part, to, piece.to_part);
    const auto price = [&](Device device) {
      return std::tuple{obligations.keeps(device, box), once && obligations.sends(device, box),
                        obligations.load(device), device};
    };
    const std::vector<Device>& able = holders[key(piece.from_part)];
    piece.from = *std::min_element(able.begin(), able.end(),
                                   [&](Device a, Device b) { return price(a) < price(b); });
    const auto [keeps, again, load, device] = price(piece.from);
    if (keeps || again) apart[device] = 0;
    obligations.send(piece.from, piece.to_part);
  }
  return apart;
}

/// Whether every device keeps all that it holds before the round.
bool only_grows(const Route& route, std::size_t hop) {
  const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
  for (Device device = 0; device < from.devices(); ++device) {
    for (const Part part : route.parts(hop, device)) {
      const auto next = route.parts(hop + 1, device);
      const bool kept = std::any_of(next.begin(), next.end(), [&](Part after) {
        return route.contributes(hop, device, after) &&
               common_elements(from, part, to, after) == from.elements(part);
      });
      if (!kept) return false;
    }
  }
  return true;
}

/// Compares the boxes that a device sends with the boxes to which it adds received data. Returns
/// whether two such boxes are always equal or disjoint, on every device. This is so if devices end
/// up with the same sum. Then a sub-round first sends elements, and one turn later data is added to
/// the same elements. So a device never sends elements to which something was already added.
bool sums_alike(const Route& route, std::size_t hop, const std::vector<Piece>& pieces) {
  const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
  using Box = std::vector<Strips>;
  std::vector<std::vector<Box>> sent(from.devices()), added(from.devices());
  for (const Piece& piece : pieces) {
    const Box box = shared_region(from, piece.from_part, to, piece.to_part);
    sent[piece.from].push_back(box);
    added[piece.to].push_back(box);
  }
  const auto apart = [](const Box& a, const Box& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (common_length(a[i], b[i]) == 0) return true;
    }
    return false;
  };
  for (Device device = 0; device < from.devices(); ++device) {
    for (const Box& a : sent[device]) {
      for (const Box& b : added[device]) {
        if (a != b && !apart(a, b)) return false;
      }
    }
  }
  return true;
}

/// What one device sends and receives in a round, in elements, and the number of its messages in
/// both directions together.
struct Volumes {
  std::int64_t sent = 0, received = 0, messages = 0;
};

/// Chooses the number of sub-rounds, and computes the staging that they need. Returns an Error
/// (kInfeasible) if the data that a device receives does not fit into its buffer.
Status divide_round(const Route& route, std::size_t hop, Bytes allowance, InPlaceRound& round) {
  const Bytes item = route.problem->item_size;
  std::vector<Volumes> volumes(route.problem->source.devices());
  const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
  for (const Piece& piece : round.pieces) {
    const std::int64_t elements = common_elements(from, piece.from_part, to, piece.to_part);
    volumes[piece.from].sent += elements;
    volumes[piece.to].received += elements;
    volumes[piece.from].messages += 1;
    volumes[piece.to].messages += 1;
  }
  std::int64_t most = 1;
  for (Device device = 0; device < from.devices(); ++device) {
    const Volumes& mine = volumes[device];
    const std::int64_t free = most_elements_held(route, device) - elements_held(route, hop, device);
    const std::int64_t freed =
        round.kind == InPlaceKind::kExchange && round.frees_sent[device] ? mine.sent : 0;
    if (round.kind == InPlaceKind::kExchange && mine.received > freed + free) {
      return fail(ErrorCode::kInfeasible, "round " + std::to_string(hop + 1) + ": device " +
                                              std::to_string(device) +
                                              " receives more data than fits into its buffer: use "
                                              "separate buffers for source and target");
    }
    most = std::max(most, mine.received);
  }
  const auto staging_for = [&](std::int64_t sub_rounds) {
    Bytes staging = 0;
    for (const Volumes& mine : volumes) {
      // The number of elements per sub-round is rounded for each message separately. So allow one
      // more element for each message.
      const std::int64_t sub_round = std::min(
          mine.received, std::max(mine.received, mine.sent) / sub_rounds + mine.messages + 1);
      // In a reduction, one sub-round is in flight while the previous sub-round is added.
      staging =
          std::max(staging, (round.kind == InPlaceKind::kReduceStaged ? 2 : 1) * sub_round * item);
    }
    return staging;
  };
  most = std::min(most, kMostSubRounds);
  round.sub_rounds = allowance > 0 ? 1 : std::min(kUsualSubRounds, most);
  while (allowance > 0 && staging_for(round.sub_rounds) > allowance && round.sub_rounds < most) {
    round.sub_rounds *= 2;
  }
  round.staging = staging_for(round.sub_rounds);
  return {};
}

/// Chooses how one round runs in place. `allowance` is the bytes of staging that it may use; 0: no
/// limit.
Result<InPlaceRound> make_in_place_round(const Route& route, std::size_t hop, Bytes allowance,
                                         OverlapCache& overlaps) {
  const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
  InPlaceRound round;
  round.pieces = pieces(from, to, overlaps);
  const auto& merged = route.hops[hop].merged;
  const bool adds = std::any_of(merged.begin(), merged.end(), [](auto n) { return n > 1; });
  const bool all_add = std::all_of(round.pieces.begin(), round.pieces.end(),
                                   [](const Piece& piece) { return piece.add; });
  if (round.pieces.empty()) {
    round.kind = same_distribution(from, to) ? InPlaceKind::kNothing : InPlaceKind::kSlice;
  } else if (!adds && only_grows(route, hop)) {
    round.kind = InPlaceKind::kGather;
  } else if (!adds) {
    round.kind = InPlaceKind::kExchange;
    round.frees_sent = choose_senders(route, hop, true, round.pieces);
    WEFT_TRY(divide_round(route, hop, allowance, round));
  } else {
    round.frees_sent = choose_senders(route, hop, false, round.pieces);
    const bool apart = std::count(round.frees_sent.begin(), round.frees_sent.end(), 0) == 0;
    if (!all_add || (!apart && !sums_alike(route, hop, round.pieces))) {
      return fail(ErrorCode::kInfeasible, "round " + std::to_string(hop + 1) +
                                              " would add to data that other devices still read: "
                                              "use separate buffers for source and target");
    }
    round.kind = apart ? InPlaceKind::kReduceScatter : InPlaceKind::kReduceStaged;
    if (!apart) WEFT_TRY(divide_round(route, hop, allowance, round));
  }
  return round;
}

}  // namespace

std::int64_t elements_held(const Route& route, std::size_t layout, Device device) {
  std::int64_t elements = 0;
  for (const Part part : route.parts(layout, device)) {
    elements += route.layouts[layout]->elements(part);
  }
  return elements;
}

std::int64_t most_elements_held(const Route& route, Device device) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < route.layouts.size(); ++i) {
    most = std::max(most, elements_held(route, i, device));
  }
  return most;
}

Result<std::vector<InPlaceRound>> make_in_place_rounds(const Route& route, Bytes allowance) {
  if (route.problem->target.partial()) {
    return fail(
        ErrorCode::kInfeasible,
        "a partial target cannot be made in place: use separate buffers for source and target");
  }
  std::vector<InPlaceRound> rounds;
  OverlapCache overlaps(route.problem->node_of);
  for (std::size_t hop = 0; hop < route.hops.size(); ++hop) {
    WEFT_ASSIGN(InPlaceRound round, make_in_place_round(route, hop, allowance, overlaps));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace weft::reshard::execute
