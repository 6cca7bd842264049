// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/moves.h"

#include <algorithm>

namespace weft::reshard {
namespace {

/// The factors of `list` in the order of `order`, which must contain all of them.
FactorList sorted_like(const FactorList& order, const FactorList& list) {
  FactorList sorted;
  for (const Factor factor : order) {
    if (list.has(factor)) sorted.push_back(factor);
  }
  return sorted;
}

/// Whether `whole` contains all factors of `list`.
bool is_subset(const FactorList& list, const FactorList& whole) {
  return std::all_of(list.begin(), list.end(), [&](Factor factor) { return whole.has(factor); });
}

/// Puts a dimension into the frame of an end. If the dimension's list is a prefix of the end's
/// factors, this frame means the same as the plain frame. Then the plain frame is used, so that
/// types with the same meaning compare equal.
void set_frame(Type& type, std::size_t dim, Frame frame, const FactorList& order) {
  FactorList& list = type.dims[dim];
  list = sorted_like(order, list);
  const bool first_ones = std::equal(list.begin(), list.end(), order.begin());
  type.frames[dim] = first_ones ? Frame::kPlain : frame;
}

FactorList without(const FactorList& list, const FactorList& others) {
  FactorList rest;
  for (const Factor factor : list) {
    if (!others.has(factor)) rest.push_back(factor);
  }
  return rest;
}

FactorList joined(FactorList first, const FactorList& second) {
  first.append(second.begin(), second.end());
  return first;
}

/// Collects types and drops duplicates.
class Collector {
 public:
  Collector(TypeNumber start, TypeNumbers& numbers) : numbers_(numbers), seen_(numbers.size()) {
    seen_[start] = true;
  }
  void add(const Type& type) {
    const TypeNumber number = numbers_.of(type);
    if (seen_.size() < numbers_.size()) seen_.resize(numbers_.size());
    if (seen_[number]) return;
    seen_[number] = true;
    list_.push_back(number);
  }
  std::vector<TypeNumber> take() { return std::move(list_); }

 private:
  TypeNumbers& numbers_;
  std::vector<char> seen_;  ///< indexed by number
  std::vector<TypeNumber> list_;
};

/// The types that result if a factor is removed. The other factors of its dimension can cut the
/// dimension in two ways. They can cut it into equal parts. Or they stay in the frame of an end, so
/// that parts are strided and fewer elements move.
std::vector<Type> removals(const FactoredProblem& factored, const Type& type, Factor factor) {
  Type rest = type;
  rest.partial.remove(factor);
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    if (!rest.dims[dim].remove(factor)) continue;
    std::vector<Type> found;
    for (const auto& [frame, end] :
         {std::pair{Frame::kSource, &factored.from}, std::pair{Frame::kTarget, &factored.to}}) {
      const FactorList& order = end->dims[dim];
      const bool framed = type.frames[dim] == frame ||
                          (type.frames[dim] == Frame::kPlain && is_subset(type.dims[dim], order) &&
                           sorted_like(order, type.dims[dim]) == type.dims[dim]);
      if (end->side != type.side || !framed) continue;
      Type strided = rest;
      set_frame(strided, dim, frame, order);
      found.push_back(std::move(strided));
    }
    rest.frames[dim] = Frame::kPlain;
    found.push_back(std::move(rest));
    return found;
  }
  return {rest};
}

/// Moves one factor to every other place: gathers, slices, all-to-alls, reduce-scatters.
void move_one(const FactoredProblem& factored, const Type& type, Factor factor, Collector& found) {
  for (const Type& rest : removals(factored, type, factor)) {
    found.add(rest);
    for (std::size_t dim = 0; dim < rest.dims.size(); ++dim) {
      for (std::size_t at = 0; at <= rest.dims[dim].size(); ++at) {
        if (rest.frames[dim] != Frame::kPlain) break;
        Type next = rest;
        next.dims[dim].insert(next.dims[dim].begin() + static_cast<std::ptrdiff_t>(at), factor);
        found.add(next);
      }
      const FactorList& order = factored.to.dims[dim];
      if (rest.side == factored.to.side && rest.frames[dim] != Frame::kSource &&
          order.has(factor) && is_subset(rest.dims[dim], order)) {
        Type next = rest;
        next.dims[dim].push_back(factor);
        set_frame(next, dim, Frame::kTarget, order);
        found.add(next);
      }
    }
  }
}

/// Swaps two factors, one of which may be unused: a permute.
void swap_two(const Type& type, Factor a, Factor b, Collector& found) {
  Type next = type;
  bool cuts = false;
  for (std::size_t dim = 0; dim < next.dims.size(); ++dim) {
    for (Factor& factor : next.dims[dim]) {
      if (factor != a && factor != b) continue;
      if (next.frames[dim] != Frame::kPlain) return;
      factor = factor == a ? b : a;
      cuts = true;
    }
  }
  if (cuts) found.add(next);
}

/// Adds the target, and types in which a dimension of the target is also cut by one unused factor
/// or by the first few unused factors.
void arrive(const FactoredProblem& factored, const Type& target, Collector& found) {
  found.add(target);
  const FactorList free = unused(factored.factors, target);
  for (std::size_t dim = 0; dim < target.dims.size(); ++dim) {
    Type all = target;
    for (const Factor factor : free) {
      Type one = target;
      one.dims[dim].push_back(factor);
      found.add(one);
      all.dims[dim].push_back(factor);
      found.add(all);
    }
  }
  for (const Type& place : node_waypoints(factored)) found.add(place);
}

/// Scatters the summands of the factors `over` over one dimension: reduce-scatters.
void scatter(const Type& type, const FactorList& over, Collector& found) {
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    if (type.frames[dim] != Frame::kPlain) continue;
    Type scattered = type;
    for (const Factor factor : over) {
      scattered.dims[dim].push_back(factor);
      scattered.partial.remove(factor);
    }
    found.add(scattered);
  }
}

