// SPDX-License-Identifier: Apache-2.0
// Uses POSIX shared memory. Its name exists only until all processes have opened it. Then
// make_private() removes the name, so that nothing is left in /dev/shm if processes are killed.
#include "weft/reshard/execute/shared/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <random>

namespace weft::reshard::execute {
namespace {

tl::unexpected<Error> unavailable(const std::string& what, int code) {
  return fail(ErrorCode::kUnavailable, what + ": " + std::strerror(code));
}

std::string random_name() {
  std::random_device random;
  // A random number, so that two jobs on one host do not choose the same name.
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  char name[64];
  std::snprintf(name, sizeof name, "/weft-%d-%016" PRIx64, static_cast<int>(getpid()), number);
  return name;
}

class Closing {
 public:
  explicit Closing(int descriptor) : descriptor_(descriptor) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() { close(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

Result<HostMemory> HostMemory::create(Bytes bytes) {
  HostMemory memory;
  memory.name_ = random_name();
  const int descriptor = shm_open(memory.name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor < 0) return unavailable("memory cannot be shared", errno);
  const Closing closing(descriptor);
  memory.named_ = true;
  // Allocate all pages now. If the host ran out of memory later, a write would end the process
  // (SIGBUS).
  if (const int code = posix_fallocate(descriptor, 0, bytes); code != 0) {
    return unavailable("no " + std::to_string(bytes) + " bytes of memory to share", code);
  }
  WEFT_TRY(memory.map(descriptor, bytes));
  return memory;
}

Result<HostMemory> HostMemory::open(const std::string& name) {
  HostMemory memory;
  memory.name_ = name;
  const int descriptor = shm_open(name.c_str(), O_RDWR, 0);
  if (descriptor < 0) return unavailable("no shared memory " + name, errno);
  const Closing closing(descriptor);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return unavailable(name, errno);
  WEFT_TRY(memory.map(descriptor, facts.st_size));
  return memory;
}

Status HostMemory::map(int descriptor, Bytes bytes) {
  // Without MAP_POPULATE, the first runs would have one page fault per page.
  void* data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (data == MAP_FAILED) return unavailable("shared memory cannot be used", errno);
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  return {};
}

void HostMemory::make_private() {
  if (std::exchange(named_, false)) shm_unlink(name_.c_str());
}

void fault_in(std::byte* memory, Bytes bytes) {
#if defined(MADV_POPULATE_WRITE)
  constexpr std::uintptr_t kPage = 4096;
  // Only whole pages, because the pages at the ends may hold other data.
  const std::uintptr_t low = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const std::uintptr_t high = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kPage * kPage;
  if (low < high) madvise(reinterpret_cast<void*>(low), high - low, MADV_POPULATE_WRITE);
#else
  (void)memory, (void)bytes;
#endif
}

HostMemory::~HostMemory() {
  make_private();
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

}  // namespace weft::reshard::execute
