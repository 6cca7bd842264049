// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/in_place.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/fingerprint.h"
#include "weft/reshard/execute/mail.h"
#include "weft/reshard/factors.h"
#include "weft/reshard/normal_form.h"

namespace weft::reshard::execute {
namespace {

/// How a round is done without a second buffer.
enum class Kind { kNothing, kSlice, kGather, kReduce, kAddUp, kSwap };

struct Leg {
  Kind kind = Kind::kNothing;
  std::vector<Piece> pieces;  ///< of all devices
  std::int64_t shares = 1;    ///< that swaps and sums are done in
  Bytes staging = 0;          ///< of the device that needs most
  /// By device: what it sends is free for others as soon as it is sent.
  std::vector<char> gives_up;

  std::int32_t turns() const {
    switch (kind) {
      case Kind::kNothing:
        return 0;
      case Kind::kSlice:
      case Kind::kReduce:
        return 1;
      case Kind::kGather:
        return 2;
      case Kind::kSwap:
        return static_cast<std::int32_t>(shares);
      case Kind::kAddUp:
        return static_cast<std::int32_t>(shares + 1);
    }
    return 0;
  }
};

/// Shares where no budget asks for more: staging is a small part of what is swapped.
constexpr std::int64_t kUsualShares = 16;

std::int64_t held(const Course& course, std::size_t layout, Device device) {
  std::int64_t elements = 0;
  for (const Part part : course.parts(layout, device)) {
    elements += course.layouts[layout]->elements(part);
  }
  return elements;
}

/// The most that a device holds on its way: the size of its buffer, in elements.
std::int64_t most_held(const Course& course, Device device) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < course.layouts.size(); ++i) {
    most = std::max(most, held(course, i, device));
  }
  return most;
}

bool meet(const std::vector<Strips>& a, const Layout& layout, Part part) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (common_length(a[i], layout.cuts[i]->piece(part)) == 0) return false;
  }
  return true;
}

/// Boxes of the next layout that a device keeps or is asked for.
class Promises {
 public:
  Promises(const Course& course, std::size_t way)
      : course_(course), way_(way), sent_(course.problem->source.devices()) {}

  bool keeps(Device device, const std::vector<Strips>& box) const {
    for (const Part own : course_.parts(way_ + 1, device)) {
      if (course_.carries_on(way_, device, own) && meet(box, *course_.layouts[way_ + 1], own)) {
        return true;
      }
    }
    return false;
  }
  bool sends(Device device, const std::vector<Strips>& box) const {
    return std::any_of(sent_[device].begin(), sent_[device].end(),
                       [&](Part other) { return meet(box, *course_.layouts[way_ + 1], other); });
  }
  std::size_t load(Device device) const { return sent_[device].size(); }
  void send(Device device, Part to) { sent_[device].push_back(to); }

 private:
  const Course& course_;
  std::size_t way_;
  std::vector<std::vector<Part>> sent_;
};

/// Lets those copies send that give up what they send, where there are any. Returns, by device,
/// whether it keeps nothing of what it sends; `once`: nor sends anything of it twice.
std::vector<char> give_up(const Course& course, std::size_t way, bool once,
                          std::vector<Piece>& pieces) {
  const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
  // All who hold the same part, by the first of them.
  std::map<std::vector<std::int32_t>, std::vector<Device>> holders;
  const auto key = [&](Part part) {
    std::vector<std::int32_t> slots{from.group[part]};
    for (const auto& cut : from.cuts) slots.push_back(cut->slot_of[part]);
    return slots;
  };
  for (Part part = 0; part < from.parts(); ++part) {
    if (from.holds(part)) holders[key(part)].push_back(from.device_of(part));
  }
  Promises promises(course, way);
  std::vector<char> apart(from.devices(), 1);
  for (Piece& piece : pieces) {
    const auto box = shared_region(from, piece.from_part, to, piece.to_part);
    const auto price = [&](Device device) {
      return std::tuple{promises.keeps(device, box), once && promises.sends(device, box),
                        promises.load(device), device};
    };
    const std::vector<Device>& able = holders[key(piece.from_part)];
    piece.from = *std::min_element(able.begin(), able.end(),
                                   [&](Device a, Device b) { return price(a) < price(b); });
    const auto [keeps, again, load, device] = price(piece.from);
    if (keeps || again) apart[device] = 0;
    promises.send(piece.from, piece.to_part);
  }
  return apart;
}

/// Whether whoever holds something before holds it after.
bool only_grows(const Course& course, std::size_t way) {
  const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
  for (Device device = 0; device < from.devices(); ++device) {
    for (const Part part : course.parts(way, device)) {
      const auto next = course.parts(way + 1, device);
      const bool kept = std::any_of(next.begin(), next.end(), [&](Part after) {
        return course.carries_on(way, device, after) &&
               common_elements(from, part, to, after) == from.elements(part);
      });
      if (!kept) return false;
    }
  }
  return true;
}

