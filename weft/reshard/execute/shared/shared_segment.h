// SPDX-License-Identifier: Apache-2.0
// The memory that processes of one host share to exchange chunks. For each process: an area for the
// chunks that it has packed, and a counter to sleep on. For each pair of processes: a queue that
// says where chunks lie. And one record of who gave up first, and why. shared.h runs programs on
// it.
#pragma once

#include <atomic>
#include <chrono>

#include "weft/reshard/execute/shared/host_memory.h"
#include "weft/reshard/plan.h"

namespace weft::reshard::execute {

/// Announces a chunk: says where it lies in the sender's area, or contains it if it is short.
struct alignas(64) QueueEntry {
  static constexpr Bytes kInline = -1;
  static constexpr Bytes kMostInline = 96;

  /// The number of this entry in its queue, counted from 1. It is written last and read first, so
  /// one look tells whether the entry is there, and fetches it.
  std::atomic<std::uint64_t> number;
  std::uint64_t fingerprint;  ///< of the program that it belongs to
  Bytes offset;               ///< in the area, or kInline
  Bytes bytes;
  std::byte inline_bytes[kMostInline];
};

/// A queue from one process to another, as a ring of entries. Only the sender writes entries, only
/// the receiver writes `taken`.
struct SharedQueue {
  static constexpr std::uint64_t kEntries = 32;
  alignas(64) std::atomic<std::uint64_t> taken;  ///< entries that the receiver has read
  QueueEntry entries[kEntries];

  /// The place of the entry with that number.
  QueueEntry& entry(std::uint64_t number) { return entries[number % kEntries]; }
};

class SharedSegment {
 public:
  /// `area`: bytes of each process's area for chunks.
  static Result<SharedSegment> create(Device devices, Bytes area);
  /// Joins a segment that another process created. An Error (kUnavailable) on another host, or if
  /// the segment is not one of this version for that many devices.
  static Result<SharedSegment> join(const std::string& name, Device devices);

  const std::string& name() const { return memory_.name(); }
  /// To be called when all have joined. After that nothing is left on the host, however processes
  /// end.
  void make_private() { memory_.make_private(); }

  /// Registers this process as device `self`. To be called first, before others wait for it.
  void attach(Device self) const;
  void detach(Device self) const;

  Device devices() const { return devices_; }
  Bytes area_bytes() const { return area_; }
  std::byte* area(Device device) const;
  SharedQueue& queue(Device from, Device to) const;

  /// What a sleeping process waits for: new entries, or also space in a queue or in its area.
  enum class WaitFor : std::uint32_t { kEntries = 1, kSpaceOrEntries = 2 };
  /// To be called between writing or taking entries and wake(); once for any number of both.
  static void fence_before_wakes();
  /// After an entry for `device` was written (kEntries), or one of its own entries was taken
  /// (kSpaceOrEntries): wakes it if it sleeps and waits for that.
  void wake(Device device, WaitFor what) const;
  /// Announces that this process is about to sleep. It then sees everything written before, and
  /// whatever is written later wakes it. So look once more, then call sleep() with the returned
  /// number.
  std::uint32_t announce_sleep(Device self, WaitFor what) const;
  /// Sleeps until another process calls wake(), at most for `most`. False: nobody did.
  bool sleep(Device self, std::uint32_t wake_count, std::chrono::milliseconds most) const;
  void end_sleep(Device self) const;

  /// Whether a process has detached or ended, as far as the kernel tells.
  bool lost(Device self, Device peer) const;

  /// Tells all others to give up. Only the first call counts.
  void abort(Device self, const std::string& why) const;
  bool aborted() const;
  /// Who gave up, and why.
  Error abort_reason() const;

 private:
  struct Header;
  struct PeerState;
  SharedSegment(HostMemory memory, Device devices, Bytes area)
      : memory_(std::move(memory)), devices_(devices), area_(area) {}
  static Bytes head_bytes(Device devices);
  Header& header() const;
  PeerState& state(Device device) const;

  HostMemory memory_;
  Device devices_;
  Bytes area_;
};

}  // namespace weft::reshard::execute
