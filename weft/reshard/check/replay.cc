// SPDX-License-Identifier: Apache-2.0
// Checks a plan by box algebra. Cells are independent of each other, so each cell is replayed
// alone. A replay has these stages:
//   1. The source gives devices their groups of summands.
//   2. Each round of the plan moves or adds sets of groups.
//   3. If the target is partial, the sets of the devices of each team are added up.
//   4. Every set that the target wants must be full.
// Only events of the cell are visited, and only the sets of one cell are kept at a time. So the
// whole replay takes time linear in the cells that move, and little memory.
#include "weft/reshard/check/replay.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "weft/reshard/check/cells.h"
#include "weft/reshard/check/summand_sets.h"

namespace weft::reshard {
namespace {

/// Appends the boxes of all parts of a layout to `stage`, a list of transfers that the check runs
/// one after the other. The boxes are stored as transfers, so that all events of a cell have the
/// same form. from(part) and to(part) are the numbers of its sender and its receiver.
template <class From, class To>
void add_parts(const Layout& layout, Round& stage, const From& from, const To& to) {
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    for_each_box(layout.region(part), [&](const Box& box) {
      stage.push_back({from(part), to(part), box, false});
    });
  }
}

/// Stage 3 of the check, only for a partial target: for each device, the elements of its summand
/// that it holds in `last`. Each of them is stored as a transfer from the device to its team, see
/// Layout::team.
Round contributions(const Layout& target, const Layout& last) {
  std::vector<std::vector<Part>> held(last.devices());
  for (Part part = 0; part < last.parts(); ++part) {
    if (last.holds(part)) held[last.device_of(part)].push_back(part);
  }
  Round all;
  for (Part part = 0; part < target.parts(); ++part) {
    if (!target.holds(part)) continue;
    const Device device = target.device_of(part);
    for (const Part mine : held[device]) {
      std::vector<Strips> dims;
      for (std::size_t i = 0; i < target.cuts.size(); ++i) {
        dims.push_back(intersect(target.cuts[i]->piece(part), last.cuts[i]->piece(mine)));
      }
      for_each_box(dims, [&](const Box& box) {
        all.push_back({device, target.team[device], box, false});
      });
    }
  }
  return all;
}

std::size_t teams(const Layout& target) {
  std::int32_t count = 0;
  for (const std::int32_t team : target.team) count = std::max(count, team + 1);
  return static_cast<std::size_t>(count);
}

/// A fault. The replay of the cells finds faults in any order. The first fault in the order of
/// stages is reported, so that the message does not depend on how the array is divided.
struct Fault {
  enum Kind : std::size_t {
    kSendsMissing,
    kAddsToMissing,
    kAddsTwice,
    kTargetTwice,
    kTargetLacks
  } kind;
  /// `item`: number of the transfer, or of the team for faults of the target.
  std::size_t stage, item;

  bool of_target() const { return kind >= kTargetTwice; }
  /// The key by which faults are sorted. Within a round, all sends come before all stores and
  /// additions. Faults of the target are sorted by team.
  std::array<std::size_t, 3> order() const {
    return {stage, of_target() ? item : kind, of_target() ? kind : item};
  }
};

class Replay {
 public:
  Replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last)
      : problem_(problem),
        held_(problem.source.devices(), problem.source.groups),
        sums_(teams(problem.target), problem.source.groups) {
    const Layout &source = problem.source, &target = problem.target;
    add_parts(
        source, source_, [&](Part part) { return source.group[part]; },
        [&](Part part) { return source.device_of(part); });
    if (target.partial()) contributions_ = contributions(target, last);
    const auto team = [&](Part part) {
      const Device device = target.device_of(part);
      return target.partial() ? target.team[device] : device;
    };
    add_parts(
        target, wanted_, [&](Part part) { return target.device_of(part); }, team);
    stages_.push_back(&source_);
    for (const Round& round : rounds) stages_.push_back(&round);
    stages_.push_back(&contributions_);
    stages_.push_back(&wanted_);
  }

  Status run() {
    const CellEvents events(problem_.shape.size(), stages_);
    for (std::size_t cell = 0; cell < events.cells(); ++cell) {
      held_.start(cell);
      sums_.start(cell);
      replay(events.of(cell));
    }
    if (fault_) return fail(ErrorCode::kInfeasible, text_of(*fault_));
    return {};
  }

 private:
  /// The events of one cell in one stage.
  struct Items {
    const Round& list;
    std::size_t stage;
    std::size_t first;  ///< number of the first event of this stage
    std::span<const std::uint32_t> events;

