// SPDX-License-Identifier: Apache-2.0
// A program is what one device does to carry out plans: which bytes of its buffers it sends to
// which device, and where it puts the bytes that it receives. A program does not depend on a
// transport or on a kind of memory. The transports for threads, processes, MPI, NCCL and
// torch.distributed, on host and GPU, all run the same programs.
//
// One program moves any number of arrays, so that the parameters of a model share rounds and
// messages.
//
// Buffers: for array i, buffer 2 i is the source (what the device holds before the run), and buffer
// 2 i + 1 is the target (what it holds afterwards). Both store elements in the wire type, which is
// the type in which elements are sent. The last buffer is staging, for arrays that lie neither in
// the source nor in the target between two rounds. In a buffer, a device's parts of an array lie
// one after the other. Each part is dense in row-major order. If a part consists of several strips
// per dimension, its strips are stored without the gaps between them.
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

/// One loop of a walk over the bytes of a buffer.
struct Loop {
  std::int64_t extent = 0;
  std::int64_t stride = 0;  ///< bytes

  bool operator==(const Loop&) const = default;
};

/// A box inside a buffer. Its elements are visited in row-major order of the array, so that sender
/// and receiver agree on the order. Two nested loops are merged into one only if this order stays
/// the same. A region without loops is one element.
struct Region {
  std::int32_t buffer = 0;
  std::int32_t array = 0;
  Bytes offset = 0;
  Bytes element = 0;        ///< bytes of one element
  std::vector<Loop> loops;  ///< outermost first
  /// Only in messages: the region's bytes are contiguous on both devices, and both devices know it.
  bool direct = false;
  /// Only in sources whose elements are cast while they are read. Offsets and strides are as if the
  /// source were stored in the wire type.
  bool cast = false;

  Bytes bytes() const;
  /// Whether the bytes of the region, in the wire type, are contiguous and in order. Such a region
  /// needs no packing.
  bool dense() const;
};

/// What one device sends to another in a round, or receives from it: regions, one after the other.
/// Messages match by number: the k-th message from a to b in the program of a is the k-th message
/// from a to b in the program of b. This also holds if the budget divides a long message into
/// several. Matching messages have the same size. Their regions have the same sizes too, except in
/// programs in place.
struct Message {
  Device peer = 0;
  bool add = false;  ///< the receiver adds (reduces) the message to its data
  Bytes bytes = 0;
  std::vector<Region> regions;
};

/// A copy within one device.
struct Move {
  Region from, to;
  bool add = false;  ///< reduces into the destination; only in programs in place
};

/// Only in place: moves the contents of the regions `from` to the regions `to`. The contents of all
/// regions of a list count as one sequence of bytes. The two lists may overlap.
struct Shuffle {
  std::vector<Region> from, to;
};

/// Complete sums that are cast to a narrower target after a turn. The sums lie in staging, `bytes`
/// bytes from `offset` on. `casts` say where they go. The regions of `casts` are as if the target
/// were stored in the wire type.
struct StagedCast {
  std::int32_t array = 0;
  Bytes offset = 0, bytes = 0;
  std::vector<Move> casts;
};

/// What one device does in one round. Every send reads the data from before the round. First come
/// the moves and messages that replace, and then those that add.
struct Turn {
  std::vector<Move> moves;
  std::vector<Message> sends;     ///< in the order to start them, see make_program()
  std::vector<Message> receives;  ///< in the order to start them
  /// Shuffles run after all moves and messages, with all reads before all writes.
  /// Transport::shuffle() runs them.
  std::vector<Shuffle> shuffles;
  /// Casts run after the shuffles. Ends::cast_staged() runs them.
  std::vector<StagedCast> staged_casts;
};

