// SPDX-License-Identifier: Apache-2.0
// What processes of one host share to exchange chunks: an area a process for those that it has
// packed, a lane a pair that says where they lie, a bell a process for those that sleep, and a
// board for whoever gives up. shared.h runs programs on it.
#pragma once

#include <atomic>
#include <chrono>

#include "weft/reshard/execute/shared/host_memory.h"
#include "weft/reshard/plan.h"

namespace weft::reshard::execute {

/// A chunk: where it lies in the sender's area, or itself where it is short.
struct alignas(64) Letter {
  static constexpr Bytes kInside = -1;
  static constexpr Bytes kMostInside = 96;

  /// Which letter of the lane this is, counted from 1. Written last, and read first: so one look
  /// tells whether it has come, and brings it.
  std::atomic<std::uint64_t> number;
  std::uint64_t fingerprint;  ///< of the program that it is part of
  Bytes offset;               ///< in the area, or kInside
  Bytes bytes;
  std::byte inside[kMostInside];
};

/// From one process to another. Only the sender writes letters, only the receiver `taken`.
struct NeighbourLane {
  static constexpr std::uint64_t kLetters = 32;
  alignas(64) std::atomic<std::uint64_t> taken;
  Letter letters[kLetters];

  /// Where the letter with that number is.
  Letter& letter(std::uint64_t number) { return letters[number % kLetters]; }
};

class Neighbours {
 public:
  /// `area`: bytes for chunks of each process.
  static Result<Neighbours> create(Device devices, Bytes area);
  /// An Error (kUnavailable) where this is another host, or other processes than those meant.
  static Result<Neighbours> join(const std::string& name, Device devices);

  const std::string& name() const { return memory_.name(); }
  /// When all have joined. Nothing is left on the host after that, however processes end.
  void close_door() { memory_.make_private(); }

  /// Says who this is. Before anything else, and before others wait for it.
  void sit_down(Device self) const;
  void leave(Device self) const;

  Device devices() const { return devices_; }
  Bytes area_bytes() const { return area_; }
  std::byte* area(Device device) const;
  NeighbourLane& lane(Device from, Device to) const;

  /// What those that sleep wait for.
  enum class Until : std::uint32_t { kLetters = 1, kRoomOrLetters = 2 };
  /// Between letters written or taken and the rings that tell of them: one for any number of both.
  static void before_rings();
  /// After a letter was written for `device`, or, with kRoomOrLetters, after one of its own was
  /// taken: wakes it if it sleeps and waits for that.
  void ring(Device device, Until what) const;
  /// About to sleep. What was written before is seen after this, and whatever is written later
  /// rings: so look once more, then call sleep() with the number.
  std::uint32_t doze_off(Device self, Until what) const;
  /// Until somebody rings, or for so long; false: nobody did.
  bool sleep(Device self, std::uint32_t bell, std::chrono::milliseconds most) const;
  void wake_up(Device self) const;

  /// Whether a process has left or ended, as far as one can tell.
  bool lost(Device self, Device peer) const;

  /// Tells all others. The first one counts.
  void give_up(Device self, const std::string& why) const;
  bool anybody_gave_up() const;
  /// Who did, and why.
  Error last_words() const;

 private:
  struct Board;
  struct Seat;
  Neighbours(HostMemory memory, Device devices, Bytes area)
      : memory_(std::move(memory)), devices_(devices), area_(area) {}
  static Bytes head_bytes(Device devices);
  Board& board() const;
  Seat& seat(Device device) const;

  HostMemory memory_;
  Device devices_;
  Bytes area_;
};

}  // namespace weft::reshard::execute
