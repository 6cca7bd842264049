// SPDX-License-Identifier: Apache-2.0
// What one device does to carry out plans: which bytes of its buffers it sends to whom, and where
// it puts what it receives. A program depends on no transport and no kind of memory: the host, GPU,
// thread, MPI, NCCL and torch.distributed transports all run the same one.
//
// One program moves any number of arrays, so that the parameters of a model share rounds and
// messages.
//
// Buffers: for array i, buffer 2 i is the source (what the device holds before) and buffer 2 i + 1
// the target (what it holds afterwards). Both store elements in the wire type, the type in which
// elements are sent. The last buffer is staging, for arrays that lie neither in the source nor in
// the target between two rounds. A device's parts of an array lie one behind the other in its
// buffer. Each part is dense in row-major order. If a part consists of several strips per
// dimension, its strips are stored without the gaps between them.
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

/// A box inside a buffer, walked in row-major order of the array, so that sender and receiver agree
/// on the order of its elements. Two nested loops are merged into one only if this order stays the
/// same. A region without loops is one element.
struct Region {
  std::int32_t buffer = 0;
  std::int32_t array = 0;
  Bytes offset = 0;
  Bytes element = 0;        ///< bytes of one element
  std::vector<Loop> loops;  ///< outermost first
  /// Only in messages: the region's bytes are contiguous on both devices, and both devices know it.
  bool direct = false;
  /// Only in sources whose elements are cast while they are read. Offsets and strides are those of
  /// the same region in the wire type, as if the source stored it.
  bool cast = false;

  Bytes bytes() const;
  /// Whether its bytes in the wire type are contiguous and in order. Such a region needs no
  /// packing.
  bool dense() const;
};

/// What one device sends to another in a round, or receives from it: regions, one behind the other.
/// The k-th message from a to b in the program of a is the k-th from a to b in the program of b,
/// also if the budget cuts a long message into several. Matching messages have the same size. Their
/// regions have the same sizes too, except in programs in place.
struct Message {
  Device peer = 0;
  bool add = false;  ///< the receiver reduces it into what it already holds
  Bytes bytes = 0;
  std::vector<Region> regions;
};

/// A copy within one device.
struct Move {
  Region from, to;
  bool add = false;  ///< reduces into the destination; only in programs in place
};

/// Only in place: moves the contents of the regions `from`, one behind the other, to the regions
/// `to`. The two may overlap.
struct Shuffle {
  std::vector<Region> from, to;
};

/// Complete sums that are cast to a narrower target after a turn. `offset` and `bytes` say where
/// the sums lie in staging. `casts` say where they go; their regions are those of the wire type, as
/// if the target stored it.
struct StagedCast {
  std::int32_t array = 0;
  Bytes offset = 0, bytes = 0;
  std::vector<Move> casts;
};

/// What one device does in one round. Every send reads what was there before the round. Moves and
/// messages that replace are applied before those that add.
struct Turn {
  std::vector<Move> moves;
  std::vector<Message> sends;     ///< in the order in which to start them, see make_program()
  std::vector<Message> receives;  ///< likewise
  /// After everything else: all reads come before all writes. Transport::shuffle() runs them.
  std::vector<Shuffle> shuffles;
  /// After everything else: Ends::cast_staged() runs them.
  std::vector<StagedCast> staged_casts;
};

/// What an array's bytes mean, for code that reduces them or fills in neutral elements.
struct Elements {
  std::string type = "f32";    ///< the wire type, named as in problems: f32, bf16, i64, c128, ...
  std::string reduction = "";  ///< sum, min, max, prod, avg; empty: nothing is reduced
  /// After the last round the target is multiplied by times / over: an average is first added up as
  /// a sum. Set by make_program().
  std::int64_t times = 1, over = 1;
  /// Types of source and target if they differ from the wire type, else empty. Set by
  /// make_program(), see ends.h.
  std::string source = "", target = "";
  /// The target is cast slab by slab, by Turn::staged_casts. Set by make_program().
  bool by_slabs = false;
};

struct Program {
  Device self = 0;
  std::vector<Bytes> buffers;      ///< sizes
  std::vector<Elements> elements;  ///< by array
  std::vector<Turn> turns;
  /// Regions to fill with the neutral element before the first round: in a partial target, the part
  /// of the device's summand for which it holds no data.
  std::vector<Region> neutral;
  /// Only in place, by array: bytes of the target, which ends up at the start of buffer 2 i, where
  /// the source was. Buffer 2 i + 1 then has no bytes. Empty in other programs.
  std::vector<Bytes> in_place;
  /// The part of the budget that messages in flight may use on this device: at least four times the
  /// longest message; 0: no limit.
  Bytes message_budget = 0;
  /// The longest message that may occur on any device, in bytes; 0: no limit.
  Bytes message_limit = 0;
  /// Equal on all devices of one run, and different for any other set of plans. Transports use it
  /// to detect that two ranks are about to run different programs.
  std::uint64_t fingerprint = 0;
};

/// An array to move: its problem, and the plan for it.
struct Array {
  const Problem* problem = nullptr;
  const Plan* plan = nullptr;
  Elements elements;
};

struct ProgramOptions {
  /// Bytes that a device may use beside source and target: for arrays between rounds and for
  /// messages in flight. Messages are cut so that two of the longest per direction fit into what
  /// arrays leave. Sums that are cast to a narrower target are added up slab by slab if they do not
  /// fit as a whole. 0: no limit.
  Bytes budget = 0;
  /// The source may be overwritten: source and target share one buffer. An Error (kInfeasible) if a
  /// round of a plan does not allow it, see make_plan_in_place().
  bool in_place = false;
};

/// Builds the program of device `self`. All devices order the messages of a round alike: first
/// those that replace, then by distance, (to - from) mod devices, then by number. If a device
/// starts its sends in order and its receives in order, each as soon as staging for it is free, no
/// circle of devices can wait for each other. Round k of the program is round k of every array. An
/// Error (kInfeasible) if the budget is too small for what has to be staged between rounds.
Result<Program> make_program(const std::vector<Array>& arrays, Device self,
                             const ProgramOptions& options);

/// Bytes in staging between rounds, including sums that are still to be cast to a narrower target,
/// on the device that has most.
Bytes staged_bytes(const std::vector<Array>& arrays);

/// How a budget is used. It is the same on all devices, since sender and receiver must agree on the
/// sizes of messages: the device that stages most decides.
struct BudgetUse {
  Bytes staged = 0;   ///< see staged_bytes()
  Bytes needs = 0;    ///< the smallest budget that is enough
  Bytes message = 0;  ///< the longest message; four of them fit into what staging leaves
};
BudgetUse budget_use(const std::vector<Array>& arrays, Bytes budget);

/// The cheapest plan found that fits into the budget; 0: no limit. Costs include that messages are
/// cut to fit. If no plan fits, an Error (kInfeasible) tells about the smallest budget that is
/// enough.
Result<Plan> make_plan_within(const Problem& problem, const PlannerOptions& options, Bytes budget);

/// The cheapest plan found whose rounds can all run in place, within the budget; 0: no limit. An
/// Error (kInfeasible) tells why there is none.
Result<Plan> make_plan_in_place(const Problem& problem, const PlannerOptions& options,
                                Bytes budget = 0);

}  // namespace weft::reshard::execute
