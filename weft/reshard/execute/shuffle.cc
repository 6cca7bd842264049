// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shuffle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "weft/reshard/execute/region.h"

namespace weft::reshard::execute {
namespace {

/// A region as runs of bytes that lie side by side.
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

  /// Where byte `index` of the walk lies.
  Bytes place(Bytes index) const {
    Bytes at = offset + index % run;
    index /= run;
    for (std::size_t i = loops.size(); i-- > 0;) {
      at += index % loops[i].extent * loops[i].stride;
      index /= loops[i].extent;
    }
    return at;
  }
  /// The byte of the walk that lies at `at`; -1: none. Loops are those of a dense array, each
  /// longer than all inside it.
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

/// The longest piece that all runs begin and end at multiples of.
Bytes unit_of(const std::vector<Move>& moves) {
  Bytes unit = 0;
  for (const Move& move : moves) {
    for (const Region* region : {&move.from, &move.to}) {
      const Runs runs(*region);
      unit = std::gcd(std::gcd(unit, runs.offset), runs.run);
      for (const Loop& loop : runs.loops) unit = std::gcd(unit, loop.stride);
    }
  }
  return unit;
}

/// Finds what is to be done with a unit, by where it lies.
class Sources {
 public:
  struct Found {
    std::size_t move;
    Bytes index;
  };

  Sources(const std::vector<Move>& moves, Bytes unit) : unit_(unit) {
    for (const Move& move : moves) from_.emplace_back(move.from);
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

  /// nullopt: nothing that is to be moved lies there.
  std::optional<Found> find(std::int32_t buffer, Bytes at) const {
    const auto space = spaces_.find(buffer);
    if (space == spaces_.end() || at >= space->second.end) return {};
    for (const std::size_t i :
         space->second.moves[static_cast<std::size_t>(at / space->second.bucket)]) {
      const Bytes index = from_[i].index(at);
      if (index >= 0) return Found{i, index};
    }
    return {};
  }

  /// Number of the unit that lies there, among all of them.
  Bytes bit(std::int32_t buffer, Bytes at) const {
    return spaces_.at(buffer).first_bit + at / unit_;
  }
  const std::vector<Runs>& from() const { return from_; }

 private:
  struct Space {
    Bytes end = 0, bucket = 1, first_bit = 0;
    std::array<std::vector<std::size_t>, 256> moves;  ///< by where they may lie
  };
  Bytes unit_;
  std::vector<Runs> from_;
  std::map<std::int32_t, Space> spaces_;
};

class Marks {
 public:
  explicit Marks(std::byte* memory) : memory_(memory) {}
  /// Whether it was set before.
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

Bytes mark_bytes(const std::vector<Move>& moves) {
  const Bytes unit = unit_of(moves);
  std::map<std::int32_t, Bytes> ends;
  for (const Move& move : moves) {
    Bytes& end = ends[move.from.buffer];
    end = std::max(end, Runs(move.from).end);
  }
  Bytes bits = 0;
  for (const auto& [buffer, end] : ends) bits += end / unit;
  return (bits + 7) / 8;
}

void shuffle(const std::vector<Move>& moves, const Buffers& buffers, std::byte* marks) {
  const Bytes unit = unit_of(moves);
  const auto size = static_cast<std::size_t>(unit);
  const Sources sources(moves, unit);
  std::vector<Runs> to;
  for (const Move& move : moves) to.emplace_back(move.to);
  Marks taken(marks);
  std::vector<std::byte> carried(size);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Runs& from = sources.from()[i];
    for (Bytes index = 0; index < from.bytes; index += unit) {
      const Bytes start = from.place(index);
      if (taken.set(sources.bit(from.buffer, start))) continue;
      std::memcpy(carried.data(), buffers[from.buffer] + start, size);
      // Puts down what it carries and takes up what lay there, until there is nothing.
      for (Sources::Found now{i, index};;) {
        const Runs& target = to[now.move];
        const Bytes place = target.place(now.index);
        std::byte* there = buffers[target.buffer] + place;
        const auto next = sources.find(target.buffer, place);
        if (!next || taken.set(sources.bit(target.buffer, place))) {
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
