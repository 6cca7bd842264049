// SPDX-License-Identifier: Apache-2.0
// Runs programs element by element, in the simplest possible way. Tests compare executors with this
// reference.
#pragma once

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute::naive {

/// All arrays have this type. Sums wrap around, so no information is lost.
using Number = std::uint32_t;

/// The buffers of one device, including staging.
using Memory = std::vector<std::vector<Number>>;

/// The sources and targets in a memory, as execute() takes them. These are all buffers except
/// staging.
inline Buffers ends_of(Memory& memory) {
  Buffers buffers;
  for (std::size_t i = 0; i + 1 < memory.size(); ++i) {
    buffers.push_back(reinterpret_cast<std::byte*>(memory[i].data()));
  }
  return buffers;
}

/// A pseudo-random number that identifies a summand of an element of an array.
inline Number number_of(std::size_t array, std::size_t summand, std::size_t element) {
  std::uint64_t mixed =
      (array * 131 + summand + 1) * 0x9E3779B97F4A7C15u ^ (element + 1) * 0xC2B2AE3D27D4EB4Fu;
  mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
  return static_cast<Number>(mixed ^ (mixed >> 32));
}

/// Calls take(global index) for each element that the device holds, in the order of its buffer.
template <class Take>
void for_each_held(const Layout& layout, Device device, const Take& take) {
  for (Part part = 0; part < layout.parts(); ++part) {
    if (layout.device_of(part) != device || !layout.holds(part)) continue;
    std::vector<std::vector<std::int64_t>> positions;
    for (const Strips& strips : layout.region(part)) {
      auto& list = positions.emplace_back();
      for (const Interval& strip : strips) {
        for (std::int64_t at = strip.low; at < strip.high; ++at) list.push_back(at);
      }
    }
    std::vector<std::size_t> at(positions.size(), 0);
    for (;;) {
      std::int64_t index = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        index = index * layout.shape[i] + positions[i][at[i]];
      }
      take(static_cast<std::size_t>(index));
      std::size_t dim = at.size();
      while (dim > 0 && ++at[dim - 1] == positions[dim - 1].size()) at[--dim] = 0;
      if (dim == 0) break;
    }
  }
}

inline std::vector<std::size_t> numbers_in(const Region& region) {
  std::vector<std::size_t> places{static_cast<std::size_t>(region.offset)};
  for (const Loop& loop : region.loops) {
    std::vector<std::size_t> next;
    for (const std::size_t place : places) {
      for (std::int64_t i = 0; i < loop.extent; ++i) next.push_back(place + i * loop.stride);
    }
    places = std::move(next);
  }
  for (std::size_t& place : places) place /= sizeof(Number);
  return places;
}

/// Makes the memory of all devices. Sources are filled; targets and staging contain garbage.
inline std::vector<Memory> fill(const std::vector<Program>& programs,
                                const std::vector<Array>& arrays) {
  std::vector<Memory> memory;
  for (const Program& program : programs) {
    Memory& buffers = memory.emplace_back();
    for (const Bytes bytes : program.buffers) {
      buffers.emplace_back(static_cast<std::size_t>(bytes) / sizeof(Number), 0xDEADBEEFu);
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Layout& source = arrays[i].problem->source;
      std::size_t at = 0;
      for_each_held(source, program.self, [&](std::size_t element) {
        Number& number = buffers[2 * i][at++] = 0;
        for (std::size_t k = 0; k < source.group_of_summand.size(); ++k) {
          if (source.group_of_summand[k] == source.group[program.self]) {
            number += number_of(i, k, element);
          }
        }
      });
    }
  }
  return memory;
}

/// Returns a description of what is wrong with the targets; empty if they are right.
inline std::string check(const std::vector<Memory>& memory, const std::vector<Array>& arrays,
                         bool in_place = false) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Problem& problem = *arrays[i].problem;
    const Layout& target = problem.target;
    // The sum of each element, indexed by team, or by device if the target is not partial.
    std::map<std::int32_t, std::map<std::size_t, Number>> sums;
    for (Device device = 0; device < target.devices(); ++device) {
      std::size_t at = 0;
      const std::int32_t team = target.partial() ? target.team[device] : device;
      for_each_held(target, device, [&](std::size_t element) {
        sums[team][element] += memory[device][2 * i + (in_place ? 0 : 1)][at++];
      });
    }
    for (const auto& [team, numbers] : sums) {
      for (const auto& [element, number] : numbers) {
        Number truth = 0;
        for (std::size_t k = 0; k < problem.source.group_of_summand.size(); ++k) {
          truth += number_of(i, k, element);
        }
        if (number != truth) {
          return "array " + std::to_string(i) + ", device or team " + std::to_string(team) +
                 ": element " + std::to_string(element) + " is wrong";
        }
      }
    }
  }
  return "";
}

