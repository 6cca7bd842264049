// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

Buffers buffers_of(naive::Memory& memory) {
  Buffers buffers;
  for (auto& numbers : memory) buffers.push_back(reinterpret_cast<std::byte*>(numbers.data()));
  return buffers;
}

/// Runs the programs of all devices and delivers their packets in random order.
class PacketExchange {
 public:
  PacketExchange(const std::vector<Program>& programs, Bytes least_direct) : programs_(programs) {
    for (const Program& program : programs) turns_.push_back(packets_of(program, least_direct));
  }

  void run(std::vector<naive::Memory>& memory, std::mt19937& random) {
    for (std::size_t device = 0; device < programs_.size(); ++device) {
      fill(programs_[device], programs_[device].neutral, buffers_of(memory[device]));
    }
    for (std::size_t turn = 0; turn < turns_[0].size(); ++turn) {
      for (std::size_t device = 0; device < programs_.size(); ++device) {
        send(turn, device, buffers_of(memory[device]));
      }
      for (std::size_t device = 0; device < programs_.size(); ++device) {
        receive(turn, device, buffers_of(memory[device]), random);
      }
    }
  }

 private:
  using Payload = std::vector<std::byte>;

  void send(std::size_t turn, std::size_t device, const Buffers& buffers) {
    for (const Packet& packet : turns_[device][turn].sends) {
      Payload payload(static_cast<std::size_t>(packet.bytes));
      pack(programs_[device], packet, buffers, payload.data());
      if (packet.direct()) {
        const Region& region = packet.parts[0].region;
        EXPECT_TRUE(
            std::equal(payload.begin(), payload.end(), buffers[region.buffer] + region.offset));
      }
      in_flight_[{static_cast<Device>(device), packet.peer}].push_back(std::move(payload));
    }
  }

  void receive(std::size_t turn, std::size_t device, const Buffers& buffers, std::mt19937& random) {
    const PacketTurn& mine = turns_[device][turn];
    prepare(programs_[device], mine, buffers);
    std::vector<std::pair<const Packet*, Payload>> come;
    for (const Packet& packet : mine.receives) {
      auto& queue = in_flight_[{packet.peer, static_cast<Device>(device)}];
      ASSERT_FALSE(queue.empty());
      ASSERT_EQ(queue.front().size(), static_cast<std::size_t>(packet.bytes));
      come.emplace_back(&packet, std::move(queue.front()));
      queue.pop_front();
    }
    std::shuffle(come.begin(), come.end(), random);
    for (const auto& [packet, payload] : come) {
      unpack(programs_[device], *packet, payload.data(), buffers);
    }
  }

  const std::vector<Program>& programs_;
  std::vector<std::vector<PacketTurn>> turns_;
  std::map<std::pair<Device, Device>, std::deque<Payload>> in_flight_;
};

TEST(Packets, MayArriveInAnyOrder) {
  std::mt19937 random(3);
  for (unsigned seed = 0; seed < 120; ++seed) {
    const RandomShape kind{
        .even = seed % 5 == 0, .partial = seed % 2 == 1, .other_mesh = seed % 3 == 0};
    const Problem problem = random_problem(seed, kind);
    if (elements(problem.shape) > 20'000) continue;
    SCOPED_TRACE(seed);
    const auto plan = make_plan(problem, {});
    ASSERT_TRUE(plan);
    const std::vector<Array> arrays{{&problem, &*plan, {"u32", "sum"}}};
    std::vector<Program> programs;
    for (Device device = 0; device < problem.source.devices(); ++device) {
      auto program = make_program(arrays, device, {.budget = seed % 4 == 0 ? 400 : 0});
      ASSERT_TRUE(program) << program.error().text();
      programs.push_back(std::move(*program));
    }
    for (const Bytes least_direct : {1, 64, 1 << 20}) {
      std::vector<naive::Memory> memory = naive::fill(programs, arrays);
      PacketExchange(programs, least_direct).run(memory, random);
      ASSERT_EQ(naive::check(memory, arrays), "");
    }
  }
}

TEST(Packets, LongRegionsAreSentDirectly) {
  Program program;
  const auto region = [](Bytes offset, Bytes bytes) {
    return Region{0, 0, offset, 4, {{bytes / 4, 4}}};
  };
  Turn& turn = program.turns.emplace_back();
  turn.sends.push_back({1, true, 0, {region(0, 8), region(8, 8), region(16, 400), region(416, 4)}});
  const auto turns = packets_of(program, 100);
  std::vector<Bytes> sizes;
  for (const Packet& packet : turns[0].sends) sizes.push_back(packet.bytes);
  EXPECT_EQ(sizes, (std::vector<Bytes>{16, 400, 4}));
  EXPECT_FALSE(turns[0].sends[0].direct());
  EXPECT_TRUE(turns[0].sends[1].direct());
}

}  // namespace
}  // namespace weft::reshard::execute
