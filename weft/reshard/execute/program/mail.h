// SPDX-License-Identifier: Apache-2.0
// What goes between two devices in one turn: regions that both agree on, cut into messages.
#pragma once

#include <map>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/homes.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {

/// Which message of a turn a region belongs to; messages are ordered by it, see make_program().
struct Address {
  bool send = false;
  bool add = false;
  std::int64_t distance = 0;
  Device peer = 0;

  auto operator<=>(const Address&) const = default;
};
Address address_of(const Piece& piece, Device self, Device devices);

/// All regions between two devices in one turn, before they are cut into messages.
using Mail = std::map<Address, std::vector<Region>>;

/// Cuts what goes between two devices into messages; `limit` 0: it is one.
void write_messages(const Mail& mail, Bytes limit, Turn& turn);

/// An Error (kInfeasible) where that would be more messages than anybody wants to list, in all
/// turns: the budget that the limit comes from is too small for so much.
Status check_count(const std::vector<Mail>& mail, Bytes limit, Bytes budget);

/// Elements of the device's parts that lie before `part` in one buffer.
std::int64_t elements_before(const Layout& layout, Part part);

/// That both parts have.
std::vector<Strips> shared_region(const Layout& from, Part a, const Layout& to, Part b);

/// Regions of `place` for the product of `dims`, in an order and with extents that `devices` agree
/// on wherever each of them keeps its parts.
std::vector<Region> agreed_regions(const Course& course, const Place& place,
                                   const std::vector<Strips>& dims,
                                   const std::vector<Device>& devices);

/// Whether a box lies side by side wherever `devices` may keep it.
bool lies_dense(const Course& course, const std::vector<Strips>& dims,
                const std::vector<Device>& devices);

}  // namespace weft::reshard::execute