/// Runs all programs, one device after the other within each turn, without a copy of the memory
/// from before the turn. So the result is right only if no device writes data that another device
/// still reads. Returns a description of what is wrong; empty if the result is right.
inline std::string run(const std::vector<Program>& programs, std::vector<Memory>& memory,
                       bool backwards) {
  const auto copy_all = [&](const std::vector<Region>& from, Memory& source,
                            const std::vector<Region>& to, Memory& target, bool add) {
    std::vector<Number*> read, write;
    for (const Region& region : from) {
      for (const std::size_t i : numbers_in(region)) read.push_back(&source[region.buffer].at(i));
    }
    for (const Region& region : to) {
      for (const std::size_t i : numbers_in(region)) write.push_back(&target[region.buffer].at(i));
    }
    for (std::size_t i = 0; i < read.size(); ++i) *write[i] = *read[i] + (add ? *write[i] : 0);
  };
  const auto copy = [&](const Region& from, Memory& source, const Region& to, Memory& target,
                        bool add) { copy_all({from}, source, {to}, target, add); };
  const auto shuffle = [&](const Turn& turn, Memory& here) {
    Memory before = here;
    for (const Shuffle& item : turn.shuffles) {
      copy_all(item.from, before, item.to, here, false);
    }
  };
  for (std::size_t device = 0; device < programs.size(); ++device) {
    if (programs[device].fingerprint != programs[0].fingerprint) return "fingerprints differ";
    if (programs[device].turns.size() != programs[0].turns.size()) return "turns differ";
    for (const Region& region : programs[device].neutral) {
      for (const std::size_t place : numbers_in(region))
        memory[device][region.buffer].at(place) = 0;
    }
  }
  for (std::size_t turn = 0; turn < programs[0].turns.size(); ++turn) {
    std::size_t sent = 0, taken = 0;
    for (const Program& program : programs) sent += program.turns[turn].sends.size();
    for (std::size_t k = 0; k < programs.size(); ++k) {
      const std::size_t device = backwards ? programs.size() - 1 - k : k;
      const Turn& mine = programs[device].turns[turn];
      for (const Move& move : mine.moves) {
        copy(move.from, memory[device], move.to, memory[device], move.add);
      }
      for (const bool add : {false, true}) {
        std::map<Device, std::size_t> seen;  // messages from each peer so far
        for (const Message& message : mine.receives) {
          const std::size_t number = seen[message.peer]++;
          if (message.add != add) continue;
          std::vector<const Message*> sends;
          for (const Message& other : programs[message.peer].turns[turn].sends) {
            if (other.peer == static_cast<Device>(device)) sends.push_back(&other);
          }
          if (number >= sends.size()) return "a message that nobody sends";
          const Message& other = *sends[number];
          if (other.bytes != message.bytes || other.add != message.add) {
            return "sender and receiver disagree on a message";
          }
          ++taken;
          if (!programs[0].in_place.empty()) {
            copy_all(other.regions, memory[message.peer], message.regions, memory[device], add);
            continue;
          }
          if (other.regions.size() != message.regions.size()) return "regions disagree";
          for (std::size_t i = 0; i < message.regions.size(); ++i) {
            const Region &from = other.regions[i], &to = message.regions[i];
            if (from.bytes() != to.bytes() || from.array != to.array) return "regions disagree";
            if (from.direct != to.direct) return "devices disagree whether to pack";
            copy(from, memory[message.peer], to, memory[device], add);
          }
        }
      }
    }
    if (sent != taken) return "a message that nobody receives";
    for (std::size_t device = 0; device < programs.size(); ++device) {
      shuffle(programs[device].turns[turn], memory[device]);
    }
  }
  return "";
}

}  // namespace weft::reshard::execute::naive
