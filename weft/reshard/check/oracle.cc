// SPDX-License-Identifier: Apache-2.0
// The check of replay.h that works element by element. It is written as plainly as possible,
// because other code is checked against it. Every device has an array of the whole shape. Transfers
// copy or add numbers one by one. The result is compared with the expected sum.
#include <numeric>
#include <string>

#include "weft/reshard/check/replay.h"

namespace weft::reshard {
namespace {

using Numbers = std::vector<std::uint64_t>;  ///< sums are exact modulo 2^64

/// A pseudo-random number for a summand of an element. If a wrong summand or element is added, the
/// sum is wrong too, except with negligible probability.
std::uint64_t number_of(std::uint64_t summand, std::uint64_t element) {
  std::uint64_t mixed = (summand + 1) * 0x9E3779B97F4A7C15u ^ (element + 1) * 0xC2B2AE3D27D4EB4Fu;
  mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
  return mixed ^ (mixed >> 32);
}

template <class Take>
void for_each_element(const Shape& shape, const Box& box, const Take& take) {
  if (volume(box) == 0) return;
  std::vector<std::int64_t> at;
  for (const Interval& side : box) at.push_back(side.low);
  for (;;) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) index = index * shape[i] + at[i];
    take(static_cast<std::size_t>(index));
    std::size_t dim = at.size();
    while (dim > 0 && ++at[dim - 1] == box[dim - 1].high) {
      --dim;
      at[dim] = box[dim].low;
    }
    if (dim == 0) return;
  }
}

template <class Take>
void for_each_element(const Layout& layout, Device device, const Take& take) {
  for (Part part = 0; part < layout.parts(); ++part) {
    if (layout.device_of(part) != device || !layout.holds(part)) continue;
    for_each_box(layout.region(part),
                 [&](const Box& box) { for_each_element(layout.shape, box, take); });
  }
}

void apply(const Shape& shape, const Round& round, std::vector<Numbers>& arrays) {
  const std::vector<Numbers> before = arrays;
  for (const bool add : {false, true}) {
    for (const Transfer& transfer : round) {
      if (transfer.add != add) continue;
      for_each_element(shape, transfer.box, [&](std::size_t i) {
        std::uint64_t& number = arrays[transfer.to][i];
        number = before[transfer.from][i] + (add ? number : 0);
      });
    }
  }
}

}  // namespace

bool small_enough(const Problem& problem) {
  return elements(problem.shape) <= kMostOracleNumbers / problem.source.devices();
}

Status run_oracle(const Problem& problem, const std::vector<Round>& rounds, const Layout& last) {
  const auto count = static_cast<std::size_t>(elements(problem.shape));
  const Layout &source = problem.source, &target = problem.target;
  Numbers expected(count, 0);
  std::vector<Numbers> arrays(source.devices(), Numbers(count));
  for (Device device = 0; device < source.devices(); ++device) {
    for (std::size_t i = 0; i < count; ++i) {  // garbage where the device holds nothing
      arrays[device][i] = number_of(1u << 20, i + static_cast<std::size_t>(device) * count);
    }
  }
  for (std::size_t summand = 0; summand < source.group_of_summand.size(); ++summand) {
    for (std::size_t i = 0; i < count; ++i) expected[i] += number_of(summand, i);
  }
  for (Device device = 0; device < source.devices(); ++device) {
    for_each_element(source, device, [&](std::size_t i) {
      arrays[device][i] = 0;
      for (std::size_t summand = 0; summand < source.group_of_summand.size(); ++summand) {
        if (source.group_of_summand[summand] == source.group[device]) {
          arrays[device][i] += number_of(summand, i);
        }
      }
    });
  }
  for (const Round& round : rounds) apply(problem.shape, round, arrays);

  for (Device device = 0; device < target.devices(); ++device) {
    Numbers sum(count, 0);
    for (Device other = 0; other < target.devices(); ++other) {
      const bool adds =
          target.partial() ? target.team[other] == target.team[device] : other == device;
      if (!adds) continue;
      for_each_element(target.partial() ? last : target, other,
                       [&](std::size_t i) { sum[i] += arrays[other][i]; });
    }
    bool right = true;
    for_each_element(target, device,
                     [&](std::size_t i) { right = right && sum[i] == expected[i]; });
    if (!right) {
      return fail(ErrorCode::kInfeasible, "device " + std::to_string(device) +
                                              " ends with wrong values in its part of the target");
    }
  }
  return {};
}

}  // namespace weft::reshard
