// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/in_place.h"

#include <algorithm>
#include <deque>
#include <string>

#include "weft/base/check.h"
#include "weft/reshard/execute/program/fingerprint.h"
#include "weft/reshard/execute/program/legs.h"
#include "weft/reshard/execute/program/mail.h"

namespace weft::reshard::execute {
namespace {

/// Memory that is free, as regions one behind the other.
class Free {
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

/// What one device does for one array.
class InPlaceAuthor {
 public:
  InPlaceAuthor(const Course& course, Device self, std::int32_t array, std::int32_t staging,
                Bytes staging_offset)
      : course_(course),
        self_(self),
        array_(array),
        staging_(staging),
        staging_offset_(staging_offset),
        item_(course.problem->item_size) {}

  /// Adds turns [first, first + leg.turns()).
  void write(std::size_t way, const Leg& leg, std::size_t first, std::vector<Turn>& turns,
             std::vector<Mail>& mail) const {
    switch (leg.kind) {
      case Kind::kNothing:
        break;
      case Kind::kSlice:
        write_kept(way, turns[first]);
        break;
      case Kind::kGather:
        write_kept(way, turns[first]);
        for_own_pieces(way, leg, [&](const Piece& piece, const std::vector<Strips>& box) {
          // What is sent lies where it will stay, too.
          const Part part = piece.to == self_ ? piece.to_part : part_with(way + 1, box);
          add(regions(way + 1, part, box, piece), mail[first + 1][address(piece)]);
        });
        break;
      case Kind::kReduce:
        for_own_pieces(way, leg, [&](const Piece& piece, const std::vector<Strips>& box) {
          add(regions(way, part_with(way, box), box, piece), mail[first][address(piece)]);
        });
        write_kept(way, turns[first]);
        break;
      case Kind::kAddUp:
        write_sum(way, leg, first, turns, mail);
        break;
      case Kind::kSwap:
        write_swap(way, leg, first, turns, mail);
        break;
    }
  }

 private:
  Address address(const Piece& piece) const {
    return address_of(piece, self_, course_.problem->source.devices());
  }

  static void add(std::vector<Region> more, std::vector<Region>& regions) {
    for (Region& region : more) regions.push_back(std::move(region));
  }

  /// The device's part of a layout that holds a box.
  Part part_with(std::size_t layout, const std::vector<Strips>& box) const {
    for (const Part part : course_.parts(layout, self_)) {
      bool holds = true;
      for (std::size_t i = 0; i < box.size(); ++i) {
        holds = holds && covers(course_.layouts[layout]->cuts[i]->piece(part), box[i]);
      }
      if (holds) return part;
    }
    return Layout::kAbsent;
  }

