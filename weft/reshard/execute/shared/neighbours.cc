// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared/neighbours.h"

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
#pragma GCC diagnostic ignored "-Wtsan"  // which does not see it, and needs not: it orders no data
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

/// What tells a namespace of the kernel from others; 0: unknown.
std::uint64_t namespace_number(const char* path) {
  struct stat facts {};
  return stat(path, &facts) == 0 ? facts.st_ino : 0;
}
/// Numbers of processes mean something within this alone.
std::uint64_t numbers_of_processes() { return namespace_number("/proc/self/ns/pid"); }
/// Hosts of a testbed share a machine and have networks of their own.
std::uint64_t own_network() { return namespace_number("/proc/self/ns/net"); }

}  // namespace

struct Neighbours::Board {
  static constexpr std::size_t kWhy = 256;
  std::uint64_t magic;
  std::int64_t devices;
  Bytes area;
  std::uint64_t network;
  alignas(64) std::atomic<std::uint32_t> given_up;  ///< 0: nobody; 1: being written; 2: read it
  std::int32_t who;
  char why[kWhy];
};

struct alignas(64) Neighbours::Seat {
  std::atomic<std::uint32_t> bell, left;
  std::atomic<std::uint32_t> dozing;  ///< 0: awake; else what for, see Until
  std::atomic<std::int32_t> process;
  std::atomic<std::uint64_t> numbers;  ///< see numbers_of_processes()
};

Result<Neighbours> Neighbours::create(Device devices, Bytes area) {
  const Bytes whole = whole_pages(area);
  WEFT_ASSIGN(HostMemory memory, HostMemory::create(head_bytes(devices) + devices * whole));
  Neighbours made(std::move(memory), devices, whole);
  // Fresh memory is zeroes, which is what everything else begins with.
  made.board().devices = devices;
  made.board().area = whole;
  made.board().network = own_network();
  made.board().magic = kMagic;
  return made;
}

Result<Neighbours> Neighbours::join(const std::string& name, Device devices) {
  WEFT_ASSIGN(HostMemory memory, HostMemory::open(name));
  const Bytes head = head_bytes(devices), bytes = memory.bytes();
  Neighbours found(std::move(memory), devices, 0);
  if (bytes < head || found.board().magic != kMagic || found.board().devices != devices ||
      bytes != head + devices * found.board().area) {
    return fail(ErrorCode::kUnavailable, name + " is not shared by " + std::to_string(devices) +
                                             " processes of this version");
  }
  if (found.board().network != own_network()) {
    return fail(ErrorCode::kUnavailable, name + " is shared by processes of another host");
  }
  found.area_ = found.board().area;
  return found;
}

Bytes Neighbours::head_bytes(Device devices) {
  return whole_pages(static_cast<Bytes>(sizeof(Board) + devices * sizeof(Seat)) +
                     Bytes{devices} * devices * static_cast<Bytes>(sizeof(NeighbourLane)));
}

Neighbours::Board& Neighbours::board() const { return *reinterpret_cast<Board*>(memory_.data()); }

Neighbours::Seat& Neighbours::seat(Device device) const {
  return reinterpret_cast<Seat*>(memory_.data() + sizeof(Board))[device];
}

NeighbourLane& Neighbours::lane(Device from, Device to) const {
  std::byte* first = memory_.data() + sizeof(Board) + devices_ * sizeof(Seat);
  return reinterpret_cast<NeighbourLane*>(first)[Bytes{from} * devices_ + to];
}

std::byte* Neighbours::area(Device device) const {
  return memory_.data() + head_bytes(devices_) + device * area_;
}

void Neighbours::sit_down(Device self) const {
  seat(self).numbers = numbers_of_processes();
  seat(self).process = getpid();
}

void Neighbours::leave(Device self) const { seat(self).left = 1; }

// Either the sleeper sees what was written before this, or this sees that it sleeps: on both sides
// a fence stands between what is written and what is read. It waits for lines of cache that others
// have, so there is one for all letters, which are fetched at the same time.
void Neighbours::before_rings() { fence(); }

void Neighbours::ring(Device device, Until what) const {
  Seat& other = seat(device);
  if (other.dozing.load(std::memory_order_relaxed) < static_cast<std::uint32_t>(what)) return;
  // One wakes it for all that come before it is awake.
  if (other.dozing.exchange(0) == 0) return;
  other.bell.fetch_add(1);
  futex(other.bell, FUTEX_WAKE, 1, nullptr);
}

std::uint32_t Neighbours::doze_off(Device self, Until what) const {
  const std::uint32_t bell = seat(self).bell.load();
  seat(self).dozing.store(static_cast<std::uint32_t>(what));
  fence();
  return bell;
}

bool Neighbours::sleep(Device self, std::uint32_t bell, std::chrono::milliseconds most) const {
  const auto count = most.count();
  const timespec time{count / 1000, count % 1000 * 1'000'000};
  return futex(seat(self).bell, FUTEX_WAIT, bell, &time) == 0 || errno != ETIMEDOUT;
}

void Neighbours::wake_up(Device self) const {
  seat(self).dozing.store(0, std::memory_order_relaxed);
}

bool Neighbours::lost(Device self, Device peer) const {
  const Seat& other = seat(peer);
  if (other.left.load() != 0) return true;
  const std::uint64_t numbers = seat(self).numbers.load();
  if (numbers == 0 || other.numbers.load() != numbers) return false;
  // Unlike a signal to it, this also tells of processes that have ended and were not waited for.
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, other.process.load(), 0));
  if (handle < 0) return errno == ESRCH;
  pollfd asked{handle, POLLIN, 0};
  const bool ended = poll(&asked, 1, 0) > 0;
  close(handle);
  return ended;
}

void Neighbours::give_up(Device self, const std::string& why) const {
  std::uint32_t nobody = 0;
  if (!board().given_up.compare_exchange_strong(nobody, 1)) return;
  board().who = self;
  std::strncpy(board().why, why.c_str(), Board::kWhy - 1);
  board().given_up.store(2);
  before_rings();
  for (Device device = 0; device < devices_; ++device) ring(device, Until::kLetters);
}

bool Neighbours::anybody_gave_up() const { return board().given_up.load() == 2; }

Error Neighbours::last_words() const {
  return {ErrorCode::kPeerFailed,
          "device " + std::to_string(board().who) + " gave up: " + board().why,
          {},
          -1};
}

}  // namespace weft::reshard::execute
