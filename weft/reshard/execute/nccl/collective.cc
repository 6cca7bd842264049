// SPDX-License-Identifier: Apache-2.0
// Finds collectives. A turn is an all-gather if the rank sends the same regions to every other rank
// and receives one message from each of them. A turn is a reduce-scatter if the rank adds a message
// of every other rank to the same regions. NCCL requires parts of equal size, one after the other.
// If a buffer has this form, NCCL uses it directly. Otherwise parts are copied to or from slots of
// equal size in staging.
#include "weft/reshard/execute/nccl/collective.h"

#include <algorithm>
#include <optional>

#include "weft/reshard/execute/nccl/nccl.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/layout/number_hash.h"

namespace weft::reshard::execute::nccl {
namespace {

using Kind = Collective::Kind;
using Regions = std::vector<Region>;

bool same(const Region& a, const Region& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.element == b.element &&
         joined(a).loops == joined(b).loops;
}
bool same(const Regions& a, const Regions& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Region& x, const Region& y) { return same(x, y); });
}

Bytes bytes_of(const Regions& regions) {
  Bytes sum = 0;
  for (const Region& region : regions) sum += region.bytes();
  return sum;
}

/// The regions of each rank's message, indexed by rank. The entry of `self` is empty. nullopt
/// unless there is exactly one message for every other rank, and all messages have the given `add`.
std::optional<std::vector<Regions>> by_rank(const std::vector<Message>& messages, Device self,
                                            int ranks, bool add) {
  if (messages.size() + 1 != static_cast<std::size_t>(ranks)) return {};
  std::vector<Regions> parts(static_cast<std::size_t>(ranks));
  for (const Message& message : messages) {
    Regions& part = parts[message.peer];
    if (message.add != add || message.bytes == 0 || message.peer == self || !part.empty()) {
      return {};
    }
    part = message.regions;
  }
  return parts;
}

/// The bytes of the longest part. 0 if padding all other parts to this length would add more than a
/// quarter.
Bytes slot_bytes(const std::vector<Regions>& parts) {
  Bytes longest = 0, sum = 0;
  for (const Regions& part : parts) {
    longest = std::max(longest, bytes_of(part));
    sum += bytes_of(part);
  }
  const auto all = longest * static_cast<Bytes>(parts.size());
  return 4 * all <= 5 * sum ? longest : 0;
}

/// The memory of the regions if they are contiguous.
std::optional<cuda::MessageSpan> place_of(const Regions& regions) {
  const Message message{0, false, bytes_of(regions), regions};
  if (!cuda::is_contiguous(message)) return {};
  return cuda::MessageSpan{0, regions.front().buffer, regions.front().offset, message.bytes};
}

/// The memory of all parts if they are contiguous slots in the order of ranks.
std::optional<cuda::MessageSpan> place_of(const std::vector<Regions>& parts, Bytes slot) {
  std::optional<cuda::MessageSpan> whole;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const auto place = place_of(parts[rank]);
    if (!place || place->bytes != slot) return {};
    if (!whole) whole = cuda::MessageSpan{0, place->buffer, place->offset, 0};
    if (place->buffer != whole->buffer || place->offset != whole->offset + whole->bytes) return {};
    whole->bytes += slot;
  }
  return whole;
}

/// Memory for `bytes` bytes of slots, in staging after the memory that is already used.
cuda::MessageSpan staged(const Program& program, Bytes bytes, Collective& collective) {
  const cuda::MessageSpan span{0, static_cast<std::int32_t>(program.buffers.size()),
                               (collective.staging + 255) / 256 * 256, bytes};
  collective.staging = span.offset + bytes;
  return span;
}

/// Copies between regions and a slot of staging.
void stage(const Regions& regions, const cuda::MessageSpan& staging, Bytes offset, bool pack,
           std::vector<cuda::Copy>& copies) {
  Bytes at = staging.offset + offset;
  for (const Region& region : regions) {
    const Region side = packed(region, staging.buffer, at);
    copies.push_back(pack ? cuda::copy_of(region, side) : cuda::copy_of(side, region));
    at += region.bytes();
  }
}

void keep_moves(const Turn& turn, Collective& collective) {
  for (const Move& move : turn.moves) {
    collective.before.push_back(cuda::copy_of(move.from, move.to));
  }
}

Regions sources_of(const Turn& turn) {
  Regions regions;
  for (const Move& move : turn.moves) regions.push_back(move.from);
  return regions;
}
Regions targets_of(const Turn& turn) {
  Regions regions;
  for (const Move& move : turn.moves) regions.push_back(move.to);
  return regions;
}

