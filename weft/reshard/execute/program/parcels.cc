// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/parcels.h"

#include <set>

#include "weft/base/check.h"
#include "weft/reshard/execute/host/task.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// Arrays that are added up in this turn, on this device.
std::set<std::int32_t> added_arrays(const Turn& turn) {
  std::set<std::int32_t> arrays;
  for (const Message& message : turn.receives) {
    if (!message.add) continue;
    for (const Region& region : message.regions) arrays.insert(region.array);
  }
  return arrays;
}

void divide(const Message& message, bool add, Bytes alone, std::vector<Parcel>& parcels) {
  bool open = false;  // whether the last parcel takes more
  for (const Region& region : message.regions) {
    const Bytes bytes = region.bytes();
    if (bytes == 0) continue;
    if (!open || bytes >= alone) parcels.push_back({message.peer, 0, {}});
    parcels.back().bytes += bytes;
    parcels.back().parts.push_back({region, add});
    open = bytes < alone;
  }
}

}  // namespace

std::vector<ParcelTurn> parcels_of(const Program& program, Bytes alone) {
  std::vector<ParcelTurn> turns;
  for (const Turn& turn : program.turns) {
    ParcelTurn& out = turns.emplace_back();
    out.moves = turn.moves;
    for (const Message& message : turn.sends) divide(message, false, alone, out.sends);
    for (const Message& message : turn.receives) {
      divide(message, message.add, alone, out.receives);
    }
    const std::set<std::int32_t> added = added_arrays(turn);
    for (Parcel& parcel : out.receives) {
      for (Parcel::Part& part : parcel.parts) {
        if (part.add || !added.contains(part.region.array)) continue;
        part.add = true;
        out.fill_first.push_back(part.region);
      }
    }
  }
  return turns;
}

void prepare(const Program& program, const ParcelTurn& turn, const Buffers& buffers) {
  fill(program, turn.fill_first, buffers);
  for (const Move& move : turn.moves) {
    make_task(program, move.from, buffers, move.to, buffers, false).run();
  }
}

void pack(const Program& program, const Parcel& parcel, const Buffers& buffers, std::byte* out) {
  for (const Parcel::Part& part : parcel.parts) {
    make_task(program, part.region, buffers, packed(part.region, 0, 0), {out}, false).run();
    out += part.region.bytes();
  }
}

void unpack(const Program& program, const Parcel& parcel, const std::byte* from,
            const Buffers& buffers) {
  for (const Parcel::Part& part : parcel.parts) {
    // Nothing is written there.
    const Buffers message{const_cast<std::byte*>(from)};
    make_task(program, packed(part.region, 0, 0), message, part.region, buffers, part.add).run();
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
