// SPDX-License-Identifier: Apache-2.0
// Divides a program's messages into packets, for transports that are driven from outside of the
// library, such as those in Python. A packet is sent with one call. A long contiguous region is a
// packet by itself; it is sent from its buffer and received into its buffer. The regions between
// two such packets are packed into one packet.
//
// Packets of a turn may be unpacked in any order, whether they replace or add. An array may get
// packets of both kinds in one turn. Such an array is first filled with neutral elements
// (fill_first), and then all of its packets add to them.
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
  std::vector<Part> parts;  ///< one after the other in the packet

  /// Whether the packet needs no packing on this device.
  bool direct() const { return parts.size() == 1 && !parts[0].add && parts[0].region.dense(); }
};

struct PacketTurn {
  std::vector<Region> fill_first;  ///< regions to fill with neutral elements before anything else
  std::vector<Move> moves;         ///< to run before any packet is unpacked
  std::vector<Packet> sends;       ///< in the order in which to start them
  std::vector<Packet> receives;    ///< in the order in which to start them
};

/// Divides the messages of a program into packets. The division depends only on sizes, so sender
/// and receiver divide a message in the same way. A region of at least `least_direct` bytes becomes
/// a packet by itself.
std::vector<PacketTurn> packets_of(const Program& program, Bytes least_direct);

/// Runs `fill_first` and `moves` of the turn. Call this before packets are unpacked. Buffers are
/// memory of the host.
void prepare(const Program& program, const PacketTurn& turn, const Buffers& buffers);
/// Copies the packet's parts to `out`, one behind the other.
void pack(const Program& program, const Packet& packet, const Buffers& buffers, std::byte* out);
/// Copies the packet's parts to their buffers, or adds them to the data of the buffers.
void unpack(const Program& program, const Packet& packet, const std::byte* from,
            const Buffers& buffers);
/// Fills regions with the neutral element of their arrays, which must have one: see combine.h.
void fill(const Program& program, const std::vector<Region>& regions, const Buffers& buffers);

}  // namespace weft::reshard::execute
