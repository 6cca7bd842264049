// SPDX-License-Identifier: Apache-2.0
// Regions of buffers: made from parts of arrays, cut into pieces, copied into each other.
#pragma once

#include <span>
#include <vector>

#include "weft/reshard/execute/host/strided_copy.h"
#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/layout/box.h"

namespace weft::reshard::execute {

/// Strips of one dimension at equal distances, which both the sender's and the receiver's part have
/// at equal distances as well: what one or two loops can walk.
struct Span {
  std::int64_t low = 0, length = 0;
  std::int64_t count = 1, step = 0;  ///< strips, and how far apart they begin in the array
};

/// Strips as spans. `parts`: the strips that any storage they may lie in is made of.
std::vector<Span> spans_of(const Strips& strips, const std::vector<const Strips*>& parts);

/// Where a part of an array lies: dense, in row-major order of `dims`, strips side by side.
struct Place {
  std::int32_t buffer = 0, array = 0;
  Bytes offset = 0;
  Bytes element = 0;
  std::vector<Strips> dims;
  bool cast = false;  ///< see Region
};

/// A product of spans, one a dimension, inside `place`, with two loops a dimension: those of the
/// sender's and of the receiver's region have the same extents.
Region region_in(const Place& place, std::span<const Span> spans);

/// The region in pieces of at most `limit` bytes, or of one element; only extents decide how.
std::vector<Region> cut(const Region& region, Bytes limit);

/// Elements [low, high) of the region in the order in which it is walked.
std::vector<Region> slice(const Region& region, std::int64_t low, std::int64_t high);

/// A region with the same loops whose bytes lie side by side, as they travel, from `offset` of a
/// buffer on.
Region packed(const Region& region, std::int32_t buffer, Bytes offset);

/// Elements [low, high) of regions one behind the other.
std::vector<Region> slice(const std::vector<Region>& regions, std::int64_t low, std::int64_t high);

/// Whether loops of both can be divided into the same ones: what copy_between() asks for. Regions
/// of one box are, in whatever arrays they lie.
bool divide_alike(const Region& from, const Region& to);

/// Without loops that the one outside can do as well.
Region joined(Region region);

/// The copy from one region to another of the same size, each joined in its own way. Its pointers
/// are those of the first elements. `all`: bytes of what it is a piece of, see StridedCopy.
StridedCopy copy_between(const Region& from, const Region& to, Bytes all = 0);

}  // namespace weft::reshard::execute
