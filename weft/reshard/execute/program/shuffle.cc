// SPDX-License-Identifier: Apache-2.0
// Runs shuffles. The buffer is treated as an array of units. A unit is the longest piece that no
// move splits. Each unit that has to move starts a chain: it replaces another unit, which moves to
// its own destination, and so on. The chain ends at a place whose unit does not move or has already
// been moved. One mark per unit says whether the unit has been moved.
#include "weft/reshard/execute/program/shuffle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// A region as contiguous runs of bytes, at places that loops describe.
struct Runs {
  explicit Runs(const Region& region) : buffer(region.buffer), offset(region.offset) {
    loops = joined(region).loops;
    run = region.element;
    if (!loops.empty() && loops.back().stride == region.element) {
      run *= loops.back().extent;
      loops.pop_back();
    }
    bytes = region.bytes();
    end = offset + run;
    for (const Loop& loop : loops) end += (loop.extent - 1) * loop.stride;
  }

  /// The offset in the buffer of byte `index` of the region.
  Bytes place(Bytes index) const {
    Bytes at = offset + index % run;
    index /= run;
    for (std::size_t i = loops.size(); i-- > 0;) {
      at += index % loops[i].extent * loops[i].stride;
      index /= loops[i].extent;
    }
    return at;
  }
  /// The inverse of place(): which byte of the region lies at offset `at`; -1: none. The loops must
  /// be those of a dense array, where each stride is at least as large as the range of all loops
  /// inside it.
  Bytes index(Bytes at) const {
    if (at < offset || at >= end) return -1;
    at -= offset;
    Bytes number = 0;
    for (const Loop& loop : loops) {
      const std::int64_t turn = at / loop.stride;
      if (turn >= loop.extent) return -1;
      at -= turn * loop.stride;
      number = number * loop.extent + turn;
    }
    return at < run ? number * run + at : -1;
  }

  std::int32_t buffer;
  Bytes offset, end = 0, run = 0, bytes = 0;
  std::vector<Loop> loops;
};

/// The number of bytes of a unit: the largest number that divides the start and the end of every
/// run.
Bytes unit_of(const std::vector<Shuffle>& shuffles) {
  Bytes unit = 0;
  for (const Shuffle& shuffle : shuffles) {
    for (const std::vector<Region>* regions : {&shuffle.from, &shuffle.to}) {
      for (const Region& region : *regions) {
        const Runs runs(region);
        unit = std::gcd(std::gcd(unit, runs.offset), runs.run);
        for (const Loop& loop : runs.loops) unit = std::gcd(unit, loop.stride);
      }
    }
  }
  return unit;
}

/// Finds the destination of each byte of a shuffle. The bytes of its regions are counted one region
/// after the other.
class Targets {
 public:
  explicit Targets(const std::vector<Region>& regions) {
    for (const Region& region : regions) {
      runs_.emplace_back(region);
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + runs_.back().bytes);
    }
  }
  struct Place {
    std::int32_t buffer;
    Bytes at;
  };
  Place place(Bytes index) const {
    const auto i = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) -
                                            ends_.begin());
    return {runs_[i].buffer, runs_[i].place(index - (ends_[i] - runs_[i].bytes))};
  }

 private:
  std::vector<Runs> runs_;
  std::vector<Bytes> ends_;
};

/// Finds, for the place of a unit, the shuffle that moves this unit away.
class Sources {
 public:
  /// A byte of a shuffle. `index` counts the bytes of all its regions, one region after the other.
  struct Found {
    std::size_t shuffle;
    Bytes index;
  };

  Sources(const std::vector<Shuffle>& shuffles, Bytes unit) : unit_(unit) {
    for (std::size_t i = 0; i < shuffles.size(); ++i) {
      Bytes before = 0;
      for (const Region& region : shuffles[i].from) {
        from_.emplace_back(region);
        starts_.push_back({i, before});
        before += from_.back().bytes;
      }
    }
    for (const Runs& runs : from_) {
      Space& space = spaces_[runs.buffer];
      space.end = std::max(space.end, runs.end);
    }
    Bytes bit = 0;
    for (auto& [buffer, space] : spaces_) {
      space.first_bit = bit;
      bit += space.end / unit;
      space.bucket = space.end / static_cast<Bytes>(space.moves.size()) + 1;
    }
    for (std::size_t i = 0; i < from_.size(); ++i) {
      Space& space = spaces_[from_[i].buffer];
      for (Bytes at = from_[i].offset / space.bucket; at <= (from_[i].end - 1) / space.bucket;
           ++at) {
        space.moves[static_cast<std::size_t>(at)].push_back(i);
      }
    }
  }

