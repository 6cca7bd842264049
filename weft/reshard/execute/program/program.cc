// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/program.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "weft/base/check.h"
#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/host/ends.h"
#include "weft/reshard/execute/program/budget.h"
#include "weft/reshard/execute/program/fingerprint.h"
#include "weft/reshard/execute/program/homes.h"
#include "weft/reshard/execute/program/in_place.h"
#include "weft/reshard/execute/program/mail.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/search/joint.h"

namespace weft::reshard::execute {
namespace {

using Where = Home::Where;

void append(std::vector<Region> more, std::vector<Region>& regions) {
  for (Region& region : more) regions.push_back(std::move(region));
}

/// What a device does for one array.
class Author {
 public:
  /// `joint`: pieces by way, of several arrays that are balanced together; null: this one alone.
  /// `sums`: how they are added up.
  Author(const Course& course, const Homes& homes, Device self, std::int32_t array,
         const std::vector<std::vector<Piece>>* joint, const SlabSums& sums)
      : course_(course), homes_(homes), self_(self), array_(array), joint_(joint), sums_(sums) {}

  /// Adds the array's part of each turn. `staging`: number of that buffer.
  void write(std::int32_t staging, std::vector<Turn>& turns, std::vector<Mail>& mail) {
    staging_ = staging;
    Meetings meetings(course_.problem->node_of);
    for (std::size_t way = 0; way < course_.ways.size(); ++way) {
      if (course_.turn[way] == Course::kNoTurn) continue;
      const std::vector<Piece> pieces =
          joint_ != nullptr
              ? (*joint_)[way]
              : pieces_of(self_, *course_.layouts[way], *course_.layouts[way + 1], meetings);
      if (!sums_.slabs) {
        write_moves(way, turns[course_.turn[way]]);
        write_messages(way, pieces, mail[course_.turn[way]]);
        continue;
      }
      // One way, a turn a slab.
      for (slab_ = 0; slab_ < sums_.slabs->count(); ++slab_) {
        write_moves(way, turns[slab_]);
        write_messages(way, pieces, mail[slab_]);
        write_settlement(turns[slab_]);
      }
    }
  }

  /// The rest of the summand of a partial target.
  void write_neutral(std::vector<Region>& neutral) const {
    const Layout &target = course_.problem->target, &last = *course_.last;
    if (!target.partial() || !target.holds(self_)) return;
    const Place place = place_of({self_, Where::kTarget, 0, self_, 0});
    if (!last.holds(self_)) {
      append(agreed_regions(course_, place, place.dims, {}), neutral);
      return;
    }
    // All outside in one dimension, then outside in the next of what is inside in it.
    std::vector<Strips> dims = place.dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Strips inside = intersect(dims[i], last.cuts[i]->piece(self_));
      dims[i] = without(dims[i], inside);
      append(agreed_regions(course_, place, dims, {}), neutral);
      dims[i] = inside;
    }
  }

