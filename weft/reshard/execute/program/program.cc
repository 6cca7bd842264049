// SPDX-License-Identifier: Apache-2.0
// Builds programs, for all arrays together:
//
// 1. Each plan becomes a route: the layouts that the array passes through, with the turns in which
//    data moves (placement.h).
// 2. The budget is divided between staging and messages (budget.h). All devices get the same
//    result, because it depends only on layouts.
// 3. For each hop of a route, the device looks up where its parts lie before and after the hop. It
//    adds local moves, and regions of messages (ProgramBuilder).
// 4. The regions for each peer are cut into messages (peer_regions.h).
#include "weft/reshard/execute/program/program.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/host/ends.h"
#include "weft/reshard/execute/program/budget.h"
#include "weft/reshard/execute/program/fingerprint.h"
#include "weft/reshard/execute/program/in_place.h"
#include "weft/reshard/execute/program/peer_regions.h"
#include "weft/reshard/execute/program/placement.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/search/joint.h"

namespace weft::reshard::execute {
namespace {

using Where = Placement::Where;

void append(std::vector<Region> more, std::vector<Region>& regions) {
  for (Region& region : more) regions.push_back(std::move(region));
}

/// Builds what one device does for one array.
class ProgramBuilder {
 public:
  /// `joint[hop]`: the pieces that move in this hop, if several arrays choose their senders
  /// together. Null: this array chooses its own senders. `sums`: where sums that are cast to a
  /// narrower type are added up.
  ProgramBuilder(const Route& route, const Placements& placements, Device self, std::int32_t array,
                 const std::vector<std::vector<Piece>>* joint, const SlabSums& sums)
      : route_(route),
        placements_(placements),
        self_(self),
        array_(array),
        joint_(joint),
        sums_(sums) {}

  /// Adds what the device does for this array to each turn. `staging`: number of the staging
  /// buffer.
  void write(std::int32_t staging, std::vector<Turn>& turns,
             std::vector<PeerRegions>& peer_regions) {
    staging_ = staging;
    OverlapCache overlaps(route_.problem->node_of);
    for (std::size_t hop = 0; hop < route_.hops.size(); ++hop) {
      if (route_.turn[hop] == Route::kNoTurn) continue;
      const std::vector<Piece> pieces =
          joint_ != nullptr
              ? (*joint_)[hop]
              : pieces_of(self_, *route_.layouts[hop], *route_.layouts[hop + 1], overlaps);
      if (!sums_.slabs) {
        write_moves(hop, turns[route_.turn[hop]]);
        write_messages(hop, pieces, peer_regions[route_.turn[hop]]);
        continue;
      }
      // With slabs there is exactly one hop. It takes one turn per slab.
      for (slab_ = 0; slab_ < sums_.slabs->count(); ++slab_) {
        write_moves(hop, turns[slab_]);
        write_messages(hop, pieces, peer_regions[slab_]);
        write_staged_cast(turns[slab_]);
      }
    }
  }

  /// Adds the regions of a partial target for which the device holds no data. They will be filled
  /// with neutral elements.
  void write_neutral(std::vector<Region>& neutral) const {
    const Layout &target = route_.problem->target, &last = *route_.last;
    if (!target.partial() || !target.holds(self_)) return;
    const Storage storage = storage_of({self_, Where::kTarget, 0, self_, 0});
    if (!last.holds(self_)) {
      append(agreed_regions(route_, storage, storage.dims, {}), neutral);
      return;
    }
    // Fill the complement of a box. For each dimension, split off the part outside of the box in
    // this dimension. Continue with the rest in the next dimension.
    std::vector<Strips> dims = storage.dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Strips inside = intersect(dims[i], last.cuts[i]->piece(self_));
      dims[i] = without(dims[i], inside);
      append(agreed_regions(route_, storage, dims, {}), neutral);
      dims[i] = inside;
    }
  }

  /// Whether the parts that end up in the target buffer cover all of it.
  bool complete() const {
    std::int64_t lacking = 0;
    const Layout& target = route_.problem->target;
    for (Part part = 0; part < target.parts(); ++part) {
      if (target.device_of(part) == self_ && target.holds(part)) lacking += target.elements(part);
    }
    for (const Placement& placement : placements_.of_layout.back()) {
      if (placement.where == Where::kTarget)
        lacking -= route_.layouts.back()->elements(placement.part);
    }
    return target.partial() || lacking == 0;
  }

 private:
  static Strips without(const Strips& whole, const Strips& part) {
    Strips rest;
    for (const Interval& strip : whole) {
      std::int64_t low = strip.low;
      for (const Interval& hole : part) {
        if (hole.low < strip.low || hole.high > strip.high) continue;
        rest.push_back({low, hole.low});
        low = hole.high;
      }
      rest.push_back({low, strip.high});
    }
    return strips_of(std::move(rest));
  }