/// Slices every dimension by all unused factors by which the target cuts the dimension. Slicing
/// moves nothing, so to slice by one factor at a time would only add states to the search.
void slice_all(const FactoredProblem& factored, const Type& type, Collector& found) {
  if (type.side != factored.to.side) return;
  const FactorList free = unused(factored.factors, type);
  Type next = type;
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    const FactorList& order = factored.to.dims[dim];
    if (type.frames[dim] == Frame::kSource || !is_subset(type.dims[dim], order)) continue;
    for (const Factor factor : order) {
      if (free.has(factor)) next.dims[dim].push_back(factor);
    }
    set_frame(next, dim, Frame::kTarget, order);
  }
  found.add(next);
}

}  // namespace

std::vector<TypeNumber> moves(const FactoredProblem& factored, TypeNumber from,
                              TypeNumbers& numbers) {
  const Factors& factors = factored.factors;
  const Type type = numbers[from];  // a copy, since adding types invalidates references
  Collector found(from, numbers);
  Type target = factored.to;
  target.partial.clear();
  arrive(factored, target, found);
  slice_all(factored, type, found);
  scatter(type, type.partial, found);
  scatter(type, common(type.partial, factors.intra_node), found);
  const FactorList& side = factors.sides[type.side];
  for (const Factor factor : side) {
    move_one(factored, type, factor, found);
    if (type.partial.has(factor)) continue;
    for (const Factor other : side) {
      if (other > factor && !type.partial.has(other)) swap_two(type, factor, other, found);
    }
  }
  return found.take();
}

std::vector<Type> node_waypoints(const FactoredProblem& factored) {
  const FactorList& intra_node = factored.factors.intra_node;
  if (intra_node.empty()) return {};
  Type target = factored.to;
  target.partial.clear();
  const FactorList copies = common(unused(factored.factors, target), intra_node);
  const FactorList all = common(factored.factors.sides[target.side], intra_node);
  Type between = target;
  for (FactorList& list : between.dims) list = without(list, intra_node);
  std::vector<Type> places;
  for (std::size_t dim = 0; dim < target.dims.size(); ++dim) {
    places.push_back(target);
    places.back().dims[dim].append(copies.begin(), copies.end());
    places.push_back(between);
    places.back().dims[dim].append(all.begin(), all.end());
  }
  if (factored.from.side != target.side) return places;
  Type inside = target, outside = target;
  for (std::size_t dim = 0; dim < target.dims.size(); ++dim) {
    inside.dims[dim] =
        joined(without(factored.from.dims[dim], intra_node), common(target.dims[dim], intra_node));
    outside.dims[dim] =
        joined(without(target.dims[dim], intra_node), common(factored.from.dims[dim], intra_node));
  }
  places.push_back(std::move(inside));
  places.push_back(std::move(outside));
  return places;
}

bool arrived(const FactoredProblem& factored, const Type& type) {
  const Type& target = factored.to;
  if (type.side != target.side) return false;
  const auto adds = [&](Factor factor) { return target.partial.has(factor); };
  if (!std::all_of(type.partial.begin(), type.partial.end(), adds)) return false;
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    const FactorList &list = type.dims[dim], &wanted = target.dims[dim];
    if (type.frames[dim] != Frame::kPlain || list.size() < wanted.size() ||
        !std::equal(wanted.begin(), wanted.end(), list.begin())) {
      return false;
    }
    if (!std::all_of(list.begin() + static_cast<std::ptrdiff_t>(wanted.size()), list.end(), adds)) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::reshard
