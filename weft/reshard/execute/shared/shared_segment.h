// SPDX-License-Identifier: Apache-2.0
// The memory that processes of one host share to exchange chunks. shared.h runs programs on it. It
// contains:
// - for each process, an area for the chunks that it has packed, and a counter on which it sleeps;
// - for each pair of processes, a queue of entries that say where chunks lie;
// - one record of which process gave up first, and why.
#pragma once

#include <atomic>
#include <chrono>

#include "weft/reshard/execute/shared/host_memory.h"
#include "weft/reshard/plan.h"

namespace weft::reshard::execute {

/// Announces a chunk to a receiver. The entry says where the chunk lies in the sender's area. If
/// the chunk is short, the entry contains it.
struct alignas(64) QueueEntry {
  static constexpr Bytes kInline = -1;
  static constexpr Bytes kMostInline = 96;

  /// The number of this entry in its queue, counted from 1. The sender writes it last, and the
  /// receiver reads it first. So the receiver reads one cache line to see whether the entry is
  /// there, and this read also fetches the entry.
  std::atomic<std::uint64_t> number;
  std::uint64_t fingerprint;  ///< of the program that it belongs to
  Bytes offset;               ///< of the chunk in the sender's area, or kInline
  Bytes bytes;
  std::byte inline_bytes[kMostInline];
};

/// A queue from one process to another. It is a ring of entries. Only the sender writes entries,
/// and only the receiver writes `taken`.
struct SharedQueue {
  static constexpr std::uint64_t kEntries = 32;
  alignas(64) std::atomic<std::uint64_t> taken;  ///< entries that the receiver has read
  QueueEntry entries[kEntries];

  /// The place of the entry with that number.
  QueueEntry& entry(std::uint64_t number) { return entries[number % kEntries]; }
};

class SharedSegment {
 public:
  /// Creates a segment. `area` is the size of each process's area for chunks.
  static Result<SharedSegment> create(Device devices, Bytes area);
  /// Joins a segment that another process created. Returns an Error (kUnavailable) on another host,
  /// or if the segment is for another number of devices or from another version of Weft.
  static Result<SharedSegment> join(const std::string& name, Device devices);

  const std::string& name() const { return memory_.name(); }
  /// Call this when all processes have joined. After that, no name is left on the host, and the
  /// memory is freed when the last process ends.
  void make_private() { memory_.make_private(); }

  /// Registers this process as device `self`. Call this first, before other processes wait for this
  /// process.
  void attach(Device self) const;
  void detach(Device self) const;

  Device devices() const { return devices_; }
  Bytes area_bytes() const { return area_; }
  std::byte* area(Device device) const;
  SharedQueue& queue(Device from, Device to) const;

  /// What a sleeping process waits for: only new entries, or also space in a queue or in its own
  /// area.
  enum class WaitFor : std::uint32_t { kEntries = 1, kSpaceOrEntries = 2 };
  /// Call this after writing or taking entries and before wake(). One call is enough for any number
  /// of entries and wakes.
  static void fence_before_wakes();
  /// Call this after writing an entry for `device` (kEntries), or after taking an entry that
  /// `device` wrote (kSpaceOrEntries). Wakes the device if it sleeps and waits for that.
  void wake(Device device, WaitFor what) const;
  /// Announces that this process is about to sleep. After the call, it sees everything that was
  /// written before. Whatever is written later wakes it. So look for entries once more after this
  /// call. Then call sleep() with the returned number.
  std::uint32_t announce_sleep(Device self, WaitFor what) const;
  /// Sleeps until another process calls wake(), but at most for `most`. Returns false if no process
  /// called it.
  bool sleep(Device self, std::uint32_t wake_count, std::chrono::milliseconds most) const;
  void end_sleep(Device self) const;

  /// Whether process `peer` has detached, or has ended as far as the kernel can tell.
  bool lost(Device self, Device peer) const;

  /// Tells all other processes to give up. Only the first call has an effect.
  void abort(Device self, const std::string& why) const;
  bool aborted() const;
  /// An Error that says which process gave up, and why.
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
