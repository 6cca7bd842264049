// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/all_reduce.h"

#include <algorithm>

namespace weft::reshard {

SearchEdge AllReduces::cheapest(const LayoutPtr& from, const Type& whole, const FactorList& over) {
  const LayoutPtr reduced = layouts_.layout(whole);
  SearchEdge best;
  const auto consider = [&](SearchEdge edge) {
    if (!best.layout || edge.traffic.recv_max < best.traffic.recv_max) best = std::move(edge);
  };
  const std::int64_t ranks = divisor(factored_.factors, over);
  // A dimension that divides evenly gives the ideal volume: each device receives (ranks - 1) /
  // ranks of a part in the reduce-scatter, and the same amount in the all-gather. Once this volume
  // is reached, no other dimension is tried.
  const std::int64_t ideal = 2 * (ranks - 1) * reduced->largest() / ranks;
  for (std::size_t dim = 0; dim < whole.dims.size(); ++dim) {
    if (best.layout && best.traffic.recv_max <= ideal) break;
    if (whole.frames[dim] != Frame::kPlain) continue;
    Type scattered = whole;
    for (const Factor factor : over) scattered.dims[dim].push_back(factor);
    consider(through(from, layouts_.layout(scattered), reduced));
  }
  if (!best.layout || best.traffic.recv_max > ideal) {
    if (auto edge = flat(from, reduced, whole, over)) consider(std::move(*edge));
  }
  return best;
}

/// An all-reduce in which each device adds up an equal share of the flattened part. Returns nullopt
/// if parts are strided and cannot be flattened. A flattened layout has many boxes, so this
/// function builds it only if nodes matter. Otherwise the traffic is known without the layout: what
/// a device receives follows from the sizes of the shares, and the device has `ranks - 1` senders
/// per round. If devices with copies share the sending, there are a few more senders; make_flat()
/// counts them.
std::optional<SearchEdge> AllReduces::flat(const LayoutPtr& from, const LayoutPtr& to,
                                           const Type& whole, const FactorList& over) {
  if (!problem_.node_of.empty()) {
    const LayoutPtr between = layouts_.flattened(whole, over);
    if (!between) return std::nullopt;
    return through(from, between, to);
  }
  if (!std::all_of(to->cuts.begin(), to->cuts.end(), [](const auto& cut) { return cut->single; })) {
    return std::nullopt;
  }
  priced_ += 2;
  const std::int64_t ranks = divisor(factored_.factors, over);
  Traffic sum{0, 0, 2 * (ranks - 1), 0};
  for (Device device = 0; device < to->devices(); ++device) {
    if (!to->holds(device)) continue;
    const std::int64_t part = to->elements(device);
    const std::int64_t share = layouts_.flat_range_of(part, over, device).length();
    const std::int64_t received = (ranks - 1) * share + part - share;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.recv_total += received;
  }
  return SearchEdge{to, nullptr, sum, true};
}

SearchEdge AllReduces::through(const LayoutPtr& from, const LayoutPtr& between,
                               const LayoutPtr& to) {
  const Traffic down = traffic(*from, *between, overlaps_, &received_down_);
  const Traffic up = traffic(*between, *to, overlaps_, &received_up_);
  priced_ += 2;
  // A different device may receive the most in each of the two rounds. So the elements that each
  // device receives are added up first.
  std::int64_t most = 0;
  for (std::size_t i = 0; i < received_up_.size(); ++i) {
    most = std::max(most, received_down_[i] + received_up_[i]);
  }
  return {to,
          between,
          {most, down.recv_total + up.recv_total, down.peers_max + up.peers_max,
           down.node_recv_max + up.node_recv_max},
          false};
}

void AllReduces::make_flat(const LayoutPtr& from, const Type& whole, const FactorList& over,
                           bool copies, SearchEdge& edge) {
  edge.between = layouts_.flattened(whole, over);
  edge.flat = false;
  if (copies) edge.traffic = through(from, edge.between, edge.layout).traffic;
}

}  // namespace weft::reshard