  Storage storage_of(const Placement& placement) const {
    const Problem& problem = *route_.problem;
    const Bytes item = problem.item_size;
    switch (placement.where) {
      case Where::kSource:
        return {2 * array_,
                array_,
                elements_before(problem.source, placement.stored) * item,
                item,
                problem.source.region(placement.stored),
                casts_source()};
      case Where::kTarget:
        if (sums_.slabs) {
          return {staging_, array_, sums_.offset, item,
                  sums_.slabs->of(problem.target, placement.stored, slab_)};
        }
        return {2 * array_ + 1, array_, elements_before(problem.target, placement.stored) * item,
                item, problem.target.region(placement.stored)};
      case Where::kStaging:
        break;
    }
    return {staging_, array_, placements_.blocks[placement.block].offset, item,
            route_.layouts[placement.layout]->region(placement.stored)};
  }

  void write_moves(std::size_t hop, Turn& turn) const {
    for (const Placement& to : placements_.of_layout[hop + 1]) {
      if (!route_.contributes(hop, self_, to.part)) continue;
      for (const Placement& from : placements_.of_layout[hop]) {
        // A view is a part that shares the memory of another part, so nothing has to move.
        if (from.where == to.where && from.where != Where::kStaging) continue;
        if (from.where == to.where && from.block == to.block) continue;
        const std::vector<Strips> dims = shared(hop, from.part, to.part);
        const auto before = agreed_regions(route_, storage_of(from), dims, {self_});
        const auto after = agreed_regions(route_, storage_of(to), dims, {self_});
        for (std::size_t i = 0; i < before.size(); ++i) {
          turn.moves.push_back({joined(before[i]), joined(after[i])});
        }
      }
    }
  }

  /// Whether the source is cast while it is read.
  bool casts_source() const { return source_item(*route_.problem) != route_.problem->item_size; }

  /// Where the device stores the part that has the same region and group as `part`. Several devices
  /// may hold equal parts, but Piece::from_part names only the first of these parts.
  const Placement& placement_like(std::size_t hop, Part part) const {
    const Layout& layout = *route_.layouts[hop];
    const auto& placements = placements_.of_layout[hop];
    const auto found =
        std::find_if(placements.begin(), placements.end(), [&](const Placement& placement) {
          return std::all_of(layout.cuts.begin(), layout.cuts.end(), [&](const auto& cut) {
            return cut->slot_of[placement.part] == cut->slot_of[part];
          });
        });
    WEFT_CHECK(found != placements.end());
    return *found;
  }

  /// The box that both parts have in common, restricted to the current slab if there are slabs.
  std::vector<Strips> shared(std::size_t hop, Part from, Part to) const {
    std::vector<Strips> dims =
        shared_region(*route_.layouts[hop], from, *route_.layouts[hop + 1], to);
    if (!sums_.slabs) return dims;
    const std::vector<Strips> slab = sums_.slabs->of(route_.problem->target, to, slab_);
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = intersect(dims[i], slab[i]);
    return dims;
  }

  /// Casts the complete sums of the slab into the target.
  void write_staged_cast(Turn& turn) const {
    const Problem& problem = *route_.problem;
    if (!problem.target.holds(self_)) return;
    const Storage sums = storage_of({self_, Where::kTarget, 0, self_, 0});
    const Storage target{2 * array_ + 1, array_, 0, problem.item_size,
                         problem.target.region(self_)};
    StagedCast staged_cast{array_, sums.offset, problem.item_size, {}};
    for (const Strips& strips : sums.dims) staged_cast.bytes *= length(strips);
    const auto from = agreed_regions(route_, sums, sums.dims, {self_});
    const auto to = agreed_regions(route_, target, sums.dims, {self_});
    for (std::size_t i = 0; i < to.size(); ++i) {
      staged_cast.casts.push_back({joined(from[i]), joined(to[i])});
    }
    if (!staged_cast.casts.empty()) turn.staged_casts.push_back(std::move(staged_cast));
  }

  void write_messages(std::size_t hop, const std::vector<Piece>& pieces,
                      PeerRegions& peer_regions) const {
    const Layout& to = *route_.layouts[hop + 1];
    for (const Piece& piece : pieces) {
      const bool send = piece.from == self_;
      if (!send && piece.to != self_) continue;
      const Placement* placement = send ? &placement_like(hop, piece.from_part) : nullptr;
      for (const Placement& mine : placements_.of_layout[hop + 1]) {
        if (!send && mine.part == piece.to_part) placement = &mine;
      }
      const std::vector<Strips> dims = shared(hop, piece.from_part, piece.to_part);
      const std::vector<Device> both{piece.from, piece.to};
      std::vector<Region> regions = agreed_regions(route_, storage_of(*placement), dims, both);
      // If elements are cast or divided into slabs, the bytes that are sent differ from the bytes
      // in the other device's buffer.
      const bool direct = !casts_source() && !sums_.slabs && regions.size() == 1 &&
                          regions[0].dense() && lies_dense(route_, dims, both);
      if (direct) regions[0].direct = true;
      append(std::move(regions), peer_regions[message_key(piece, self_, to.devices())]);
    }
  }

