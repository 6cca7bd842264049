// SPDX-License-Identifier: Apache-2.0
// Divides the data that two devices exchange in one turn into regions and messages, on which the
// two devices agree.
#pragma once

#include <map>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/placement.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {

/// Says to which message of a turn a region belongs. The order of keys is the order of messages,
/// see make_program().
struct MessageKey {
  bool send = false;
  bool add = false;
  std::int64_t distance = 0;
  Device peer = 0;

  auto operator<=>(const MessageKey&) const = default;
};
MessageKey message_key(const Piece& piece, Device self, Device devices);

/// The regions that this device exchanges with each peer in one turn, before they are cut into
/// messages.
using PeerRegions = std::map<MessageKey, std::vector<Region>>;

/// Cuts the regions for each peer into messages of at most `limit` bytes; 0: into one message.
void write_messages(const PeerRegions& peer_regions, Bytes limit, Turn& turn);

/// Returns an Error (kInfeasible) if the limit leads to more than about four million messages in
/// all turns together. Then the budget that the limit comes from is too small for so much data.
Status check_count(const std::vector<PeerRegions>& peer_regions, Bytes limit, Bytes budget);

/// The number of elements of the device's other parts that lie before `part` in its buffer.
std::int64_t elements_before(const Layout& layout, Part part);

/// The box that both parts have in common.
std::vector<Strips> shared_region(const Layout& from, Part a, const Layout& to, Part b);

/// The regions of `storage` that make up the box `dims` (a product of strips). The devices may
/// store their parts at different addresses. The order and the extents of the regions are the same
/// on all `devices`.
std::vector<Region> agreed_regions(const Route& route, const Storage& storage,
                                   const std::vector<Strips>& dims,
                                   const std::vector<Device>& devices);

/// Whether a box is contiguous in every part in which `devices` may store it.
bool lies_dense(const Route& route, const std::vector<Strips>& dims,
                const std::vector<Device>& devices);

}  // namespace weft::reshard::execute
