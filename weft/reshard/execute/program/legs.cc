// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/legs.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/program/mail.h"

namespace weft::reshard::execute {
namespace {

/// Shares where no budget asks for more: staging is a small part of what is swapped.
constexpr std::int64_t kUsualShares = 16;
/// At most: more would take longer to list than to swap.
constexpr std::int64_t kMostShares = 1 << 16;

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
  most = std::min(most, kMostShares);
  leg.shares = allowance > 0 ? 1 : std::min(kUsualShares, most);
  while (allowance > 0 && staging_for(leg.shares) > allowance && leg.shares < most) {
    leg.shares *= 2;
  }
  leg.staging = staging_for(leg.shares);
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

}  // namespace

std::int64_t held(const Course& course, std::size_t layout, Device device) {
  std::int64_t elements = 0;
  for (const Part part : course.parts(layout, device)) {
    elements += course.layouts[layout]->elements(part);
  }
  return elements;
}

std::int64_t most_held(const Course& course, Device device) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < course.layouts.size(); ++i) {
    most = std::max(most, held(course, i, device));
  }
  return most;
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

}  // namespace weft::reshard::execute