    std::size_t size() const { return events.size(); }
    std::size_t item(std::size_t i) const { return events[i] - first; }
    const Round::Ends& operator[](std::size_t i) const { return list.ends(item(i)); }
  };

  void replay(std::span<const std::uint32_t> events) {
    std::size_t first = 0;
    for (std::size_t stage = 0; stage < stages_.size() && !events.empty(); ++stage) {
      const Round& list = *stages_[stage];
      std::size_t count = 0;
      while (count < events.size() && events[count] < first + list.size()) ++count;
      if (!run_stage({list, stage, first, events.first(count)})) return;
      events = events.subspan(count);
      first += list.size();
    }
  }

  /// Returns false if there is a fault. Then the later stages of the cell have no meaning.
  bool run_stage(const Items& items) {
    if (&items.list == &source_) return start(items);
    if (&items.list == &contributions_) return sum_teams(items);
    if (&items.list == &wanted_) return arrive(items);
    return move(items);
  }

  bool start(const Items& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // Several parts of a device may contain the same cell, so adding a group twice is no fault.
      held_.add(parts[i].to, SummandSets::single(parts[i].from));
    }
    return true;
  }

  bool move(const Items& transfers) {
    // All transfers of a round send the data from before the round, so take snapshots first. Then
    // store the boxes that replace, and after that add the other boxes.
    sent_.clear();
    held_.clear_snapshots();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (held_.empty(transfers[i].from)) {
        return is_wrong({Fault::kSendsMissing, transfers.stage, transfers.item(i)});
      }
      sent_.push_back(held_.snapshot(transfers[i].from));
    }
    for (const bool add : {false, true}) {
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        if (transfers[i].add != add) continue;
        const Device to = transfers[i].to;
        if (!add) {
          held_.replace(to, sent_[i]);
        } else if (held_.empty(to)) {
          return is_wrong({Fault::kAddsToMissing, transfers.stage, transfers.item(i)});
        } else if (!held_.add(to, sent_[i])) {
          return is_wrong({Fault::kAddsTwice, transfers.stage, transfers.item(i)});
        }
      }
    }
    return true;
  }

  bool sum_teams(const Items& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!sums_.add(parts[i].to, held_, parts[i].from)) {
        return is_wrong({Fault::kTargetTwice, stages_.size(), team_of(parts[i])});
      }
    }
    return true;
  }

  bool arrive(const Items& parts) {
    SummandSets& sets = problem_.target.partial() ? sums_ : held_;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!sets.all(parts[i].to)) {
        return is_wrong({Fault::kTargetLacks, stages_.size(), team_of(parts[i])});
      }
    }
    return true;
  }

  static std::size_t team_of(const Round::Ends& part) { return static_cast<std::size_t>(part.to); }

  bool is_wrong(const Fault& fault) {
    if (!fault_ || fault.order() < fault_->order()) fault_ = fault;
    return false;
  }

  std::string text_of(const Fault& fault) const {
    if (fault.of_target()) {
      Device device = 0;
      for (const Transfer& part : wanted_) {
        if (static_cast<std::size_t>(part.to) != fault.item) continue;
        device = part.from;
        break;
      }
      const std::string who = problem_.target.partial()
                                  ? "the team of device " + std::to_string(device)
                                  : "device " + std::to_string(device);
      return who + (fault.kind == Fault::kTargetTwice ? " counts a summand twice"
                                                      : " lacks a part of the target");
    }
    const Transfer transfer = (*stages_[fault.stage])[fault.item];
    std::string box;
    for (const Interval& side : transfer.box) {
      box += (box.empty() ? "" : ", ") + std::to_string(side.low) + ":" + std::to_string(side.high);
    }
    const bool sends = fault.kind == Fault::kSendsMissing;
    return "round " + std::to_string(fault.stage - 1) + ": device " +
           std::to_string(sends ? transfer.from : transfer.to) +
           (sends                                 ? " sends [" + box + "], which it does not hold"
            : fault.kind == Fault::kAddsToMissing ? " adds to [" + box + "], which it does not hold"
                                                  : " adds a summand of [" + box + "] twice");
  }

  const Problem& problem_;
  SummandSets held_, sums_;  ///< of the current cell: indexed by device, and by team
  Round source_;             ///< stage 1: parts of the source, from group to device
  Round contributions_;      ///< stage 3, only for a partial target: see contributions()
  Round wanted_;             ///< stage 4: parts of the target, from device to team
  std::vector<const Round*> stages_;
  std::vector<SummandSets::Snapshot> sent_;
  std::optional<Fault> fault_;
};

}  // namespace

Status replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last) {
  return Replay(problem, rounds, last).run();
}

}  // namespace weft::reshard