  /// In the order of the parts, and of the target's parts in the end.
  Place place(std::size_t layout, Part part) const {
    const bool ends = layout + 1 == course_.layouts.size();
    const Layout& at = *course_.layouts[layout];
    const Layout& target = course_.problem->target;
    if (ends) {
      for (const Part candidate : course_.parts(course_.layouts.size(), self_)) {
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
    return agreed_regions(course_, place(layout, part), box, {piece.from, piece.to});
  }

  template <class Take>
  void for_own_pieces(std::size_t way, const Leg& leg, const Take& take) const {
    for (const Piece& piece : leg.pieces) {
      if (piece.from != self_ && piece.to != self_) continue;
      take(piece, shared_region(*course_.layouts[way], piece.from_part, *course_.layouts[way + 1],
                                piece.to_part));
    }
  }

  /// What stays goes to its new place.
  void write_kept(std::size_t way, Turn& turn) const {
    for (const Part to : course_.parts(way + 1, self_)) {
      if (!course_.carries_on(way, self_, to)) continue;
      for (const Part from : course_.parts(way, self_)) {
        const auto box = shared_region(*course_.layouts[way], from, *course_.layouts[way + 1], to);
        add_shuffle(agreed_regions(course_, place(way, from), box, {self_}),
                    agreed_regions(course_, place(way + 1, to), box, {self_}), turn);
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

  /// What goes between this device and another in a round that is done in shares.
  struct Stream {
    const Piece* piece;
    std::vector<Region> regions;  ///< from where it is sent, or where it belongs
    std::int64_t elements;

    std::int64_t low(std::int64_t share, std::int64_t shares) const {
      return elements * share / shares;
    }
    std::vector<Region> slice(std::int64_t share, std::int64_t shares) const {
      return execute::slice(regions, low(share, shares), low(share + 1, shares));
    }
  };
  struct Streams {
    std::vector<Stream> sent, received;
  };

  /// `home`: the layout in whose place received elements belong.
  Streams streams(std::size_t way, const Leg& leg, std::size_t home) const {
    Streams all;
    for_own_pieces(way, leg, [&](const Piece& piece, const std::vector<Strips>& box) {
      const bool sends = piece.from == self_;
      std::int64_t elements = 1;
      for (const Strips& strips : box) elements *= length(strips);
      const std::size_t layout = sends ? way : home;
      (sends ? all.sent : all.received)
          .push_back({&piece, regions(layout, part_with(layout, box), box, piece), elements});
    });
    return all;
  }

  /// Shares are received into staging, and added while the next ones are under way.
  void write_sum(std::size_t way, const Leg& leg, std::size_t first, std::vector<Turn>& turns,
                 std::vector<Mail>& mail) const {
    const Streams mine = streams(way, leg, way);
    for (std::int64_t share = 0; share < leg.shares; ++share) {
      const std::size_t turn = first + static_cast<std::size_t>(share);
      Bytes at = staging_offset_ + (share % 2) * (leg.staging / 2 / item_ * item_);
      for (const Stream& stream : mine.received) {
        const std::int64_t count =
            stream.low(share + 1, leg.shares) - stream.low(share, leg.shares);
        if (count == 0) continue;
        const Region here = dense(staging_, at, count);
        at += count * item_;
        // It replaces what is in staging; the next turn adds it.
        Piece plain = *stream.piece;
        plain.add = false;
        mail[turn][address(plain)].push_back(here);
        Bytes from = here.offset;
        for (const Region& region : stream.slice(share, leg.shares)) {
          turns[turn + 1].moves.push_back({packed(region, staging_, from), region, true});
          from += region.bytes();
        }
      }
      for (const Stream& stream : mine.sent) {
        Piece plain = *stream.piece;
        plain.add = false;
        add(stream.slice(share, leg.shares), mail[turn][address(plain)]);
      }
    }
    write_kept(way, turns[first + static_cast<std::size_t>(leg.shares)]);
  }

  void write_swap(std::size_t way, const Leg& leg, std::size_t first, std::vector<Turn>& turns,
                  std::vector<Mail>& mail) const {
    const Streams mine = streams(way, leg, way + 1);
    Free free;
    const std::int64_t used = held(course_, way, self_);
    free.add(dense(2 * array_, used * item_, most_held(course_, self_) - used));
    free.add(dense(staging_, staging_offset_, leg.staging / item_));
    Turn& last = turns[first + static_cast<std::size_t>(leg.shares) - 1];
    for (std::int64_t share = 0; share < leg.shares; ++share) {
      Mail& letters = mail[first + static_cast<std::size_t>(share)];
      for (const Stream& stream : mine.received) {
        const std::vector<Region> homes = stream.slice(share, leg.shares);
        const std::vector<Region> places =
            free.take(stream.low(share + 1, leg.shares) - stream.low(share, leg.shares));
        add_shuffle(places, homes, last);
        add(places, letters[address(*stream.piece)]);
      }
      for (const Stream& stream : mine.sent) {
        const std::vector<Region> gone = stream.slice(share, leg.shares);
        add(gone, letters[address(*stream.piece)]);
        if (leg.gives_up[self_]) free.add(gone);
      }
    }
    write_kept(way, last);
  }

  const Course& course_;
  Device self_;
  std::int32_t array_, staging_;
  Bytes staging_offset_, item_;
};

/// Cut at the same bytes on both sides, whose regions differ.
void write_streams(const Mail& mail, Bytes limit, Turn& turn) {
  for (const auto& [address, regions] : mail) {
    std::vector<Message>& list = address.send ? turn.sends : turn.receives;
    Message message{address.peer, address.add, 0, {}};
    const auto finish = [&] {
      if (message.bytes > 0) list.push_back(std::move(message));
      message = {address.peer, address.add, 0, {}};
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

/// What all devices share.
struct Itinerary {
  std::vector<Course> courses;
  std::vector<std::vector<Leg>> legs;  ///< by array and way
  std::size_t turns = 0;
  std::vector<Bytes> offsets;  ///< of arrays in staging
  Bytes staging = 0, item = 1;
  Bytes marks = 0;  ///< that moves in place may need on any device
};

/// Bits for moves in place, one an element of the device that holds most, in bytes.
Bytes marks_for(const Course& course) {
  std::int64_t largest = 0;
  for (Device device = 0; device < course.problem->source.devices(); ++device) {
    largest = std::max(largest, most_held(course, device));
  }
  return largest / 8 + 1;
}

/// How a budget is divided: marks of the buffers, then as much for shares of rounds, with marks of
/// their own, as for messages.
struct Allotment {
  Bytes marks = 0;  ///< of all arrays
  Bytes item = 1;
  Bytes arrays = 1;

  /// For the shares of one array.
  Bytes shares(Bytes budget) const { return std::max<Bytes>(0, (budget - marks) * 4 / 9 / arrays); }
  /// What budget to allow, so that shares() holds as many bytes and four messages fit.
  Bytes budget_for(Bytes share) const {
    return marks + std::max((share * arrays + 1) * 9 / 4 + 2, 9 * item);
  }
};

Result<Itinerary> make_itinerary(const std::vector<Array>& arrays, Bytes budget) {
  Itinerary all;
  Allotment allotment;
  allotment.arrays = static_cast<Bytes>(arrays.size());
  for (const Array& array : arrays) {
    all.courses.push_back(make_course(*array.problem, *array.plan));
    allotment.marks += marks_for(all.courses.back());
    allotment.item = std::max(allotment.item, array.problem->item_size);
  }
  all.item = allotment.item;
  all.marks = allotment.marks;
  Bytes least_share = 0;  // of the array that needs most for it
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Bytes item = arrays[i].problem->item_size;
    const Bytes allowance = budget > 0 ? std::max(item, allotment.shares(budget)) : 0;
    WEFT_ASSIGN(std::vector<Leg> legs, make_legs(all.courses[i], allowance));
    std::size_t turns = 0;
    Bytes most = 0;
    for (const Leg& leg : legs) {
      turns += static_cast<std::size_t>(leg.turns());
      most = std::max(most, leg.staging);
      if (budget > 0 && leg.staging > allowance) {
        least_share = std::max(least_share, leg.staging);
      }
    }
    constexpr Bytes kAlign = 16;
    all.offsets.push_back(all.staging);
    all.staging += budget > 0 ? most : (most + kAlign - 1) / kAlign * kAlign;
    all.turns = std::max(all.turns, turns);
    all.marks += most / item / 8 + 1;
    all.legs.push_back(std::move(legs));
  }
  const bool messages_fit = budget - all.staging - all.marks >= 4 * all.item;
  if (budget > 0 && (least_share > 0 || !messages_fit)) {
    const Bytes least = allotment.budget_for(least_share) + allotment.arrays;
    return fail(ErrorCode::kInfeasible,
                "the budget does not hold what moves in place need; allow at least " +
                    std::to_string(least) + " bytes");
  }
  return all;
}

Result<Program> program_of(Device self, const Itinerary& way_of, const std::vector<Array>& arrays,
                           Bytes budget) {
  Program program;
  program.self = self;
  program.turns.resize(way_of.turns);
  std::vector<Mail> mail(way_of.turns);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Course& course = way_of.courses[i];
    const InPlaceAuthor author(course, self, static_cast<std::int32_t>(i),
                               static_cast<std::int32_t>(2 * arrays.size()), way_of.offsets[i]);
    std::size_t turn = 0;
    for (std::size_t way = 0; way < course.ways.size(); ++way) {
      author.write(way, way_of.legs[i][way], turn, program.turns, mail);
      turn += static_cast<std::size_t>(way_of.legs[i][way].turns());
    }
    const Bytes size = arrays[i].problem->item_size;
    program.buffers.push_back(most_held(course, self) * size);
    program.buffers.push_back(0);
    program.in_place.push_back(held(course, course.layouts.size() - 1, self) * size);
    program.elements.push_back(arrays[i].elements);
  }
  program.buffers.push_back(way_of.staging);
  Bytes limit = 0;
  if (budget > 0) {
    program.message_budget = budget - way_of.staging - way_of.marks;
    limit = program.message_limit = program.message_budget / 4;
  }
  WEFT_TRY(check_count(mail, limit, budget));
  for (std::size_t i = 0; i < way_of.turns; ++i) {
    write_streams(mail[i], limit, program.turns[i]);
  }
  return program;
}

}  // namespace

Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options) {
  for (const Array& array : arrays) {
    if (array.problem->cast) {
      return fail(ErrorCode::kInfeasible, "elements that are cast on the way need both ends");
    }
  }
  WEFT_ASSIGN(const Itinerary way, make_itinerary(arrays, options.budget));
  const std::uint64_t number = fingerprint(arrays, options);
  std::vector<Program> programs;
  for (const Device device : devices) {
    WEFT_ASSIGN(Program program, program_of(device, way, arrays, options.budget));
    program.fingerprint = number;
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace weft::reshard::execute
