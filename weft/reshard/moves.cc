// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/moves.h"

#include <algorithm>
#include <unordered_set>

namespace weft::reshard {
namespace {

bool has(const std::vector<Factor>& list, Factor factor) {
  return std::find(list.begin(), list.end(), factor) != list.end();
}

Type without(Type type, Factor factor) {
  std::erase(type.partial, factor);
  for (auto& list : type.dims) std::erase(list, factor);
  return type;
}

class Collector {
 public:
  explicit Collector(const Type& start) { seen_.insert(start.key()); }
  void add(Type type) {
    if (seen_.insert(type.key()).second) list_.push_back(std::move(type));
  }
  std::vector<Type> take() { return std::move(list_); }

 private:
  std::unordered_set<std::string> seen_;
  std::vector<Type> list_;
};

/// One factor to every other place: gathers, slices, all-to-alls, reduce-scatters.
void move_one(const Type& type, Factor factor, Collector& found) {
  const Type rest = without(type, factor);
  found.add(rest);
  for (std::size_t dim = 0; dim < rest.dims.size(); ++dim) {
    for (std::size_t at = 0; at <= rest.dims[dim].size(); ++at) {
      Type next = rest;
      next.dims[dim].insert(next.dims[dim].begin() + static_cast<std::ptrdiff_t>(at), factor);
      found.add(std::move(next));
    }
  }
}

/// Permutes of two factors, of which one may be unused.
void swap_two(const Type& type, Factor a, Factor b, Collector& found) {
  Type next = type;
  bool cuts = false;
  for (auto& list : next.dims) {
    for (Factor& factor : list) {
      if (factor != a && factor != b) continue;
      factor = factor == a ? b : a;
      cuts = true;
    }
  }
  if (cuts) found.add(std::move(next));
}

/// The target with some of its copies still cut.
void arrive(const FactoredProblem& factored, const Type& target, Collector& found) {
  found.add(target);
  const std::vector<Factor> free = unused(factored.factors, target);
  for (std::size_t dim = 0; dim < target.dims.size(); ++dim) {
    Type all = target;
    for (const Factor factor : free) {
      Type one = target;
      one.dims[dim].push_back(factor);
      found.add(std::move(one));
      all.dims[dim].push_back(factor);
      found.add(all);
    }
  }
}

}  // namespace

std::vector<Type> moves(const FactoredProblem& factored, const Type& type) {
  const Factors& factors = factored.factors;
  Collector found(type);
  Type target = factored.to;
  target.partial.clear();
  arrive(factored, target, found);
  if (!type.partial.empty()) {
    for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
      Type scattered = type;
      for (const Factor factor : type.partial) scattered.dims[dim].push_back(factor);
      scattered.partial.clear();
      found.add(std::move(scattered));
    }
  }
  const std::vector<Factor>& side = factors.sides[type.side];
  for (const Factor factor : side) {
    move_one(type, factor, found);
    if (has(type.partial, factor)) continue;
    for (const Factor other : side) {
      if (other > factor && !has(type.partial, other)) swap_two(type, factor, other, found);
    }
  }
  return found.take();
}

bool arrived(const FactoredProblem& factored, const Type& type) {
  const Type& target = factored.to;
  if (type.side != target.side) return false;
  const auto adds = [&](Factor factor) { return has(target.partial, factor); };
  if (!std::all_of(type.partial.begin(), type.partial.end(), adds)) return false;
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    const std::vector<Factor>&list = type.dims[dim], &wanted = target.dims[dim];
    if (list.size() < wanted.size() || !std::equal(wanted.begin(), wanted.end(), list.begin())) {
      return false;
    }
    if (!std::all_of(list.begin() + static_cast<std::ptrdiff_t>(wanted.size()), list.end(), adds)) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::reshard