  /// nullopt: the unit at this place does not move.
  std::optional<Found> find(std::int32_t buffer, Bytes at) const {
    const auto space = spaces_.find(buffer);
    if (space == spaces_.end() || at >= space->second.end) return {};
    for (const std::size_t i :
         space->second.moves[static_cast<std::size_t>(at / space->second.bucket)]) {
      const Bytes index = from_[i].index(at);
      if (index >= 0) return Found{starts_[i].shuffle, starts_[i].index + index};
    }
    return {};
  }

  /// The number of the unit at this place, among the units of all buffers.
  Bytes bit(std::int32_t buffer, Bytes at) const {
    return spaces_.at(buffer).first_bit + at / unit_;
  }
  const std::vector<Runs>& from() const { return from_; }
  const std::vector<Found>& starts() const { return starts_; }

 private:
  struct Space {
    Bytes end = 0, bucket = 1, first_bit = 0;
    /// The buffer is divided into buckets. For each bucket: the entries of from_ that may lie in
    /// it. So a lookup compares only a few entries.
    std::array<std::vector<std::size_t>, 256> moves;
  };
  Bytes unit_;
  std::vector<Runs> from_;
  std::vector<Found> starts_;  ///< indexed by entry of from_: the first byte of this region
  std::map<std::int32_t, Space> spaces_;
};

class Marks {
 public:
  explicit Marks(std::byte* memory) : memory_(memory) {}
  /// Sets a mark. Returns whether it was set before.
  bool set(Bytes bit) {
    std::byte& byte = memory_[bit / 8];
    const std::byte mask{static_cast<unsigned char>(1u << (bit % 8))};
    const bool before = (byte & mask) != std::byte{0};
    byte |= mask;
    return before;
  }

 private:
  std::byte* memory_;
};

}  // namespace

Bytes mark_bytes(const std::vector<Shuffle>& shuffles) {
  if (shuffles.empty()) return 0;
  const Bytes unit = unit_of(shuffles);
  std::map<std::int32_t, Bytes> ends;
  for (const Shuffle& shuffle : shuffles) {
    for (const Region& region : shuffle.from) {
      Bytes& end = ends[region.buffer];
      end = std::max(end, Runs(region).end);
    }
  }
  Bytes bits = 0;
  for (const auto& [buffer, end] : ends) bits += end / unit;
  return (bits + 7) / 8;
}

void shuffle(const std::vector<Shuffle>& shuffles, const Buffers& buffers, std::byte* marks) {
  const Bytes unit = unit_of(shuffles);
  const auto size = static_cast<std::size_t>(unit);
  const Sources sources(shuffles, unit);
  std::vector<Targets> to;
  for (const Shuffle& shuffle : shuffles) to.emplace_back(shuffle.to);
  Marks taken(marks);
  std::vector<std::byte> carried(size);
  for (std::size_t i = 0; i < sources.from().size(); ++i) {
    const Runs& from = sources.from()[i];
    for (Bytes index = 0; index < from.bytes; index += unit) {
      const Bytes start = from.place(index);
      if (taken.set(sources.bit(from.buffer, start))) continue;
      std::memcpy(carried.data(), buffers[from.buffer] + start, size);
      // Follow the chain: put the carried unit down, and pick up the unit that was in this place.
      for (Sources::Found now{sources.starts()[i].shuffle, sources.starts()[i].index + index};;) {
        const Targets::Place place = to[now.shuffle].place(now.index);
        std::byte* there = buffers[place.buffer] + place.at;
        const auto next = sources.find(place.buffer, place.at);
        if (!next || taken.set(sources.bit(place.buffer, place.at))) {
          std::memcpy(there, carried.data(), size);
          break;
        }
        std::swap_ranges(carried.begin(), carried.end(), there);
        now = *next;
      }
    }
  }
}

}  // namespace weft::reshard::execute
