// SPDX-License-Identifier: Apache-2.0
// Builds programs in place. make_setup() decides what must be the same on all devices: the kind of
// each round (in_place_rounds.h), the turns of each round, and the division of the budget. Then
// program_of() writes the turns of one device.
//
// Sender and receiver have different regions, because data lies in different places on the two
// devices. So a message is a stream of elements in the order in which the box is visited. Both
// sides cut it at the same element numbers (write_streams()).
#include "weft/reshard/execute/program/in_place.h"

#include <algorithm>
#include <deque>
#include <string>

#include "weft/base/check.h"
#include "weft/reshard/execute/program/fingerprint.h"
#include "weft/reshard/execute/program/in_place_rounds.h"
#include "weft/reshard/execute/program/peer_regions.h"

namespace weft::reshard::execute {
namespace {

/// Free memory, as a queue of regions.
class FreeList {
 public:
  void add(std::vector<Region> regions) {
    for (Region& region : regions) regions_.push_back(std::move(region));
  }
  void add(Region region) {
    if (region.bytes() > 0) regions_.push_back(std::move(region));
  }
  std::vector<Region> take(std::int64_t elements) {
    std::vector<Region> taken;
    while (elements > 0 && !regions_.empty()) {
      const Region region = std::move(regions_.front());
      regions_.pop_front();
      const std::int64_t all = region.bytes() / region.element;
      const std::int64_t count = std::min(all, elements);
      for (Region& piece : slice(region, 0, count)) taken.push_back(std::move(piece));
      const std::vector<Region> rest = slice(region, count, all);
      regions_.insert(regions_.begin(), rest.begin(), rest.end());
      elements -= count;
    }
    WEFT_CHECK(elements == 0);
    return taken;
  }

 private:
  std::deque<Region> regions_;
};

/// Builds what one device does for one array.
class InPlaceBuilder {
 public:
  InPlaceBuilder(const Route& route, Device self, std::int32_t array, std::int32_t staging,
                 Bytes staging_offset)
      : route_(route),
        self_(self),
        array_(array),
        staging_(staging),
        staging_offset_(staging_offset),
        item_(route.problem->item_size) {}

  /// Adds turns [first, first + round.turns()) of one hop.
  void write(std::size_t hop, const InPlaceRound& round, std::size_t first,
             std::vector<Turn>& turns, std::vector<PeerRegions>& peer_regions) const {
    switch (round.kind) {
      case InPlaceKind::kNothing:
        break;
      case InPlaceKind::kSlice:
        write_kept(hop, turns[first]);
        break;
      case InPlaceKind::kGather:
        write_kept(hop, turns[first]);
        for_own_pieces(hop, round, [&](const Piece& piece, const std::vector<Strips>& box) {
          // In a gather, a device keeps every piece that it sends. So it sends the piece from its
          // new place.
          const Part part = piece.to == self_ ? piece.to_part : part_with(hop + 1, box);
          add(regions(hop + 1, part, box, piece), peer_regions[first + 1][key(piece)]);
        });
        break;
      case InPlaceKind::kReduceScatter:
        for_own_pieces(hop, round, [&](const Piece& piece, const std::vector<Strips>& box) {
          add(regions(hop, part_with(hop, box), box, piece), peer_regions[first][key(piece)]);
        });
        write_kept(hop, turns[first]);
        break;
      case InPlaceKind::kReduceStaged:
        write_sum(hop, round, first, turns, peer_regions);
        break;
      case InPlaceKind::kExchange:
        write_exchange(hop, round, first, turns, peer_regions);
        break;
    }
  }

 private:
  MessageKey key(const Piece& piece) const {
    return message_key(piece, self_, route_.problem->source.devices());
  }

  static void add(std::vector<Region> more, std::vector<Region>& regions) {
    for (Region& region : more) regions.push_back(std::move(region));
  }

  /// Of the device's parts in a layout, the part that contains a given box.
  Part part_with(std::size_t layout, const std::vector<Strips>& box) const {
    for (const Part part : route_.parts(layout, self_)) {
      bool holds = true;
      for (std::size_t i = 0; i < box.size(); ++i) {
        holds = holds && covers(route_.layouts[layout]->cuts[i]->piece(part), box[i]);
      }
      if (holds) return part;
    }
    return Layout::kAbsent;
  }

  /// The memory of a part. Parts lie one after the other in the buffer. After the last hop they
  /// have the order of the target's parts.
  Storage storage(std::size_t layout, Part part) const {
    const bool ends = layout + 1 == route_.layouts.size();
    const Layout& at = *route_.layouts[layout];
    const Layout& target = route_.problem->target;
    if (ends) {
      for (const Part candidate : route_.parts(route_.layouts.size(), self_)) {
        if (common_elements(at, part, target, candidate) == at.elements(part)) {
          return {2 * array_, array_, elements_before(target, candidate) * item_, item_,
                  target.region(candidate)};
        }
      }
    }
    return {2 * array_, array_, elements_before(at, part) * item_, item_, at.region(part)};
  }

