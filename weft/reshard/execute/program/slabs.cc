// SPDX-License-Identifier: Apache-2.0
// Divides parts into slabs. Slabs are numbered in row-major order over the extents of the largest
// part. Some slabs of a smaller part are empty, so that all devices have the same number of turns.
#include "weft/reshard/execute/program/slabs.h"

#include <algorithm>

namespace weft::reshard::execute {
namespace {

/// The strips of indices [low, high), counted without the gaps between strips.
Strips between(const Strips& strips, std::int64_t low, std::int64_t high) {
  Strips some;
  std::int64_t before = 0;
  for (const Interval& strip : strips) {
    const std::int64_t begin = std::max(low, before);
    const std::int64_t end = std::min(high, before + strip.length());
    if (begin < end) some.push_back({strip.low + begin - before, strip.low + end - before});
    before += strip.length();
  }
  return strips_of(std::move(some));
}

}  // namespace

Slabs::Slabs(const Layout& layout, std::int64_t most) {
  extents_.assign(layout.cuts.size(), 0);
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      extents_[i] = std::max(extents_[i], length(layout.cuts[i]->piece(part)));
    }
  }
  elements_ = 1;
  for (const std::int64_t extent : extents_) elements_ *= extent;
  if (extents_.empty() || elements_ == 0) return;
  // Divide the outermost dimension whose rows fit. In the dimensions outside of it, a slab has a
  // single index.
  std::int64_t inside = elements_ / extents_[0];
  while (inside > most && dim_ + 1 < extents_.size()) {
    count_ *= extents_[dim_++];
    inside /= extents_[dim_];
  }
  step_ = std::clamp<std::int64_t>(most / inside, 1, extents_[dim_]);
  count_ *= (extents_[dim_] + step_ - 1) / step_;
  elements_ = step_ * inside;
}

std::vector<Strips> Slabs::of(const Layout& layout, Part part, std::int64_t number) const {
  std::vector<Strips> dims = layout.region(part);
  if (step_ == 0) return dims;
  const std::int64_t steps = (extents_[dim_] + step_ - 1) / step_;
  const std::int64_t at = number % steps * step_;
  dims[dim_] = between(dims[dim_], at, at + step_);
  number /= steps;
  for (std::size_t i = dim_; i-- > 0; number /= extents_[i]) {
    const std::int64_t index = number % extents_[i];
    dims[i] = between(dims[i], index, index + 1);
  }
  return dims;
}

}  // namespace weft::reshard::execute
