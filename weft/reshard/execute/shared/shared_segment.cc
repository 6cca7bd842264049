// SPDX-License-Identifier: Apache-2.0
// Memory layout of a segment: first a header, then the state of each process, then the queues of
// all pairs of processes, and then the areas for chunks, which begin at a page boundary.
//
// Sleeping must not miss a wake-up. A sleeper first announces itself, and then looks for entries
// once more. A sender first writes an entry, and then looks whether the receiver sleeps. On both
// sides there is a full fence between the two steps. So at least one of the two processes sees what
// the other has written.
#include "weft/reshard/execute/shared/shared_segment.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace weft::reshard::execute {
namespace {

constexpr std::uint64_t kMagic = 0x3174666577736e67u;
constexpr Bytes kPage = 4096;

constexpr Bytes whole_pages(Bytes bytes) { return (bytes + kPage - 1) / kPage * kPage; }

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* most) {
  static_assert(sizeof word == sizeof(std::uint32_t) &&
                std::atomic<std::uint32_t>::is_always_lock_free);
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, most, nullptr, 0);
}

void fence() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"  // ThreadSanitizer ignores fences; this one orders no data
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

/// Identifies a namespace of the kernel; 0: unknown.
std::uint64_t namespace_number(const char* path) {
  struct stat facts {};
  return stat(path, &facts) == 0 ? facts.st_ino : 0;
}
/// Identifies the namespace of process ids. A process id has a meaning only within its namespace.
std::uint64_t numbers_of_processes() { return namespace_number("/proc/self/ns/pid"); }
/// Identifies the network of this process. Emulated hosts of a testbed are on one machine but have
/// separate networks.
std::uint64_t own_network() { return namespace_number("/proc/self/ns/net"); }

}  // namespace

struct SharedSegment::Header {
  static constexpr std::size_t kWhy = 256;
  std::uint64_t magic;
  std::int64_t devices;
  Bytes area;
  std::uint64_t network;
  alignas(64) std::atomic<std::uint32_t> abort_state;  ///< 0: none; 1: being written; 2: readable
  std::int32_t who;
  char why[kWhy];
};

struct alignas(64) SharedSegment::PeerState {
  std::atomic<std::uint32_t> wake_count, left;
  /// 0: awake; otherwise what the process waits for, see WaitFor.
  std::atomic<std::uint32_t> sleeping;
  std::atomic<std::int32_t> process;
  std::atomic<std::uint64_t> numbers;  ///< see numbers_of_processes()
};

Result<SharedSegment> SharedSegment::create(Device devices, Bytes area) {
  const Bytes whole = whole_pages(area);
  WEFT_ASSIGN(HostMemory memory, HostMemory::create(head_bytes(devices) + devices * whole));
  SharedSegment made(std::move(memory), devices, whole);
  // Fresh memory is filled with 0, which is the initial state of everything else.
  made.header().devices = devices;
  made.header().area = whole;
  made.header().network = own_network();
  made.header().magic = kMagic;
  return made;
}

Result<SharedSegment> SharedSegment::join(const std::string& name, Device devices) {
  WEFT_ASSIGN(HostMemory memory, HostMemory::open(name));
  const Bytes head = head_bytes(devices), bytes = memory.bytes();
  SharedSegment found(std::move(memory), devices, 0);
  if (bytes < head || found.header().magic != kMagic || found.header().devices != devices ||
      bytes != head + devices * found.header().area) {
    return fail(ErrorCode::kUnavailable, name + " is not shared by " + std::to_string(devices) +
                                             " processes of this version of Weft");
  }
  if (found.header().network != own_network()) {
    return fail(ErrorCode::kUnavailable, name + " is shared by processes of another host");
  }
  found.area_ = found.header().area;
  return found;
}

Bytes SharedSegment::head_bytes(Device devices) {
  return whole_pages(static_cast<Bytes>(sizeof(Header) + devices * sizeof(PeerState)) +
                     Bytes{devices} * devices * static_cast<Bytes>(sizeof(SharedQueue)));
}

SharedSegment::Header& SharedSegment::header() const {
  return *reinterpret_cast<Header*>(memory_.data());
}

SharedSegment::PeerState& SharedSegment::state(Device device) const {
  return reinterpret_cast<PeerState*>(memory_.data() + sizeof(Header))[device];
}

SharedQueue& SharedSegment::queue(Device from, Device to) const {
  std::byte* first = memory_.data() + sizeof(Header) + devices_ * sizeof(PeerState);
  return reinterpret_cast<SharedQueue*>(first)[Bytes{from} * devices_ + to];
}

std::byte* SharedSegment::area(Device device) const {
  return memory_.data() + head_bytes(devices_) + device * area_;
}

void SharedSegment::attach(Device self) const {
  state(self).numbers = numbers_of_processes();
  state(self).process = getpid();
}

void SharedSegment::detach(Device self) const { state(self).left = 1; }

// The head of this file explains the fence. A fence waits for cache lines that other processes
// have. So there is only one fence for all entries, and their lines are fetched at the same time.
void SharedSegment::fence_before_wakes() { fence(); }

void SharedSegment::wake(Device device, WaitFor what) const {
  PeerState& other = state(device);
  if (other.sleeping.load(std::memory_order_relaxed) < static_cast<std::uint32_t>(what)) return;
  // Several senders may see that the device sleeps. Only one of them wakes it.
  if (other.sleeping.exchange(0) == 0) return;
  other.wake_count.fetch_add(1);
  futex(other.wake_count, FUTEX_WAKE, 1, nullptr);
}

std::uint32_t SharedSegment::announce_sleep(Device self, WaitFor what) const {
  const std::uint32_t wake_count = state(self).wake_count.load();
  state(self).sleeping.store(static_cast<std::uint32_t>(what));
  fence();
  return wake_count;
}

bool SharedSegment::sleep(Device self, std::uint32_t wake_count,
                          std::chrono::milliseconds most) const {
  const auto count = most.count();
  const timespec time{count / 1000, count % 1000 * 1'000'000};
  return futex(state(self).wake_count, FUTEX_WAIT, wake_count, &time) == 0 || errno != ETIMEDOUT;
}

void SharedSegment::end_sleep(Device self) const {
  state(self).sleeping.store(0, std::memory_order_relaxed);
}

bool SharedSegment::lost(Device self, Device peer) const {
  const PeerState& other = state(peer);
  if (other.left.load() != 0) return true;
  const std::uint64_t numbers = state(self).numbers.load();
  if (numbers == 0 || other.numbers.load() != numbers) return false;
  // Unlike kill(pid, 0), a pidfd also shows that a process has ended if it is still a zombie.
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, other.process.load(), 0));
  if (handle < 0) return errno == ESRCH;
  pollfd asked{handle, POLLIN, 0};
  const bool ended = poll(&asked, 1, 0) > 0;
  close(handle);
  return ended;
}

void SharedSegment::abort(Device self, const std::string& why) const {
  std::uint32_t nobody = 0;
  if (!header().abort_state.compare_exchange_strong(nobody, 1)) return;
  header().who = self;
  std::strncpy(header().why, why.c_str(), Header::kWhy - 1);
  header().abort_state.store(2);
  fence_before_wakes();
  for (Device device = 0; device < devices_; ++device) wake(device, WaitFor::kEntries);
}

bool SharedSegment::aborted() const { return header().abort_state.load() == 2; }

Error SharedSegment::abort_reason() const {
  return {ErrorCode::kPeerFailed,
          "device " + std::to_string(header().who) + " gave up: " + header().why,
          {},
          -1};
}

}  // namespace weft::reshard::execute
