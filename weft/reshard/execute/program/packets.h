// SPDX-License-Identifier: Apache-2.0
// A program's messages as packets, for transports that are driven from outside, such as those in
// Python. A packet is sent with one call. A long contiguous region is a packet of its own, sent
// from its buffer and received into its buffer. The regions between two such packets are packed
// into one.
//
// Packets of a turn may be unpacked in any order, including those that replace and those that add.
// To make that possible, an array that gets both in one turn is first filled with neutral elements
// (fill_first), and then all packets add to them.
#pragma once

#include <vector>

#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

struct Packet {
  struct Part {
    Region region;
    bool add = false;  ///< false in sends
  };
  Device peer = 0;
  Bytes bytes = 0;
  std::vector<Part> parts;  ///< one behind the other

  /// Whether it needs no packing on this side.
  bool direct() const { return parts.size() == 1 && !parts[0].add && parts[0].region.dense(); }
};

struct PacketTurn {
  std::vector<Region> fill_first;  ///< to fill with neutral elements before anything else
  std::vector<Move> moves;         ///< to run before any packet is unpacked
  std::vector<Packet> sends;       ///< in the order in which to start them
  std::vector<Packet> receives;    ///< likewise
};

/// Both ends of a message divide it alike, since only sizes decide. `least_direct`: regions of at
/// least this many bytes become packets of their own.
std::vector<PacketTurn> packets_of(const Program& program, Bytes least_direct);

/// Fills and moves what the turn needs before packets are unpacked. Buffers are memory of the host.
void prepare(const Program& program, const PacketTurn& turn, const Buffers& buffers);
/// Copies the packet's parts to `out`, one behind the other.
void pack(const Program& program, const Packet& packet, const Buffers& buffers, std::byte* out);
/// Copies the packet's parts to their buffers, or adds them to what is there.
void unpack(const Program& program, const Packet& packet, const std::byte* from,
            const Buffers& buffers);
/// Fills regions with the neutral element of their arrays, which must have one: see combine.h.
void fill(const Program& program, const std::vector<Region>& regions, const Buffers& buffers);

}  // namespace weft::reshard::execute