/// Whether what a device keeps is sent in the same boxes in which others are added to it: devices
/// that shall have the same sum.
bool sums_alike(const Course& course, std::size_t way, const std::vector<Piece>& pieces) {
  const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
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

struct Volumes {
  std::int64_t sent = 0, received = 0, messages = 0;
};

/// Shares of a round, and the staging for them; an Error where a device has no room.
Status divide(const Course& course, std::size_t way, Bytes allowance, Leg& leg) {
  const Bytes item = course.problem->item_size;
  std::vector<Volumes> volumes(course.problem->source.devices());
  const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
  for (const Piece& piece : leg.pieces) {
    const std::int64_t elements = common_elements(from, piece.from_part, to, piece.to_part);
    volumes[piece.from].sent += elements;
    volumes[piece.to].received += elements;
    volumes[piece.from].messages += 1;
    volumes[piece.to].messages += 1;
  }
  std::int64_t most = 1;
  for (Device device = 0; device < from.devices(); ++device) {
    const Volumes& mine = volumes[device];
    const std::int64_t free = most_held(course, device) - held(course, way, device);
    const std::int64_t freed = leg.kind == Kind::kSwap && leg.gives_up[device] ? mine.sent : 0;
    if (leg.kind == Kind::kSwap && mine.received > freed + free) {
      return fail(ErrorCode::kInfeasible,
                  "round " + std::to_string(way + 1) + ": device " + std::to_string(device) +
                      " receives more than it gives up: run with a buffer for each end");
    }
    most = std::max(most, mine.received);
  }
  const auto staging_for = [&](std::int64_t shares) {
    Bytes staging = 0;
    for (const Volumes& mine : volumes) {
      // Shares of messages are rounded, each for itself.
      const std::int64_t share =
          std::min(mine.received, std::max(mine.received, mine.sent) / shares + mine.messages + 1);
      // A sum has one share under way while the one before is added.
      staging = std::max(staging, (leg.kind == Kind::kAddUp ? 2 : 1) * share * item);
    }
    return staging;
  };
  leg.shares = allowance > 0 ? 1 : std::min(kUsualShares, most);
  while (allowance > 0 && staging_for(leg.shares) > allowance && leg.shares < most) {
    leg.shares *= 2;
  }
  leg.staging = staging_for(leg.shares);
  if (allowance > 0 && leg.staging > allowance) {
    return fail(ErrorCode::kInfeasible, "the budget does not hold the smallest share of a round");
  }
  return {};
}

/// `allowance`: bytes of staging; 0: no limit.
Result<Leg> make_leg(const Course& course, std::size_t way, Bytes allowance, Meetings& meetings) {
  const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
  Leg leg;
  leg.pieces = pieces(from, to, meetings);
  const auto& joins = course.ways[way].joins;
  const bool adds = std::any_of(joins.begin(), joins.end(), [](auto n) { return n > 1; });
  const bool all_add = std::all_of(leg.pieces.begin(), leg.pieces.end(),
                                   [](const Piece& piece) { return piece.add; });
  if (leg.pieces.empty()) {
    leg.kind = same_distribution(from, to) ? Kind::kNothing : Kind::kSlice;
  } else if (!adds && only_grows(course, way)) {
    leg.kind = Kind::kGather;
  } else if (!adds) {
    leg.kind = Kind::kSwap;
    leg.gives_up = give_up(course, way, true, leg.pieces);
    WEFT_TRY(divide(course, way, allowance, leg));
  } else {
    leg.gives_up = give_up(course, way, false, leg.pieces);
    const bool apart = std::count(leg.gives_up.begin(), leg.gives_up.end(), 0) == 0;
    if (!all_add || (!apart && !sums_alike(course, way, leg.pieces))) {
      return fail(ErrorCode::kInfeasible,
                  "round " + std::to_string(way + 1) +
                      " adds to something before all have read it: run with a buffer for each end");
    }
    leg.kind = apart ? Kind::kReduce : Kind::kAddUp;
    if (!apart) WEFT_TRY(divide(course, way, allowance, leg));
  }
  return leg;
}

Result<std::vector<Leg>> make_legs(const Course& course, Bytes allowance) {
  if (course.problem->target.partial()) {
    return fail(ErrorCode::kInfeasible,
                "summands are not made in place: run with a buffer for each end");
  }
  std::vector<Leg> legs;
  Meetings meetings(course.problem->node_of);
  for (std::size_t way = 0; way < course.ways.size(); ++way) {
    WEFT_ASSIGN(Leg leg, make_leg(course, way, allowance, meetings));
    legs.push_back(std::move(leg));
  }
  return legs;
}

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
class Author {
 public:
  Author(const Course& course, Device self, std::int32_t array, std::int32_t staging,
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

}  // namespace

namespace {

/// What all devices share.
struct Itinerary {
  std::vector<Course> courses;
  std::vector<std::vector<Leg>> legs;  ///< by array and way
  std::size_t turns = 0;
  std::vector<Bytes> offsets;  ///< of arrays in staging
  Bytes staging = 0, item = 1;
  Bytes marks = 0;  ///< that moves in place may need on any device
};

Result<Itinerary> make_itinerary(const std::vector<Array>& arrays, Bytes budget) {
  Itinerary all;
  // Half of the budget for shares, the rest for messages and marks.
  const Bytes allowance =
      budget > 0 ? std::max<Bytes>(1, budget / 2 / static_cast<Bytes>(arrays.size())) : 0;
  for (const Array& array : arrays) {
    all.courses.push_back(make_course(*array.problem, *array.plan));
    WEFT_ASSIGN(std::vector<Leg> legs, make_legs(all.courses.back(), allowance));
    std::size_t turns = 0;
    Bytes most = 0;
    for (const Leg& leg : legs) {
      turns += static_cast<std::size_t>(leg.turns());
      most = std::max(most, leg.staging);
    }
    constexpr Bytes kAlign = 16;
    all.offsets.push_back(all.staging);
    all.staging += budget > 0 ? most : (most + kAlign - 1) / kAlign * kAlign;
    all.turns = std::max(all.turns, turns);
    all.item = std::max(all.item, array.problem->item_size);
    std::int64_t largest = 0;
    for (Device device = 0; device < array.problem->source.devices(); ++device) {
      largest = std::max(largest, most_held(all.courses.back(), device));
    }
    // A bit an element, in the buffer and in staging.
    all.marks += (largest + most / array.problem->item_size) / 8 + 1;
    all.legs.push_back(std::move(legs));
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
    const Author author(course, self, static_cast<std::int32_t>(i),
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
    limit = program.message_budget / 4;
    if (limit < way_of.item) {
      return fail(ErrorCode::kInfeasible,
                  "a budget of " + std::to_string(budget) +
                      " bytes does not hold what moves in place need; allow at least " +
                      std::to_string(2 * (way_of.marks + 4 * way_of.item)));
    }
  }
  for (std::size_t i = 0; i < way_of.turns; ++i) {
    write_streams(mail[i], limit, program.turns[i]);
  }
  return program;
}

}  // namespace

Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options) {
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

namespace {

/// Plans that may be possible in place, for a source without summands or with.
std::vector<Plan> candidates(const Problem& problem, const PlannerOptions& options) {
  std::vector<Plan> plans;
  Meetings meetings(problem.node_of);
  // Where steps cost, everything goes at once, which often needs both ends.
  PlannerOptions volume_alone = options;
  volume_alone.link.step = volume_alone.link.message = 0;
  for (const PlannerOptions& prices : {options, volume_alone}) {
    if (auto plan = make_plan(problem, prices)) plans.push_back(std::move(*plan));
  }
  if (!problem.target.partial()) plans.push_back(direct_plan(problem, options.link, meetings));
  if (const auto factored = factor(problem)) {
    if (auto plan = normal_plan(problem, *factored, options.link, meetings)) {
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

/// First every device gets the sum of the part that it has, then the array goes its way.
std::vector<Plan> sums_first(const Problem& problem, const PlannerOptions& options) {
  const std::size_t summands = problem.source.group_of_summand.size();
  const auto joined_groups = [&](Layout layout) {
    layout.group_of_summand.assign(summands, 0);
    layout.groups = 1;
    layout.team.clear();
    for (std::int32_t& group : layout.group) group = std::min(group, 0);
    return std::make_shared<const Layout>(std::move(layout));
  };
  Problem rest = problem;
  const LayoutPtr summed = joined_groups(problem.source);
  rest.source = *summed;
  rest.source.group_of_summand = {0};
  rest.target.group_of_summand = {0};
  if (rest.source_type) rest.source_type->partial.clear();
  Meetings meetings(problem.node_of);
  const Step sum{Op::kAllReduce, {summed}, traffic(problem.source, *summed, meetings)};
  std::vector<Plan> plans = candidates(rest, options);
  for (Plan& plan : plans) {
    for (Step& step : plan.steps) {
      for (LayoutPtr& layout : step.layouts) layout = joined_groups(*layout);
    }
    plan.steps.insert(plan.steps.begin(), sum);
  }
  return plans;
}

}  // namespace

Result<Plan> make_plan_in_place(const Problem& problem, const PlannerOptions& options) {
  WEFT_TRY(make_plan(problem, options));
  std::vector<Plan> plans = candidates(problem, options);
  if (problem.source.partial() && !problem.target.partial()) {
    for (Plan& plan : sums_first(problem, options)) plans.push_back(std::move(plan));
  }
  for (Plan& plan : plans) settle(plan, problem, options.link);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const Plan& a, const Plan& b) { return a.time < b.time; });
  Error why;
  for (Plan& plan : plans) {
    const auto legs = make_legs(make_course(problem, plan), 0);
    if (legs) return std::move(plan);
    why = legs.error();
  }
  return tl::unexpected(why);
}

}  // namespace weft::reshard::execute