  std::vector<Region> regions(std::size_t layout, Part part, const std::vector<Strips>& box,
                              const Piece& piece) const {
    return agreed_regions(route_, storage(layout, part), box, {piece.from, piece.to});
  }

  template <class Take>
  void for_own_pieces(std::size_t hop, const InPlaceRound& round, const Take& take) const {
    for (const Piece& piece : round.pieces) {
      if (piece.from != self_ && piece.to != self_) continue;
      take(piece, shared_region(*route_.layouts[hop], piece.from_part, *route_.layouts[hop + 1],
                                piece.to_part));
    }
  }

  /// Moves what the device keeps to its place in the next layout.
  void write_kept(std::size_t hop, Turn& turn) const {
    for (const Part to : route_.parts(hop + 1, self_)) {
      if (!route_.contributes(hop, self_, to)) continue;
      for (const Part from : route_.parts(hop, self_)) {
        const auto box = shared_region(*route_.layouts[hop], from, *route_.layouts[hop + 1], to);
        add_shuffle(agreed_regions(route_, storage(hop, from), box, {self_}),
                    agreed_regions(route_, storage(hop + 1, to), box, {self_}), turn);
      }
    }
  }

  static void add_shuffle(const std::vector<Region>& from, const std::vector<Region>& to,
                          Turn& turn) {
    Shuffle shuffle;
    for (const Region& region : from) shuffle.from.push_back(joined(region));
    for (const Region& region : to) shuffle.to.push_back(joined(region));
    const auto same = [](const Region& a, const Region& b) {
      return a.buffer == b.buffer && a.offset == b.offset && a.loops == b.loops;
    };
    const bool stays = std::equal(shuffle.from.begin(), shuffle.from.end(), shuffle.to.begin(),
                                  shuffle.to.end(), same);
    if (!stays && !from.empty()) turn.shuffles.push_back(std::move(shuffle));
  }

  Region dense(std::int32_t buffer, Bytes offset, std::int64_t elements) const {
    return {buffer, array_, offset, item_, {{elements, item_}}};
  }

  /// The data that moves between this device and another device in a round that is divided into
  /// sub-rounds.
  struct Stream {
    const Piece* piece;
    std::vector<Region> regions;  ///< where the data is sent from, or where it is received
    std::int64_t elements;

    /// The first element of a sub-round.
    std::int64_t low(std::int64_t sub_round, std::int64_t sub_rounds) const {
      return elements * sub_round / sub_rounds;
    }
    std::vector<Region> slice(std::int64_t sub_round, std::int64_t sub_rounds) const {
      return execute::slice(regions, low(sub_round, sub_rounds), low(sub_round + 1, sub_rounds));
    }
  };
  struct Streams {
    std::vector<Stream> sent, received;
  };

  /// `target_layout`: the layout that determines where received elements are stored.
  Streams streams(std::size_t hop, const InPlaceRound& round, std::size_t target_layout) const {
    Streams all;
    for_own_pieces(hop, round, [&](const Piece& piece, const std::vector<Strips>& box) {
      const bool sends = piece.from == self_;
      std::int64_t elements = 1;
      for (const Strips& strips : box) elements *= length(strips);
      const std::size_t layout = sends ? hop : target_layout;
      (sends ? all.sent : all.received)
          .push_back({&piece, regions(layout, part_with(layout, box), box, piece), elements});
    });
    return all;
  }

  /// Each sub-round is received into one half of staging. In the same turn, the other half, which
  /// was received in the turn before, is added to the data.
  void write_sum(std::size_t hop, const InPlaceRound& round, std::size_t first,
                 std::vector<Turn>& turns, std::vector<PeerRegions>& peer_regions) const {
    const Streams mine = streams(hop, round, hop);
    for (std::int64_t sub_round = 0; sub_round < round.sub_rounds; ++sub_round) {
      const std::size_t turn = first + static_cast<std::size_t>(sub_round);
      Bytes at = staging_offset_ + (sub_round % 2) * (round.staging / 2 / item_ * item_);
      for (const Stream& stream : mine.received) {
        const std::int64_t count =
            stream.low(sub_round + 1, round.sub_rounds) - stream.low(sub_round, round.sub_rounds);
        if (count == 0) continue;
        const Region here = dense(staging_, at, count);
        at += count * item_;
        // In staging, received data replaces old data. The next turn adds the received data to the
        // device's data.
        Piece plain = *stream.piece;
        plain.add = false;
        peer_regions[turn][key(plain)].push_back(here);
        Bytes from = here.offset;
        for (const Region& region : stream.slice(sub_round, round.sub_rounds)) {
          turns[turn + 1].moves.push_back({packed(region, staging_, from), region, true});
          from += region.bytes();
        }
      }
      for (const Stream& stream : mine.sent) {
        Piece plain = *stream.piece;
        plain.add = false;
        add(stream.slice(sub_round, round.sub_rounds), peer_regions[turn][key(plain)]);
      }
    }
    write_kept(hop, turns[first + static_cast<std::size_t>(round.sub_rounds)]);
  }