  const Route& route_;
  const Placements& placements_;
  Device self_;
  std::int32_t array_;
  const std::vector<std::vector<Piece>>* joint_;
  const SlabSums& sums_;
  std::int64_t slab_ = 0;
  std::int32_t staging_ = 0;
};

/// Sets what the caller left out about an array that is cast or reduced. The values come from the
/// problem.
Status complete(const Problem& problem, Elements& elements) {
  if (problem.cast) {
    // If the two types differ but have the same size, the cast happens at the end.
    const bool at_the_start = problem.item_size != problem.cast->from_size;
    elements.type = at_the_start ? problem.cast->to : problem.cast->from;
    elements.source = at_the_start ? problem.cast->from : "";
    elements.target = at_the_start ? "" : problem.cast->to;
  }
  if (!problem.source.partial() && !problem.target.partial()) return {};
  if (elements.reduction.empty()) elements.reduction = problem.reduction;
  if (elements.reduction.empty()) elements.reduction = "sum";
  if (elements.reduction == "avg") {
    elements.times = problem.target.groups;
    elements.over = problem.source.groups;
  }
  const Bytes size = item_size(elements.type);
  if (size == 0 || size == problem.item_size) return {};
  return fail(ErrorCode::kUsage, "the array has elements of " + std::to_string(problem.item_size) +
                                     " bytes, but type '" + elements.type + "' has " +
                                     std::to_string(size));
}

/// The pieces of all arrays, with senders chosen together. Empty if choosing together makes no
/// difference.
JointPieces balanced(const std::vector<Route>& routes) {
  if (routes.size() < 2) return {};
  std::vector<ArrayRoute> array_routes;
  for (const Route& route : routes) {
    array_routes.push_back({route.problem, route.layouts, route.turn});
  }
  return has_sender_choice(array_routes) ? joint_pieces(array_routes) : JointPieces{};
}

Status check(const std::vector<Array>& arrays, Device self) {
  for (const Array& array : arrays) {
    if (array.problem->devices != arrays[0].problem->devices) {
      return fail(ErrorCode::kUsage, "all arrays of one program must have the same devices");
    }
    if (array.problem->cast) {
      WEFT_TRY(conversion(array.problem->cast->from, array.problem->cast->to));
    }
    if (self < 0 || self >= array.problem->source.devices()) {
      return fail(ErrorCode::kUsage, "device " + std::to_string(self) + " is not one of the " +
                                         std::to_string(array.problem->source.devices()) +
                                         " devices of the array");
    }
  }
  return {};
}

}  // namespace

Result<Program> make_program(const std::vector<Array>& arrays, Device self,
                             const ProgramOptions& options) {
  WEFT_TRY(check(arrays, self));
  if (options.in_place) {
    WEFT_ASSIGN(std::vector<Program> programs, make_programs_in_place(arrays, {self}, options));
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      WEFT_TRY(complete(*arrays[i].problem, programs[0].elements[i]));
    }
    return std::move(programs[0]);
  }
  Program program;
  program.self = self;
  program.fingerprint = fingerprint(arrays, options);
  const std::vector<Route> routes = routes_of(arrays);
  WEFT_ASSIGN(const ProgramBudget use, program_budget(routes, options.budget));
  const Bytes limit = program.message_limit = use.message;
  std::int32_t turns = 0;
  std::vector<Placements> placements = placements_of(routes, self);
  Bytes staging = arrange(placements);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const SlabSums& sums = use.sums[i];
    turns = std::max(turns, routes[i].turns);
    if (!sums.slabs) continue;
    turns = std::max(turns, static_cast<std::int32_t>(sums.slabs->count()));
    staging =
        std::max(staging, sums.offset + sums.slabs->elements() * routes[i].problem->item_size);
  }
  program.turns.resize(turns);
  std::vector<PeerRegions> peer_regions(turns);
  const JointPieces joint = balanced(routes);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Problem& problem = *arrays[i].problem;
    ProgramBuilder builder(routes[i], placements[i], self, static_cast<std::int32_t>(i),
                           joint.empty() ? nullptr : &joint[i], use.sums[i]);
    if (!builder.complete()) {
      return fail(ErrorCode::kInfeasible, "the plan does not end in the target layout");
    }
    builder.write(static_cast<std::int32_t>(2 * arrays.size()), program.turns, peer_regions);
    builder.write_neutral(program.neutral);
    program.buffers.push_back(bytes_of(problem.source, self, problem.item_size));
    program.buffers.push_back(bytes_of(problem.target, self, problem.item_size));
    program.elements.push_back(arrays[i].elements);
    WEFT_TRY(complete(problem, program.elements[i]));
    program.elements[i].by_slabs = use.sums[i].slabs.has_value();
  }
  program.buffers.push_back(staging);
  if (options.budget > 0) program.message_budget = options.budget - staging - cast_bytes(program);
  for (Region& region : program.neutral) region = joined(std::move(region));
  WEFT_TRY(check_count(peer_regions, limit, options.budget));
  for (std::int32_t i = 0; i < turns; ++i) write_messages(peer_regions[i], limit, program.turns[i]);
  return program;
}

}  // namespace weft::reshard::execute