Collective find_all_gather(const Program& program, const Turn& turn, int ranks) {
  const auto sent = by_rank(turn.sends, program.self, ranks, false);
  auto received = by_rank(turn.receives, program.self, ranks, false);
  if (!sent || !received) return {};
  const Regions& part = turn.sends.front().regions;
  for (const Message& message : turn.sends) {
    if (!same(message.regions, part)) return {};
  }
  // Where this rank's own part belongs. The part may be there already.
  const bool moved = same(sources_of(turn), part);
  (*received)[program.self] = moved ? targets_of(turn) : part;
  const Bytes slot = slot_bytes(*received);
  if (slot == 0) return {};

  Collective found;
  found.kind = Kind::kAllGather;
  found.type = kByte;
  found.count = static_cast<std::size_t>(slot);
  const auto to = place_of(*received, slot);
  // If NCCL writes directly to the target, it also writes this rank's own part to the target.
  if (!to || !moved) keep_moves(turn, found);
  const auto from = place_of(part);
  if (from && from->bytes == slot) {
    found.from = *from;
  } else {
    found.from = staged(program, slot, found);
    stage(part, found.from, 0, true, found.before);
  }
  if (to) {
    found.to = *to;
    return found;
  }
  found.to = staged(program, slot * ranks, found);
  for (const Message& message : turn.receives) {
    stage(message.regions, found.to, message.peer * slot, false, found.after);
  }
  return found;
}

/// NCCL's number of the type. nullopt if NCCL cannot sum elements of this type.
std::optional<int> type_of(const Elements& elements) {
  using cuda::Type;
  if (cuda::operation_of(elements.reduction) != cuda::Operation::kSum) return {};
  switch (cuda::type_of(elements.type)) {
    case Type::kI8:
      return 0;
    case Type::kU8:
      return 1;
    case Type::kI32:
      return 2;
    case Type::kU32:
      return 3;
    case Type::kI64:
      return 4;
    case Type::kU64:
      return 5;
    case Type::kF16:
      return 6;
    case Type::kF32:
      return 7;
    case Type::kF64:
      return 8;
    case Type::kBf16:
      return 9;
    default:
      return {};
  }
}

Collective find_reduce_scatter(const Program& program, const Turn& turn, int ranks) {
  auto sent = by_rank(turn.sends, program.self, ranks, true);
  const auto received = by_rank(turn.receives, program.self, ranks, true);
  if (!sent || !received) return {};
  const Regions& part = turn.receives.front().regions;
  for (const Message& message : turn.receives) {
    if (!same(message.regions, part)) return {};
  }
  // Before messages are added to `part`, the moves of the turn copy this rank's own addend to
  // `part`. NCCL reads the addend from the sources of these moves.
  if (!same(targets_of(turn), part)) return {};
  (*sent)[program.self] = sources_of(turn);
  // One collective has one element type, so all parts have to be of one array.
  const std::int32_t array = part.front().array;
  for (const Regions& regions : *sent) {
    for (const Region& region : regions) {
      if (region.array != array) return {};
    }
  }
  const auto type = type_of(program.elements[array]);
  const Bytes slot = slot_bytes(*sent);
  if (!type || slot == 0) return {};

  Collective found;
  found.kind = Kind::kReduceScatter;
  found.type = *type;
  found.count = static_cast<std::size_t>(slot / part.front().element);
  if (const auto from = place_of(*sent, slot)) {
    found.from = *from;
  } else {
    found.from = staged(program, slot * ranks, found);
    for (int rank = 0; rank < ranks; ++rank) {
      stage((*sent)[rank], found.from, rank * slot, true, found.before);
    }
  }
  const auto to = place_of(part);
  // NCCL may write directly to the target only if it does not read from the same buffer.
  if (to && to->bytes == slot && to->buffer != found.from.buffer) {
    found.to = *to;
  } else {
    found.to = staged(program, slot, found);
    stage(part, found.to, 0, false, found.after);
  }
  return found;
}

}  // namespace

Collective find_collective(const Program& program, const Turn& turn, int ranks) {
  if (program.message_budget > 0 || turn.sends.empty() || turn.receives.empty()) return {};
  return turn.sends.front().add ? find_reduce_scatter(program, turn, ranks)
                                : find_all_gather(program, turn, ranks);
}

std::uint64_t summary(const Program& program, int ranks) {
  NumberHash hash;
  for (const Turn& turn : program.turns) {
    const Collective found = find_collective(program, turn, ranks);
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(found.kind), static_cast<std::uint64_t>(found.type),
          static_cast<std::uint64_t>(found.count)}) {
      hash.add(number);
    }
  }
  return hash.value();
}

}  // namespace weft::reshard::execute::nccl