  /// Receives each sub-round into free memory. At first this is the unused end of the buffer, and
  /// staging. Later it is the memory of data that earlier sub-rounds have sent. The last turn moves
  /// everything to its final place.
  void write_exchange(std::size_t hop, const InPlaceRound& round, std::size_t first,
                      std::vector<Turn>& turns, std::vector<PeerRegions>& peer_regions) const {
    const Streams mine = streams(hop, round, hop + 1);
    FreeList free;
    const std::int64_t used = elements_held(route_, hop, self_);
    free.add(dense(2 * array_, used * item_, most_elements_held(route_, self_) - used));
    free.add(dense(staging_, staging_offset_, round.staging / item_));
    Turn& last = turns[first + static_cast<std::size_t>(round.sub_rounds) - 1];
    for (std::int64_t sub_round = 0; sub_round < round.sub_rounds; ++sub_round) {
      PeerRegions& of_turn = peer_regions[first + static_cast<std::size_t>(sub_round)];
      for (const Stream& stream : mine.received) {
        const std::vector<Region> destinations = stream.slice(sub_round, round.sub_rounds);
        const std::vector<Region> places = free.take(stream.low(sub_round + 1, round.sub_rounds) -
                                                     stream.low(sub_round, round.sub_rounds));
        add_shuffle(places, destinations, last);
        add(places, of_turn[key(*stream.piece)]);
      }
      for (const Stream& stream : mine.sent) {
        const std::vector<Region> gone = stream.slice(sub_round, round.sub_rounds);
        add(gone, of_turn[key(*stream.piece)]);
        if (round.frees_sent[self_]) free.add(gone);
      }
    }
    write_kept(hop, last);
  }

  const Route& route_;
  Device self_;
  std::int32_t array_, staging_;
  Bytes staging_offset_, item_;
};

/// Cuts regions into messages. Sender and receiver cut at the same bytes, although their regions
/// differ.
void write_streams(const PeerRegions& peer_regions, Bytes limit, Turn& turn) {
  for (const auto& [key, regions] : peer_regions) {
    std::vector<Message>& list = key.send ? turn.sends : turn.receives;
    Message message{key.peer, key.add, 0, {}};
    const auto finish = [&] {
      if (message.bytes > 0) list.push_back(std::move(message));
      message = {key.peer, key.add, 0, {}};
    };
    for (const Region& region : regions) {
      const std::int64_t all = region.bytes() / region.element;
      for (std::int64_t at = 0; at < all;) {
        const std::int64_t fits =
            limit == 0 ? all : std::min(all, at + (limit - message.bytes) / region.element);
        if (fits == at) {
          finish();
          continue;
        }
        for (Region& piece : slice(region, at, fits)) {
          message.regions.push_back(joined(std::move(piece)));
        }
        message.bytes += (fits - at) * region.element;
        at = fits;
      }
    }
    finish();
  }
}

/// The decisions that are the same on all devices.
struct InPlaceSetup {
  std::vector<Route> routes;
  std::vector<std::vector<InPlaceRound>> rounds;  ///< indexed by array and hop
  std::size_t turns = 0;
  std::vector<Bytes> offsets;  ///< indexed by array: where its staging begins
  Bytes staging = 0, item = 1;
  Bytes marks = 0;  ///< most that the marks of shuffle() may need on any device
};

/// Bytes for the marks of shuffle(): one bit per element, on the device that holds the most
/// elements.
Bytes marks_for(const Route& route) {
  std::int64_t largest = 0;
  for (Device device = 0; device < route.problem->source.devices(); ++device) {
    largest = std::max(largest, most_elements_held(route, device));
  }
  return largest / 8 + 1;
}

/// How a budget is divided. First come the marks of the buffers. One half of the rest is for
/// messages. Sub-rounds and their own marks share the other half. Marks take a bit per element,
/// which is at most an eighth of the elements' bytes. So sub-rounds without their marks get 8 / 9
/// of their half, which is 4 / 9 of the rest.
struct BudgetSplit {
  Bytes marks = 0;  ///< bytes of marks for the buffers of all arrays
  Bytes item = 1;   ///< bytes of the largest element
  Bytes arrays = 1;