/// What the bytes of an array mean. Code that reduces elements or fills in neutral elements needs
/// this.
struct Elements {
  std::string type = "f32";    ///< the wire type, named as in problems: f32, bf16, i64, c128, ...
  std::string reduction = "";  ///< sum, min, max, prod, avg; empty: nothing is reduced
  /// After the last round the target is multiplied by times / over, because an average is first
  /// added up as a sum. Set by make_program().
  std::int64_t times = 1, over = 1;
  /// The types of source and target; empty for an end that has the wire type. Set by
  /// make_program(), see ends.h.
  std::string source = "", target = "";
  /// Whether the target is cast slab by slab, by Turn::staged_casts. Set by make_program().
  bool by_slabs = false;
};

struct Program {
  Device self = 0;
  std::vector<Bytes> buffers;      ///< sizes
  std::vector<Elements> elements;  ///< indexed by array
  std::vector<Turn> turns;
  /// Regions to fill with the neutral element before the first round. They are in partial targets:
  /// the part of the device's summand for which the device holds no data.
  std::vector<Region> neutral;
  /// Only in place, indexed by array: the bytes of the target. The target ends up at the start of
  /// buffer 2 i, where the source was. Buffer 2 i + 1 has no bytes then. Empty in other programs.
  std::vector<Bytes> in_place;
  /// The bytes of the budget that messages in flight may use on this device. It is at least four
  /// times the longest message. 0: no limit.
  Bytes message_budget = 0;
  /// The longest message that may occur on any device, in bytes; 0: no limit.
  Bytes message_limit = 0;
  /// A number that is equal on all devices of one run and differs for any other set of plans.
  /// Transports compare it to detect that two ranks are about to run different programs.
  std::uint64_t fingerprint = 0;
};

/// An array to move: its problem, and the plan for it.
struct Array {
  const Problem* problem = nullptr;
  const Plan* plan = nullptr;
  Elements elements;
};

struct ProgramOptions {
  /// Bytes that a device may use beside source and target, for arrays between rounds and for
  /// messages in flight. Messages are divided so that two of the longest messages per direction fit
  /// into the rest that arrays leave. Sums that are cast to a narrower target are added up slab by
  /// slab if they do not fit as a whole. 0: no limit.
  Bytes budget = 0;
  /// The source may be overwritten, so source and target share one buffer. make_program() returns
  /// an Error (kInfeasible) if a round of a plan does not allow this, see make_plan_in_place().
  bool in_place = false;
};

/// Builds the program of device `self`. Round k of the program is round k of every array. All
/// devices order the messages of a round in the same way:
///   1. Messages that replace come before messages that add.
///   2. Then the distance decides, which is (to - from) mod devices.
///   3. Then the number of the message decides.
/// If a device starts its sends in order and its receives in order, each as soon as staging for it
/// is free, then no circle of devices can wait for each other. Returns an Error (kInfeasible) if
/// the budget is too small for the data that has to be staged between rounds.
Result<Program> make_program(const std::vector<Array>& arrays, Device self,
                             const ProgramOptions& options);

/// The bytes in staging between rounds, on the device that has the most. This includes sums that
/// are still to be cast to a narrower target.
Bytes staged_bytes(const std::vector<Array>& arrays);

/// How a budget is used. The use is the same on all devices, because sender and receiver must agree
/// on the sizes of messages. So the device that stages the most decides.
struct BudgetUse {
  Bytes staged = 0;   ///< see staged_bytes()
  Bytes needs = 0;    ///< the smallest budget that is enough
  Bytes message = 0;  ///< the longest message; four of them fit into what staging leaves
};
BudgetUse budget_use(const std::vector<Array>& arrays, Bytes budget);

/// The cheapest plan found that fits into the budget; 0: no limit. The budget divides messages, and
/// the price of a plan includes the cost of the additional messages. If no plan fits, returns an
/// Error (kInfeasible) with about the smallest budget that is enough.
Result<Plan> make_plan_within(const Problem& problem, const PlannerOptions& options, Bytes budget);

/// The cheapest plan found that fits into the budget (0: no limit) and whose rounds can all run in
/// place. If there is none, returns an Error (kInfeasible) with the reason.
Result<Plan> make_plan_in_place(const Problem& problem, const PlannerOptions& options,
                                Bytes budget = 0);

}  // namespace weft::reshard::execute
