// SPDX-License-Identifier: Apache-2.0
// Makes regions of buffers from parts of arrays, cuts them into pieces, and copies them.
#pragma once

#include <span>
#include <vector>

#include "weft/reshard/execute/host/strided_copy.h"
#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/layout/box.h"

namespace weft::reshard::execute {

/// Strips of one dimension at equal distances. The distances are equal in the array and in the
/// parts of sender and receiver. So one or two loops can visit the strips.
struct Span {
  std::int64_t low = 0, length = 0;
  std::int64_t count = 1, step = 0;  ///< number of strips; distance of their starts in the array
};

/// Groups strips into spans. `parts` has the strips of every part in which these strips may be
/// stored.
std::vector<Span> spans_of(const Strips& strips, const std::vector<const Strips*>& parts);

/// The memory of a part of an array: dense, in row-major order of `dims`, without gaps between
/// strips.
struct Storage {
  std::int32_t buffer = 0, array = 0;
  Bytes offset = 0;
  Bytes element = 0;
  std::vector<Strips> dims;
  bool cast = false;  ///< see Region::cast
};

/// The region of a product of spans, one per dimension, inside `storage`. It has two loops per
/// dimension, so that the regions of sender and receiver have the same extents.
Region region_in(const Storage& storage, std::span<const Span> spans);

/// Cuts the region into pieces of at most `limit` bytes, but at least one element. The cuts depend
/// only on extents, so sender and receiver cut in the same way.
std::vector<Region> cut(const Region& region, Bytes limit);

/// Elements [low, high) of the region, counted in the order of its loops.
std::vector<Region> slice(const Region& region, std::int64_t low, std::int64_t high);

/// A region with the same loops, whose bytes in the wire type are contiguous. It begins at `offset`
/// of buffer `buffer`.
Region packed(const Region& region, std::int32_t buffer, Bytes offset);

/// Elements [low, high) of several regions, counted through all regions one after the other.
std::vector<Region> slice(const std::vector<Region>& regions, std::int64_t low, std::int64_t high);

/// Whether the loops of the two regions can be divided into common loops, as copy_between()
/// requires. This is always possible for two regions of the same box, in whatever arrays they are
/// stored.
bool divide_alike(const Region& from, const Region& to);

/// Returns the region with as few loops as possible: a loop that continues the loop around it is
/// merged into that loop.
Region joined(Region region);

/// The copy from one region to another of the same size. Each region is first simplified by
/// joined(). StridedCopy::run() takes pointers to their first elements. If this copy is a piece of
/// a larger one, `all` is the size of the larger copy in bytes, see StridedCopy.
StridedCopy copy_between(const Region& from, const Region& to, Bytes all = 0);

}  // namespace weft::reshard::execute
