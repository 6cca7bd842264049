// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/budget.h"

#include <algorithm>
#include <string>

namespace weft::reshard::execute {
namespace {

/// What rests in staging, on the device that needs most.
Bytes resting(const std::vector<Course>& courses) {
  const bool several_turns = std::any_of(courses.begin(), courses.end(),
                                         [](const Course& course) { return course.turns > 1; });
  if (!several_turns) return 0;
  Bytes most = 0;
  for (Device device = 0; device < courses[0].problem->source.devices(); ++device) {
    std::vector<Homes> homes = homes_of(courses, device);
    most = std::max(most, arrange(homes));
  }
  return most;
}

/// Bytes that sums take on any device until they become narrower, see ends.h.
Bytes casting(const Course& course) {
  const Problem& problem = *course.problem;
  if (target_item(problem) >= problem.item_size) return 0;
  Bytes most = 0;
  for (Device device = 0; device < problem.target.devices(); ++device) {
    most = std::max(most, bytes_of(problem.target, device, problem.item_size));
  }
  return most;
}

/// Whether its sums can be added up slab by slab: nothing but the source is read.
bool divides(const Course& course) {
  const Layout& target = course.problem->target;
  return course.ways.size() == 1 && !target.partial() && target.further.empty();
}

/// How all arrays add up what becomes narrower, in slabs of at most `most` bytes each, behind
/// `rests` bytes of staging, to which their own are added.
std::vector<SlabSums> slab_sums(const std::vector<Course>& courses, Bytes most, Bytes& rests) {
  std::vector<SlabSums> all(courses.size());
  for (std::size_t i = 0; i < courses.size(); ++i) {
    if (casting(courses[i]) == 0) continue;
    const Bytes item = courses[i].problem->item_size;
    constexpr Bytes kRestAlign = 16;
    all[i].slabs = Slabs(courses[i].problem->target, std::max<Bytes>(1, most / item));
    all[i].offset = (rests + kRestAlign - 1) / kRestAlign * kRestAlign;
    rests = all[i].offset + all[i].slabs->elements() * item;
  }
  return all;
}

Shares share_out(const std::vector<Course>& courses, Bytes budget) {
  Shares share;
  share.sums.resize(courses.size());
  Bytes item = 0, casts = 0;
  std::int64_t narrowing = 0;
  bool divisible = true;
  for (const Course& course : courses) {
    if (course.sends) item = std::max(item, course.problem->item_size);
    const Bytes cast = casting(course);
    if (cast == 0) continue;
    casts += cast;
    divisible = divisible && divides(course);
    ++narrowing;
  }
  const Bytes rests = resting(courses), messages = 4 * item;
  share.rests = rests + casts;
  share.needs = share.rests + messages;
  if (budget > 0 && share.needs > budget && narrowing > 0 && divisible) {
    Bytes least = rests;
    slab_sums(courses, 0, least);
    share.needs = std::min(share.needs, least + messages);
    // As much for sums as for messages, where those fit.
    const Bytes left = budget - rests;
    const Bytes most = std::min(left / 2, left - messages) / narrowing - (narrowing > 1 ? 16 : 0);
    share.rests = rests;
    share.sums = slab_sums(courses, most, share.rests);
  }
  share.message = std::max<Bytes>(0, budget - share.rests) / 4;
  return share;
}

/// Each slab is a turn of all devices.
Status check_slabs(const Shares& share, Bytes budget) {
  constexpr std::int64_t kMostSlabs = 1 << 16;
  for (const SlabSums& sums : share.sums) {
    if (!sums.slabs || sums.slabs->count() <= kMostSlabs) continue;
    return fail(ErrorCode::kInfeasible,
                "the budget divides sums that become narrower into " +
                    std::to_string(sums.slabs->count()) + " slabs; allow at least " +
                    std::to_string(budget * (sums.slabs->count() / kMostSlabs + 1)) + " bytes");
  }
  return {};
}

}  // namespace

Bytes bytes_of(const Layout& layout, Device device, Bytes item) {
  std::int64_t elements = layout.holds(device) ? layout.elements(device) : 0;
  for (Part part = layout.devices(); part < layout.parts(); ++part) {
    if (layout.device_of(part) == device && layout.holds(part)) elements += layout.elements(part);
  }
  return elements * item;
}

std::vector<Course> courses_of(const std::vector<Array>& arrays) {
  std::vector<Course> courses;
  for (const Array& array : arrays) courses.push_back(make_course(*array.problem, *array.plan));
  return courses;
}

std::vector<Homes> homes_of(const std::vector<Course>& courses, Device device) {
  std::vector<Homes> all;
  for (const Course& course : courses) all.push_back(find_homes(course, device));
  return all;
}

Bytes arrange(std::vector<Homes>& homes) {
  std::vector<Block*> blocks;
  for (Homes& item : homes) {
    for (Block& block : item.blocks) blocks.push_back(&block);
  }
  return arrange(blocks);
}

tl::unexpected<Error> too_little(const BudgetShare& share) {
  std::string what;
  if (share.rests > 0) {
    what = "the " + std::to_string(share.rests) + " bytes of a device that rest between rounds";
  }
  if (share.needs > share.rests) {
    what += std::string(what.empty() ? "" : " and ") + "four messages of an element each";
  }
  return fail(ErrorCode::kInfeasible, "the budget does not hold " + what + "; allow at least " +
                                          std::to_string(share.needs) + " bytes");
}

Result<Shares> shares_of(const std::vector<Course>& courses, Bytes budget) {
  if (budget == 0) {
    // What rests elsewhere is nobody's concern.
    Shares none;
    none.sums.resize(courses.size());
    return none;
  }
  Shares share = share_out(courses, budget);
  if (share.needs > budget) return too_little(share);
  WEFT_TRY(check_slabs(share, budget));
  return share;
}

Bytes resting_bytes(const std::vector<Array>& arrays) { return budget_share(arrays, 0).rests; }

BudgetShare budget_share(const std::vector<Array>& arrays, Bytes budget) {
  return share_out(courses_of(arrays), budget);
}

}  // namespace weft::reshard::execute
