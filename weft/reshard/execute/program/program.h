// SPDX-License-Identifier: Apache-2.0
// What one device does to carry out plans: which bytes of its buffers go to whom, and where what
// comes is put. A program knows no transport and no memory: host, GPU, threads, MPI, NCCL and
// torch.distributed all run the same one.
//
// One program moves any number of arrays, since a model's parameters share rounds and messages.
//
// Buffers: 2 i is what the device holds of array i before, 2 i + 1 what it shall hold of it, both
// as elements that travel, and the last is staging, for arrays that rest between two rounds. A
// device's parts of an array lie one after the other in its buffer, each dense in row-major order;
// of a part that is made of strips, the strips of each dimension lie side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/reshard/layout/problem.h"
#include "weft/reshard/plan.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {

/// A loop over bytes of a buffer.
struct Loop {
  std::int64_t extent = 0;
  std::int64_t stride = 0;  ///< bytes

  bool operator==(const Loop&) const = default;
};

/// A box inside a buffer, walked in row-major order of the array, so that sender and receiver agree
/// on the order of what is between them. Loops that go on where the one inside them ends are joined
/// only as far as that order stays; no loops: one element.
struct Region {
  std::int32_t buffer = 0;
  std::int32_t array = 0;
  Bytes offset = 0;
  Bytes element = 0;        ///< bytes of one
  std::vector<Loop> loops;  ///< outermost first
  /// Of a message: its bytes lie side by side on both devices, and both know.
  bool direct = false;
  /// Of a source whose elements are cast as they are taken: the region is that of what travels, as
  /// if the source were of that type.
  bool cast = false;

  Bytes bytes() const;
  /// Whether its bytes lie side by side, in order, as they travel: such a region needs no packing.
  bool dense() const;
};

/// What one device sends to another in a round, or receives from it: regions, one behind the other.
/// The k-th message from a to b in the program of a is the k-th from a to b in that of b, with
/// regions of the same sizes, also where the budget has cut what would be one message into several.
/// Of a program in place, messages are of the same size and regions may not be.
struct Message {
  Device peer = 0;
  bool add = false;  ///< the receiver reduces it into what it has
  Bytes bytes = 0;
  std::vector<Region> regions;
};

/// What stays on the device.
struct Move {
  Region from, to;
  bool add = false;  ///< is reduced into what is there, in programs in place alone
};

/// In place: what lies in some regions, one behind the other, goes to others, which may overlap
/// them.
struct Shuffle {
  std::vector<Region> from, to;
};

/// Sums that are complete after a turn and become narrower in the target: some bytes of staging,
/// and where they go, in regions of what travels, as if the target were of that type.
struct Settlement {
  std::int32_t array = 0;
  Bytes offset = 0, bytes = 0;
  std::vector<Move> casts;
};

/// A device's part of a round. Everything is read as it was before the round; moves and messages
/// that replace are put in place before those that add.
struct Turn {
  std::vector<Move> moves;
  std::vector<Message> sends;     ///< in the order in which to start them, see make_program
  std::vector<Message> receives;  ///< likewise
  /// After all else: everything is read before anything is written. Transport::shuffle() does it.
  std::vector<Shuffle> shuffles;
  /// Likewise: Ends::settle() does it.
  std::vector<Settlement> settlements;
};

/// What an array's bytes mean, for whoever adds them up or fills in neutral elements.
struct Elements {
  std::string type = "f32";    ///< of what travels, as in problems: f32, bf16, i64, c128, ...
  std::string reduction = "";  ///< sum, min, max, prod, avg; empty: nothing is added up
  /// What the target is multiplied with after the last round, times / over: summands of an average
  /// are added up on the way. Set by make_program.
  std::int64_t times = 1, over = 1;
  /// Types of both ends, where they are cast on the way; empty: as they travel. Set by
  /// make_program, see ends.h.
  std::string source = "", target = "";
  /// The target gets its type slab by slab, by Turn::settlements. Set by make_program.
  bool by_slabs = false;
};

struct Program {
  Device self = 0;
  std::vector<Bytes> buffers;      ///< sizes
  std::vector<Elements> elements;  ///< by array
  std::vector<Turn> turns;
  /// Filled with the neutral element before the first round: the rest of a summand.
  std::vector<Region> neutral;
  /// By array, of a program in place: the bytes of the target, which lies at the start of buffer 2
  /// i in the end, where the source lay; buffer 2 i + 1 has no bytes. Else empty.
  std::vector<Bytes> in_place;
  /// Of the budget, what messages on their way may take on this device: at least four of the
  /// longest; 0: no limit.
  Bytes message_budget = 0;
  /// Bytes of the longest message that may be, on any device; 0: no limit.
  Bytes message_limit = 0;
  /// The same on every device that takes part, and nowhere else: what lets a transport find out
  /// that two ranks are about to run different programs.
  std::uint64_t fingerprint = 0;
};

/// An array to be moved: its problem, and the plan for it.
struct Array {
  const Problem* problem = nullptr;
  const Plan* plan = nullptr;
  Elements elements;
};

struct ProgramOptions {
  /// Bytes that a device may hold beside both ends: arrays between rounds, and messages on their
  /// way. Messages are cut so that two of the longest a direction fit in what is left; sums that
  /// become narrower are added up slab by slab where they do not fit as a whole. 0: no limit.
  Bytes budget = 0;
  /// The source is given up: both ends share one buffer. An Error (kInfeasible) where a round of a
  /// plan does not allow that, see make_plan_in_place().
  bool in_place = false;
};

/// Messages of a round are ordered alike on all devices: those that replace first, then by
/// distance, (to - from) mod devices, then by number. So a device that starts its sends in order
/// and its receives in order, each as soon as there is staging for it, never waits for itself in a
/// circle. Rounds of several arrays are run side by side: round k of the program is round k of
/// every array. An Error (kInfeasible) where the budget does not hold what rests between rounds.
Result<Program> make_program(const std::vector<Array>& arrays, Device self,
                             const ProgramOptions& options);

/// Bytes that rest in staging between rounds, or as sums that are to become narrower, on the device
/// that has most.
Bytes resting_bytes(const std::vector<Array>& arrays);

/// How a budget is used, alike on all devices: what rests on any of them decides, since sender and
/// receiver must agree on messages.
struct BudgetShare {
  Bytes rests = 0;    ///< see resting_bytes()
  Bytes needs = 0;    ///< the least budget that will do
  Bytes message = 0;  ///< the longest message, of which four fit in what is left
};
BudgetShare budget_share(const std::vector<Array>& arrays, Bytes budget);

/// The cheapest plan found that the budget allows, priced with messages cut to fit it; 0: no limit.
/// An Error (kInfeasible) where there is none, with about the least budget that has one.
Result<Plan> make_plan_within(const Problem& problem, const PlannerOptions& options, Bytes budget);

/// The cheapest plan found whose rounds can all be done in place, within the budget; 0: no limit.
/// An Error (kInfeasible) tells why there is none.
Result<Plan> make_plan_in_place(const Problem& problem, const PlannerOptions& options,
                                Bytes budget = 0);

}  // namespace weft::reshard::execute