  /// Whether the parts that end up in the target buffer are all of it.
  bool complete() const {
    std::int64_t lacking = 0;
    const Layout& target = course_.problem->target;
    for (Part part = 0; part < target.parts(); ++part) {
      if (target.device_of(part) == self_ && target.holds(part)) lacking += target.elements(part);
    }
    for (const Home& home : homes_.of_layout.back()) {
      if (home.where == Where::kTarget) lacking -= course_.layouts.back()->elements(home.part);
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

  Place place_of(const Home& home) const {
    const Problem& problem = *course_.problem;
    const Bytes item = problem.item_size;
    switch (home.where) {
      case Where::kSource:
        return {2 * array_,
                array_,
                elements_before(problem.source, home.held) * item,
                item,
                problem.source.region(home.held),
                casts_source()};
      case Where::kTarget:
        if (sums_.slabs) {
          return {staging_, array_, sums_.offset, item,
                  sums_.slabs->of(problem.target, home.held, slab_)};
        }
        return {2 * array_ + 1, array_, elements_before(problem.target, home.held) * item, item,
                problem.target.region(home.held)};
      case Where::kStaging:
        break;
    }
    return {staging_, array_, homes_.blocks[home.block].offset, item,
            course_.layouts[home.layout]->region(home.held)};
  }

  void write_moves(std::size_t way, Turn& turn) const {
    for (const Home& to : homes_.of_layout[way + 1]) {
      if (!course_.carries_on(way, self_, to.part)) continue;
      for (const Home& from : homes_.of_layout[way]) {
        if (from.where == to.where && from.where != Where::kStaging) continue;
        if (from.where == to.where && from.block == to.block) continue;
        const std::vector<Strips> dims = shared(way, from.part, to.part);
        const auto before = agreed_regions(course_, place_of(from), dims, {self_});
        const auto after = agreed_regions(course_, place_of(to), dims, {self_});
        for (std::size_t i = 0; i < before.size(); ++i) {
          turn.moves.push_back({joined(before[i]), joined(after[i])});
        }
      }
    }
  }

  /// Whether the source is cast as it is read.
  bool casts_source() const { return source_item(*course_.problem) != course_.problem->item_size; }

  /// The device's own part that has the region and group of `part`.
  const Home& home_like(std::size_t way, Part part) const {
    const Layout& layout = *course_.layouts[way];
    const auto& homes = homes_.of_layout[way];
    const auto found = std::find_if(homes.begin(), homes.end(), [&](const Home& home) {
      return std::all_of(layout.cuts.begin(), layout.cuts.end(), [&](const auto& cut) {
        return cut->slot_of[home.part] == cut->slot_of[part];
      });
    });
    WEFT_CHECK(found != homes.end());
    return *found;
  }

  /// That both parts have, of the slab where there are some.
  std::vector<Strips> shared(std::size_t way, Part from, Part to) const {
    std::vector<Strips> dims =
        shared_region(*course_.layouts[way], from, *course_.layouts[way + 1], to);
    if (!sums_.slabs) return dims;
    const std::vector<Strips> slab = sums_.slabs->of(course_.problem->target, to, slab_);
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = intersect(dims[i], slab[i]);
    return dims;
  }

  /// The sums of the slab, which are complete, go to the target.
  void write_settlement(Turn& turn) const {
    const Problem& problem = *course_.problem;
    if (!problem.target.holds(self_)) return;
    const Place sums = place_of({self_, Where::kTarget, 0, self_, 0});
    const Place target{2 * array_ + 1, array_, 0, problem.item_size, problem.target.region(self_)};
    Settlement settlement{array_, sums.offset, problem.item_size, {}};
    for (const Strips& strips : sums.dims) settlement.bytes *= length(strips);
    const auto from = agreed_regions(course_, sums, sums.dims, {self_});
    const auto to = agreed_regions(course_, target, sums.dims, {self_});
    for (std::size_t i = 0; i < to.size(); ++i) {
      settlement.casts.push_back({joined(from[i]), joined(to[i])});
    }
    if (!settlement.casts.empty()) turn.settlements.push_back(std::move(settlement));
  }

  void write_messages(std::size_t way, const std::vector<Piece>& pieces, Mail& mail) const {
    const Layout& to = *course_.layouts[way + 1];
    for (const Piece& piece : pieces) {
      const bool send = piece.from == self_;
      if (!send && piece.to != self_) continue;
      const Home* home = send ? &home_like(way, piece.from_part) : nullptr;
      for (const Home& mine : homes_.of_layout[way + 1]) {
        if (!send && mine.part == piece.to_part) home = &mine;
      }
      const std::vector<Strips> dims = shared(way, piece.from_part, piece.to_part);
      const std::vector<Device> both{piece.from, piece.to};
      std::vector<Region> regions = agreed_regions(course_, place_of(*home), dims, both);
      const bool direct = !casts_source() && !sums_.slabs && regions.size() == 1 &&
                          regions[0].dense() && lies_dense(course_, dims, both);
      if (direct) regions[0].direct = true;
      append(std::move(regions), mail[address_of(piece, self_, to.devices())]);
    }
  }

  const Course& course_;
  const Homes& homes_;
  Device self_;
  std::int32_t array_;
  const std::vector<std::vector<Piece>>* joint_;
  const SlabSums& sums_;
  std::int64_t slab_ = 0;
  std::int32_t staging_ = 0;
};

/// Takes from the problem what the caller left out of an array that is cast, or added up somewhere.
Status complete(const Problem& problem, Elements& elements) {
  if (problem.cast) {
    // Sizes may be equal and types not: then it is cast at the end.
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
  return fail(ErrorCode::kUsage, "elements of " + std::to_string(problem.item_size) +
                                     " bytes are said to be of type '" + elements.type +
                                     "', which has " + std::to_string(size));
}

/// What moves of all arrays, where it matters who sends; else empty.
JointPieces balanced(const std::vector<Course>& courses) {
  if (courses.size() < 2) return {};
  std::vector<Passage> passages;
  for (const Course& course : courses) {
    passages.push_back({course.problem, course.layouts, course.turn});
  }
  return senders_to_choose(passages) ? joint_pieces(passages) : JointPieces{};
}

Status check(const std::vector<Array>& arrays, Device self) {
  for (const Array& array : arrays) {
    if (array.problem->devices != arrays[0].problem->devices) {
      return fail(ErrorCode::kUsage, "arrays of one program must share their devices");
    }
    if (array.problem->cast) {
      WEFT_TRY(conversion(array.problem->cast->from, array.problem->cast->to));
    }
    if (self < 0 || self >= array.problem->source.devices()) {
      return fail(ErrorCode::kUsage, "device " + std::to_string(self) + " is none of " +
                                         std::to_string(array.problem->source.devices()));
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
  const std::vector<Course> courses = courses_of(arrays);
  WEFT_ASSIGN(const Shares share, shares_of(courses, options.budget));
  const Bytes limit = program.message_limit = share.message;
  std::int32_t turns = 0;
  std::vector<Homes> homes = homes_of(courses, self);
  Bytes staging = arrange(homes);
  for (std::size_t i = 0; i < courses.size(); ++i) {
    const SlabSums& sums = share.sums[i];
    turns = std::max(turns, courses[i].turns);
    if (!sums.slabs) continue;
    turns = std::max(turns, static_cast<std::int32_t>(sums.slabs->count()));
    staging =
        std::max(staging, sums.offset + sums.slabs->elements() * courses[i].problem->item_size);
  }
  program.turns.resize(turns);
  std::vector<Mail> mail(turns);
  const JointPieces joint = balanced(courses);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Problem& problem = *arrays[i].problem;
    Author author(courses[i], homes[i], self, static_cast<std::int32_t>(i),
                  joint.empty() ? nullptr : &joint[i], share.sums[i]);
    if (!author.complete()) {
      return fail(ErrorCode::kInfeasible, "the plan does not lead to the target");
    }
    author.write(static_cast<std::int32_t>(2 * arrays.size()), program.turns, mail);
    author.write_neutral(program.neutral);
    program.buffers.push_back(bytes_of(problem.source, self, problem.item_size));
    program.buffers.push_back(bytes_of(problem.target, self, problem.item_size));
    program.elements.push_back(arrays[i].elements);
    WEFT_TRY(complete(problem, program.elements[i]));
    program.elements[i].by_slabs = share.sums[i].slabs.has_value();
  }
  program.buffers.push_back(staging);
  if (options.budget > 0) program.message_budget = options.budget - staging - cast_bytes(program);
  for (Region& region : program.neutral) region = joined(std::move(region));
  WEFT_TRY(check_count(mail, limit, options.budget));
  for (std::int32_t i = 0; i < turns; ++i) write_messages(mail[i], limit, program.turns[i]);
  return program;
}

}  // namespace weft::reshard::execute
