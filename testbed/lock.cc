// SPDX-License-Identifier: Apache-2.0
// Locks files with flock(). Such a lock belongs to the open file, so the kernel releases it when
// the process ends. A file that contains the process id of its owner would be less safe: after the
// owner has ended, a later process can have the same id.
#include "testbed/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::testbed {
namespace {

tl::unexpected<Error> cannot_lock(const std::string& path) {
  const char* reason = errno == EACCES ? "a testbed needs root: cannot lock" : "cannot lock";
  return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", reason, std::strerror(errno)), path);
}

/// Opens the file with O_CLOEXEC: if programs that this process starts inherited the descriptor,
/// they would hold the lock even after this process has ended.
int open_for_lock(const std::string& path) {
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

}  // namespace

Result<Lock> Lock::wait_for(const std::string& path) {
  Lock lock(open_for_lock(path));
  if (lock.descriptor_ < 0) return cannot_lock(path);
  while (::flock(lock.descriptor_, LOCK_EX) != 0) {
    if (errno != EINTR) return cannot_lock(path);
  }
  return lock;
}

Result<std::optional<Lock>> Lock::try_take(const std::string& path) {
  Lock lock(open_for_lock(path));
  if (lock.descriptor_ < 0) return cannot_lock(path);
  if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) == 0)
    return std::optional<Lock>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<Lock>();
  return cannot_lock(path);
}

Lock& Lock::operator=(Lock&& other) noexcept {
  release();
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

void Lock::release() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace weft::testbed
