// SPDX-License-Identifier: Apache-2.0
// Divides the axes of meshes into prime factors. An axis covers a range of strides of the position:
// from its stride to stride * radix. Each boundary of such a range, for any axis or sub-axis, must
// be a boundary between digits. So factor() has these steps:
//   1. Collect the boundaries of the two ends, jointly if both meshes list the same devices.
//   2. Divide each interval between neighbouring boundaries into prime digits.
//   3. If two digits have equal values on all devices, give them the same number, even if they
//      belong to different meshes.
//   4. Write both shardings with these numbers.
#include "weft/reshard/search/factors.h"

#include <algorithm>
#include <set>

namespace weft::reshard {
namespace {

/// The most factors that the two sides may have together. Two meshes of 2^20 devices have at most
/// 40.
constexpr std::size_t kMostFactors = 64;

/// The boundaries between digits that a mesh and a sharding need, as strides from 1 to the number
/// of devices.
std::set<std::int64_t> boundaries(const Sharding& sharding) {
  std::set<std::int64_t> strides{1, sharding.mesh.size()};
  const auto add = [&](const Axis& axis) {
    strides.insert(axis.stride);
    strides.insert(axis.stride * axis.radix);
  };
  for (const Axis& axis : sharding.mesh.axes) add(axis);
  for (const auto& axes : sharding.dims) {
    for (const Axis& axis : axes) add(axis);
  }
  for (const Axis& axis : sharding.partial) add(axis);
  return strides;
}

bool each_divides_the_next(const std::set<std::int64_t>& strides) {
  std::int64_t last = 1;
  for (const std::int64_t stride : strides) {
    if (stride % last != 0) return false;
    last = stride;
  }
  return true;
}

/// The prime digits between the boundaries, most significant first.
std::vector<Axis> prime_digits(const std::set<std::int64_t>& strides) {
  std::vector<Axis> digits;
  for (auto at = strides.begin(); std::next(at) != strides.end(); ++at) {
    std::int64_t stride = *at, rest = *std::next(at) / *at;
    for (std::int64_t prime = 2; rest > 1; ++prime) {
      if (prime * prime > rest) prime = rest;
      for (; rest % prime == 0; rest /= prime, stride *= prime) {
        digits.push_back({"", stride, prime});
      }
    }
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// One mesh: its prime digits, and the factor of each digit.
struct Side {
  std::vector<Axis> digits;
  FactorList number;

  /// The factors of an axis, most significant first.
  void append(const Axis& axis, FactorList& list) const {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (digits[i].stride >= axis.stride && digits[i].stride < axis.stride * axis.radix) {
        list.push_back(number[i]);
      }
    }
  }
  Type type(const Sharding& sharding, std::uint8_t side) const {
    Type type;
    type.side = side;
    for (const auto& axes : sharding.dims) {
      type.dims.emplace_back();
      for (const Axis& axis : axes) append(axis, type.dims.back());
    }
    type.frames.resize(type.dims.size());
    for (const Axis& axis : sharding.partial) append(axis, type.partial);
    return type;
  }
};

/// Whether devices of a mesh that differ only in this digit are on one node.
bool within_node(const Axis& axis, const std::vector<Device>& devices,
                 const std::vector<std::int32_t>& node_of) {
  for (std::size_t position = 0; position < devices.size(); ++position) {
    const std::int64_t digit = axis.digit(static_cast<std::int64_t>(position));
    const auto first = position - static_cast<std::size_t>(digit * axis.stride);
    if (node_of[devices[position]] != node_of[devices[first]]) return false;
  }
  return true;
}

/// Indexed by device: the value of the digit on this device; kAbsent if the device is not in the
/// mesh.
std::vector<std::int32_t> digit_of_devices(const Axis& axis, const std::vector<Device>& devices,
                                           std::size_t universe) {
  std::vector<std::int32_t> digit(universe, Layout::kAbsent);
  for (std::size_t position = 0; position < devices.size(); ++position) {
    digit[devices[position]] =
        static_cast<std::int32_t>(axis.digit(static_cast<std::int64_t>(position)));
  }
  return digit;
}

}  // namespace

FactorList unused(const Factors& factors, const Type& type) {
  FactorList free;
  for (const Factor factor : factors.sides[type.side]) {
    const auto used = [&](const FactorList& list) { return list.has(factor); };
    if (!used(type.partial) && std::none_of(type.dims.begin(), type.dims.end(), used)) {
      free.push_back(factor);
    }
  }
  return free;
}

std::int64_t divisor(const Factors& factors, const FactorList& list, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < list.size(); ++i) product *= factors.radix[list[i]];
  return product;
}

FactorList common(const FactorList& list, const FactorList& others) {
  FactorList both;
  for (const Factor factor : list) {
    if (others.has(factor)) both.push_back(factor);
  }
  return both;
}

std::optional<FactoredProblem> factor(const Problem& problem) {
  if (!problem.source_type || !problem.target_type) return std::nullopt;
  const Sharding* ends[2] = {&*problem.source_type, &*problem.target_type};
  std::set<std::int64_t> strides[2] = {boundaries(*ends[0]), boundaries(*ends[1])};
  // With joint boundaries, the two ends share factors even if their axes differ. Joint boundaries
  // may fail to divide each other, as those of meshes 2 x 3 and 3 x 2 do. Then each end keeps its
  // own boundaries.
  if (ends[0]->mesh.devices == ends[1]->mesh.devices) {
    std::set<std::int64_t> both = strides[0];
    both.insert(strides[1].begin(), strides[1].end());
    if (each_divides_the_next(both)) strides[0] = strides[1] = both;
  }
  FactoredProblem factored;
  Factors& factors = factored.factors;
  Side sides[2];
  for (int i = 0; i < 2; ++i) {
    if (!each_divides_the_next(strides[i])) return std::nullopt;
    sides[i].digits = prime_digits(strides[i]);
    const std::vector<Device> devices = dense(problem.devices, ends[i]->mesh.devices);
    for (const Axis& digit : sides[i].digits) {
      auto values = digit_of_devices(digit, devices, problem.devices.size());
      const auto known = std::find(factors.digit.begin(), factors.digit.end(), values);
      const auto number = static_cast<std::size_t>(known - factors.digit.begin());
      if (number == kMostFactors) return std::nullopt;
      sides[i].number.push_back(static_cast<Factor>(number));
      if (known != factors.digit.end()) continue;
      if (!problem.node_of.empty() && within_node(digit, devices, problem.node_of)) {
        factors.intra_node.push_back(static_cast<Factor>(number));
      }
      factors.digit.push_back(std::move(values));
      factors.radix.push_back(static_cast<std::int32_t>(digit.radix));
    }
    factors.sides[i] = sides[i].number;
  }
  const auto sorted = [](auto list) {
    std::sort(list.begin(), list.end());
    return list;
  };
  factors.same_sides = sorted(factors.sides[0]) == sorted(factors.sides[1]) &&
                       sorted(ends[0]->mesh.devices) == sorted(ends[1]->mesh.devices);
  factored.from = sides[0].type(*ends[0], 0);
  factored.to = sides[1].type(*ends[1], factors.same_sides ? 0 : 1);
  return factored;
}

}  // namespace weft::reshard