  /// Staging for the sub-rounds of one array.
  Bytes staging_per_array(Bytes budget) const {
    return std::max<Bytes>(0, (budget - marks) * 4 / 9 / arrays);
  }
  /// A budget for which staging_per_array() is at least `staging` and four messages fit.
  Bytes budget_for(Bytes staging) const {
    return marks + std::max((staging * arrays + 1) * 9 / 4 + 2, 9 * item);
  }
};

Result<InPlaceSetup> make_setup(const std::vector<Array>& arrays, Bytes budget) {
  InPlaceSetup all;
  BudgetSplit split;
  split.arrays = static_cast<Bytes>(arrays.size());
  for (const Array& array : arrays) {
    all.routes.push_back(make_route(*array.problem, *array.plan));
    split.marks += marks_for(all.routes.back());
    split.item = std::max(split.item, array.problem->item_size);
  }
  all.item = split.item;
  all.marks = split.marks;
  Bytes least_staging = 0;  // of the array that needs the most
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Bytes item = arrays[i].problem->item_size;
    const Bytes allowance = budget > 0 ? std::max(item, split.staging_per_array(budget)) : 0;
    WEFT_ASSIGN(std::vector<InPlaceRound> rounds, make_in_place_rounds(all.routes[i], allowance));
    std::size_t turns = 0;
    Bytes most = 0;
    for (const InPlaceRound& round : rounds) {
      turns += static_cast<std::size_t>(round.turns());
      most = std::max(most, round.staging);
      if (budget > 0 && round.staging > allowance) {
        least_staging = std::max(least_staging, round.staging);
      }
    }
    constexpr Bytes kAlign = 16;
    all.offsets.push_back(all.staging);
    all.staging += budget > 0 ? most : (most + kAlign - 1) / kAlign * kAlign;
    all.turns = std::max(all.turns, turns);
    all.marks += most / item / 8 + 1;
    all.rounds.push_back(std::move(rounds));
  }
  const bool messages_fit = budget - all.staging - all.marks >= 4 * all.item;
  if (budget > 0 && (least_staging > 0 || !messages_fit)) {
    const Bytes least = split.budget_for(least_staging) + split.arrays;
    return fail(ErrorCode::kInfeasible,
                "the budget is too small for moves in place; allow at least " +
                    std::to_string(least) + " bytes");
  }
  return all;
}

Result<Program> program_of(Device self, const InPlaceSetup& setup, const std::vector<Array>& arrays,
                           Bytes budget) {
  Program program;
  program.self = self;
  program.turns.resize(setup.turns);
  std::vector<PeerRegions> peer_regions(setup.turns);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Route& route = setup.routes[i];
    const InPlaceBuilder builder(route, self, static_cast<std::int32_t>(i),
                                 static_cast<std::int32_t>(2 * arrays.size()), setup.offsets[i]);
    std::size_t turn = 0;
    for (std::size_t hop = 0; hop < route.hops.size(); ++hop) {
      builder.write(hop, setup.rounds[i][hop], turn, program.turns, peer_regions);
      turn += static_cast<std::size_t>(setup.rounds[i][hop].turns());
    }
    const Bytes size = arrays[i].problem->item_size;
    program.buffers.push_back(most_elements_held(route, self) * size);
    program.buffers.push_back(0);
    program.in_place.push_back(elements_held(route, route.layouts.size() - 1, self) * size);
    program.elements.push_back(arrays[i].elements);
  }
  program.buffers.push_back(setup.staging);
  Bytes limit = 0;
  if (budget > 0) {
    program.message_budget = budget - setup.staging - setup.marks;
    limit = program.message_limit = program.message_budget / 4;
  }
  WEFT_TRY(check_count(peer_regions, limit, budget));
  for (std::size_t i = 0; i < setup.turns; ++i) {
    write_streams(peer_regions[i], limit, program.turns[i]);
  }
  return program;
}

}  // namespace

Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options) {
  for (const Array& array : arrays) {
    if (array.problem->cast) {
      return fail(ErrorCode::kInfeasible, "a cast needs separate buffers for source and target");
    }
  }
  WEFT_ASSIGN(const InPlaceSetup setup, make_setup(arrays, options.budget));
  const std::uint64_t number = fingerprint(arrays, options);
  std::vector<Program> programs;
  for (const Device device : devices) {
    WEFT_ASSIGN(Program program, program_of(device, setup, arrays, options.budget));
    program.fingerprint = number;
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace weft::reshard::execute
