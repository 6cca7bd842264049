// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/chunks.h"

#include <algorithm>

#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// The longest chunk that needs no packing. MPI counts bytes in an int, whose limit is much larger.
constexpr Bytes kLongestDirect = 256 << 20;

}  // namespace

Chunk Chunks::next() {
  const Message& message = messages_[message_];
  Chunk chunk{message.peer, message.add, 0, {}};
  if (goes_direct(message)) {
    take(message, kLongestDirect, chunk);
  } else {
    // A chunk ends where it is full, where the message ends, or before a region that needs no
    // packing.
    while (region_ < message.regions.size() && !goes_direct(message) &&
           take(message, longest_, chunk)) {
    }
  }
  if (region_ == message.regions.size()) {
    ++message_;
    region_ = 0;
  }
  return chunk;
}

bool Chunks::goes_direct(const Message& message) const {
  const Region& region = message.regions[region_];
  return least_direct_ > 0 && region.direct && !message.add && region.bytes() >= least_direct_;
}

bool Chunks::take(const Message& message, Bytes longest, Chunk& chunk) {
  const Region& region = message.regions[region_];
  const std::int64_t all = region.bytes() / region.element;
  // Take whole elements only, so that the sender can pack each chunk separately and the receiver
  // can unpack it separately.
  const std::int64_t end = std::min(all, element_ + (longest - chunk.bytes) / region.element);
  if (end == element_) return false;
  for (Region& piece : slice(region, element_, end)) chunk.regions.push_back(std::move(piece));
  chunk.bytes += (end - element_) * region.element;
  element_ = end;
  if (element_ == all) {
    ++region_;
    element_ = 0;
  }
  return true;
}

}  // namespace weft::reshard::execute
