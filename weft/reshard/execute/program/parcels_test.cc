// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/parcels.h"

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

/// Programs of all devices, whose parcels come in whatever order.
class Post {
 public:
  Post(const std::vector<Program>& programs, Bytes alone) : programs_(programs) {
    for (const Program& program : programs) turns_.push_back(parcels_of(program, alone));
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
  using Bag = std::vector<std::byte>;

  void send(std::size_t turn, std::size_t device, const Buffers& buffers) {
    for (const Parcel& parcel : turns_[device][turn].sends) {
      Bag bag(static_cast<std::size_t>(parcel.bytes));
      pack(programs_[device], parcel, buffers, bag.data());
      if (parcel.direct()) {
        const Region& region = parcel.parts[0].region;
        EXPECT_TRUE(std::equal(bag.begin(), bag.end(), buffers[region.buffer] + region.offset));
      }
      mail_[{static_cast<Device>(device), parcel.peer}].push_back(std::move(bag));
    }
  }

  void receive(std::size_t turn, std::size_t device, const Buffers& buffers, std::mt19937& random) {
    const ParcelTurn& mine = turns_[device][turn];
    prepare(programs_[device], mine, buffers);
    std::vector<std::pair<const Parcel*, Bag>> come;
    for (const Parcel& parcel : mine.receives) {
      auto& queue = mail_[{parcel.peer, static_cast<Device>(device)}];
      ASSERT_FALSE(queue.empty());
      ASSERT_EQ(queue.front().size(), static_cast<std::size_t>(parcel.bytes));
      come.emplace_back(&parcel, std::move(queue.front()));
      queue.pop_front();
    }
    std::shuffle(come.begin(), come.end(), random);
    for (const auto& [parcel, bag] : come) {
      unpack(programs_[device], *parcel, bag.data(), buffers);
    }
  }

  const std::vector<Program>& programs_;
  std::vector<std::vector<ParcelTurn>> turns_;
  std::map<std::pair<Device, Device>, std::deque<Bag>> mail_;
};

TEST(Parcels, AreRightInAnyOrderOfArrival) {
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
    for (const Bytes alone : {1, 64, 1 << 20}) {
      std::vector<naive::Memory> memory = naive::fill(programs, arrays);
      Post(programs, alone).run(memory, random);
      ASSERT_EQ(naive::check(memory, arrays), "");
    }
  }
}

TEST(Parcels, LongRegionsTravelAlone) {
  Program program;
  const auto region = [](Bytes offset, Bytes bytes) {
    return Region{0, 0, offset, 4, {{bytes / 4, 4}}};
  };
  Turn& turn = program.turns.emplace_back();
  turn.sends.push_back({1, true, 0, {region(0, 8), region(8, 8), region(16, 400), region(416, 4)}});
  const auto turns = parcels_of(program, 100);
  std::vector<Bytes> sizes;
  for (const Parcel& parcel : turns[0].sends) sizes.push_back(parcel.bytes);
  EXPECT_EQ(sizes, (std::vector<Bytes>{16, 400, 4}));
  EXPECT_FALSE(turns[0].sends[0].direct());
  EXPECT_TRUE(turns[0].sends[1].direct());
}

}  // namespace
}  // namespace weft::reshard::execute
