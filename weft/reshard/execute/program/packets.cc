// SPDX-License-Identifier: Apache-2.0
// Divides messages into packets. A long region is a packet by itself, so the packet before it ends
// there. Sender and receiver see regions of the same sizes in the same order, so they make the same
// packets.
#include "weft/reshard/execute/program/packets.h"

#include <set>

#include "weft/base/check.h"
#include "weft/reshard/execute/host/task.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// The arrays to which messages of this turn add something.
std::set<std::int32_t> added_arrays(const Turn& turn) {
  std::set<std::int32_t> arrays;
  for (const Message& message : turn.receives) {
    if (!message.add) continue;
    for (const Region& region : message.regions) arrays.insert(region.array);
  }
  return arrays;
}

void divide(const Message& message, bool add, Bytes least_direct, std::vector<Packet>& packets) {
  bool open = false;  // whether the last packet accepts more regions
  for (const Region& region : message.regions) {
    const Bytes bytes = region.bytes();
    if (bytes == 0) continue;
    if (!open || bytes >= least_direct) packets.push_back({message.peer, 0, {}});
    packets.back().bytes += bytes;
    packets.back().parts.push_back({region, add});
    // A long region closes its packet. Short regions are collected in one packet.
    open = bytes < least_direct;
  }
}

}  // namespace

std::vector<PacketTurn> packets_of(const Program& program, Bytes least_direct) {
  std::vector<PacketTurn> turns;
  for (const Turn& turn : program.turns) {
    PacketTurn& out = turns.emplace_back();
    out.moves = turn.moves;
    for (const Message& message : turn.sends) divide(message, false, least_direct, out.sends);
    for (const Message& message : turn.receives) {
      divide(message, message.add, least_direct, out.receives);
    }
    // Some parts of an array may replace and other parts may add. Then also add the parts that
    // replace, to neutral elements.
    const std::set<std::int32_t> added = added_arrays(turn);
    for (Packet& packet : out.receives) {
      for (Packet::Part& part : packet.parts) {
        if (part.add || !added.contains(part.region.array)) continue;
        part.add = true;
        out.fill_first.push_back(part.region);
      }
    }
  }
  return turns;
}

void prepare(const Program& program, const PacketTurn& turn, const Buffers& buffers) {
  fill(program, turn.fill_first, buffers);
  for (const Move& move : turn.moves) {
    make_task(program, move.from, buffers, move.to, buffers, false).run();
  }
}

void pack(const Program& program, const Packet& packet, const Buffers& buffers, std::byte* out) {
  for (const Packet::Part& part : packet.parts) {
    pack_regions(program, {part.region}, buffers, out);
    out += part.region.bytes();
  }
}

void unpack(const Program& program, const Packet& packet, const std::byte* from,
            const Buffers& buffers) {
  for (const Packet::Part& part : packet.parts) {
    unpack_regions(program, from, {part.region}, buffers, part.add);
    from += part.region.bytes();
  }
}

void fill(const Program& program, const std::vector<Region>& regions, const Buffers& buffers) {
  for (const Region& region : regions) {
    const auto pattern = neutral_element(program.elements[region.array]);
    WEFT_CHECK(pattern.has_value());
    fill(region, *pattern, buffers[region.buffer]);
  }
}

}  // namespace weft::reshard::execute
