/* SPDX-License-Identifier: Apache-2.0
 * Wraps the functions that create, copy or close file descriptors. After such a call, the probe
 * forgets what the number of the descriptor referred to before. The wrappers do not see calls
 * inside of libc, for example the close() in fclose(). This does no harm: a new socket with the
 * same number comes from the wrapper of socket() or accept() in this file, which makes the probe
 * examine the number again. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/wire/connections.h"
#include "probes/wire/next.h"

/* Takes a new descriptor, and forgets what its number referred to before. */
static int fresh(int fd) {
  if (fd >= 0) weft_forget(fd);
  return fd;
}

WEFT_EXPORT int socket(int domain, int type, int protocol) {
  WEFT_NEXT(socket);
  return fresh(next(domain, type, protocol));
}

WEFT_EXPORT int accept(int fd, struct sockaddr* address, socklen_t* length) {
  WEFT_NEXT(accept);
  return fresh(next(fd, address, length));
}

WEFT_EXPORT int accept4(int fd, struct sockaddr* address, socklen_t* length, int flags) {
  WEFT_NEXT(accept4);
  return fresh(next(fd, address, length, flags));
}

/* Forgets the descriptor before the call, because after the call another thread may already have a
 * new connection with the same number. */
WEFT_EXPORT int close(int fd) {
  WEFT_NEXT(close);
  weft_forget(fd);
  return next(fd);
}

WEFT_EXPORT int close_range(unsigned first, unsigned last, int flags) {
  WEFT_NEXT(close_range);
  /* CLOSE_RANGE_CLOEXEC (4) only marks the descriptors to be closed at exec(). */
  if (!(flags & 4)) weft_forget_range(first, last);
  return next(first, last, flags);
}

WEFT_EXPORT void closefrom(int first) {
  WEFT_NEXT(closefrom);
  weft_forget_range(first < 0 ? 0 : (unsigned)first, kDescriptors - 1);
  next(first);
}

WEFT_EXPORT int dup(int fd) {
  WEFT_NEXT(dup);
  const int copy = next(fd);
  if (copy >= 0) weft_copy(fd, copy);
  return copy;
}

WEFT_EXPORT int dup2(int fd, int wanted) {
  WEFT_NEXT(dup2);
  const int copy = next(fd, wanted);
  if (copy >= 0 && copy != fd) weft_copy(fd, copy);
  return copy;
}

WEFT_EXPORT int dup3(int fd, int wanted, int flags) {
  WEFT_NEXT(dup3);
  const int copy = next(fd, wanted, flags);
  if (copy >= 0) weft_copy(fd, copy);
  return copy;
}

/* Every command of fcntl() takes one argument of at most pointer size, or none. So passing on one
 * pointer is always correct. */
#define FCNTL(name)                                                      \
  WEFT_EXPORT int name(int fd, int command, ...) {                       \
    WEFT_NEXT(name);                                                     \
    va_list arguments;                                                   \
    va_start(arguments, command);                                        \
    void* argument = va_arg(arguments, void*);                           \
    va_end(arguments);                                                   \
    const int result = next(fd, command, argument);                      \
    const int copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC; \
    if (copies && result >= 0) weft_copy(fd, result);                    \
    return result;                                                       \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
