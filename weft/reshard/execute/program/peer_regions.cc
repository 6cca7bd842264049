// SPDX-License-Identifier: Apache-2.0
// Finds the regions of messages. Two devices may store the same box with different strides. They
// have to divide the box into the same regions without asking each other. So agreed_regions() looks
// at every part in which one of the two devices may store the box (Route::for_each_storage()). It
// merges strips into one region only if the strips are at equal distances in all these parts. Both
// devices can tell this from the layouts.
#include "weft/reshard/execute/program/peer_regions.h"

#include <algorithm>

namespace weft::reshard::execute {
namespace {

/// Whether a box, the product of the strips `dims`, is contiguous in the memory of a part that
/// contains it.
bool dense_in(const Layout& layout, Part part, const std::vector<Strips>& dims) {
  // The product is contiguous if it consists, from the innermost dimension outwards, of whole
  // dimensions, then a piece of one dimension, then single indices.
  bool whole = true;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const Strips& strips = layout.cuts[i]->piece(part);
    if (!covers(strips, dims[i])) return true;  // this part does not contain the box
    const std::int64_t length = reshard::length(dims[i]);
    if (!whole && length > 1) return false;
    // A piece of a dimension is contiguous only if it lies in a single strip.
    if (length != reshard::length(strips)) {
      if (dims[i].size() > 1) return false;
      whole = false;
    }
  }
  return true;
}

}  // namespace

MessageKey message_key(const Piece& piece, Device self, Device devices) {
  const bool send = piece.from == self;
  return {send, piece.add, (piece.to - piece.from + devices) % devices,
          send ? piece.to : piece.from};
}

void write_messages(const PeerRegions& peer_regions, Bytes limit, Turn& turn) {
  for (const auto& [key, regions] : peer_regions) {
    std::vector<Message>& list = key.send ? turn.sends : turn.receives;
    Message message{key.peer, key.add, 0, {}};
    const auto finish = [&] {
      if (!message.regions.empty()) list.push_back(std::move(message));
      message = {key.peer, key.add, 0, {}};
    };
    for (const Region& whole : regions) {
      for (Region& region : limit > 0 ? cut(whole, limit) : std::vector<Region>{whole}) {
        if (limit > 0 && message.bytes + region.bytes() > limit) finish();
        message.bytes += region.bytes();
        message.regions.push_back(joined(std::move(region)));
      }
    }
    finish();
  }
}

Status check_count(const std::vector<PeerRegions>& peer_regions, Bytes limit, Bytes budget) {
  constexpr Bytes kMostMessages = 1 << 22;
  Bytes all = 0;
  for (const PeerRegions& turn : peer_regions) {
    for (const auto& [key, regions] : turn) {
      for (const Region& region : regions) all += region.bytes();
    }
  }
  if (limit == 0 || all / limit <= kMostMessages) return {};
  return fail(ErrorCode::kInfeasible,
              "a budget of " + std::to_string(budget) + " bytes cuts " + std::to_string(all) +
                  " bytes of a device into " + std::to_string(all / limit) +
                  " messages; allow at least " +
                  std::to_string(budget + 4 * (all / kMostMessages + 1 - limit)) + " bytes");
}

std::int64_t elements_before(const Layout& layout, Part part) {
  std::int64_t before = 0;
  const Device device = layout.device_of(part);
  if (part != device && layout.holds(device)) before += layout.elements(device);
  for (Part other = layout.devices(); other < part; ++other) {
    if (layout.device_of(other) == device && layout.holds(other)) before += layout.elements(other);
  }
  return before;
}

std::vector<Strips> shared_region(const Layout& from, Part a, const Layout& to, Part b) {
  std::vector<Strips> dims;
  for (std::size_t i = 0; i < from.cuts.size(); ++i) {
    dims.push_back(intersect(from.cuts[i]->piece(a), to.cuts[i]->piece(b)));
  }
  return dims;
}

std::vector<Region> agreed_regions(const Route& route, const Storage& storage,
                                   const std::vector<Strips>& dims,
                                   const std::vector<Device>& devices) {
  std::vector<std::vector<Span>> spans(dims.size());
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    std::vector<const Strips*> parts{&storage.dims[dim]};
    // Two strips have only one distance. With three or more strips, all distances have to be equal.
    if (dims[dim].size() > 2) {
      for (const Device device : devices) {
        route.for_each_storage(device, [&](const Layout& layout, Part part) {
          parts.push_back(&layout.cuts[dim]->piece(part));
        });
      }
      std::erase_if(parts, [&](const Strips* part) { return !covers(*part, dims[dim]); });
    }
    spans[dim] = spans_of(dims[dim], parts);
    if (spans[dim].empty()) return {};
  }
  std::vector<Region> regions;
  std::vector<std::size_t> at(dims.size(), 0);
  std::vector<Span> product(dims.size());
  for (;;) {
    for (std::size_t i = 0; i < dims.size(); ++i) product[i] = spans[i][at[i]];
    regions.push_back(region_in(storage, product));
    std::size_t dim = dims.size();
    while (dim > 0 && ++at[dim - 1] == spans[dim - 1].size()) at[--dim] = 0;
    if (dim == 0) return regions;
  }
}

bool lies_dense(const Route& route, const std::vector<Strips>& dims,
                const std::vector<Device>& devices) {
  bool dense = true;
  for (const Device device : devices) {
    route.for_each_storage(device, [&](const Layout& layout, Part part) {
      dense = dense && dense_in(layout, part, dims);
    });
  }
  return dense;
}

}  // namespace weft::reshard::execute
