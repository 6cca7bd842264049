// SPDX-License-Identifier: Apache-2.0
// A program's messages as parcels, for transports that are driven from outside, such as Python: a
// parcel is what is handed over at once. A long region that lies side by side is a parcel of its
// own, sent from where it lies and received where it belongs; what is between two such goes
// together and is packed.
//
// Parcels may be put in place in any order, also those that replace and those that add: where an
// array gets both in one turn, all of its parts are added, to neutral elements that fill_first
// names.
#pragma once

#include <vector>

#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

struct Parcel {
  struct Part {
    Region region;
    bool add = false;  ///< never of what is sent
  };
  Device peer = 0;
  Bytes bytes = 0;
  std::vector<Part> parts;  ///< one behind the other

  /// Whether it needs no packing on this side.
  bool direct() const { return parts.size() == 1 && !parts[0].add && parts[0].region.dense(); }
};

struct ParcelTurn {
  std::vector<Region> fill_first;  ///< with neutral elements, before anything is put in place
  std::vector<Move> moves;         ///< likewise before anything is added
  std::vector<Parcel> sends;       ///< in the order in which to start them
  std::vector<Parcel> receives;    ///< likewise
};

/// Both ends of a message divide it in the same way, whose sizes alone decide. `alone`: regions of
/// at least so many bytes are parcels of their own.
std::vector<ParcelTurn> parcels_of(const Program& program, Bytes alone);

/// Fills and moves what the turn asks for before anything is put in place. Memory of the host.
void prepare(const Program& program, const ParcelTurn& turn, const Buffers& buffers);
/// The parcel's parts, one behind the other.
void pack(const Program& program, const Parcel& parcel, const Buffers& buffers, std::byte* out);
/// Puts them in place, or adds them to what is there.
void unpack(const Program& program, const Parcel& parcel, const std::byte* from,
            const Buffers& buffers);
/// With the neutral element of each region's array, which must have one: see combine.h.
void fill(const Program& program, const std::vector<Region>& regions, const Buffers& buffers);

}  // namespace weft::reshard::execute
