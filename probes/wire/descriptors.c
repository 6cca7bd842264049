/* SPDX-License-Identifier: Apache-2.0
 * The calls after which a descriptor is something else. Those that libc makes inside itself, as
 * fclose() does, are not seen; a socket that gets the number next is looked at anew all the same.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/wire/connections.h"
#include "probes/wire/next.h"

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

/* Before the call: once it is done another thread may have the number again. */
WEFT_EXPORT int close(int fd) {
  WEFT_NEXT(close);
  weft_forget(fd);
  return next(fd);
}

WEFT_EXPORT int close_range(unsigned first, unsigned last, int flags) {
  WEFT_NEXT(close_range);
  /* With CLOSE_RANGE_CLOEXEC they are closed by the program that comes next. */
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

/* Every command takes a word or nothing, so a word can always be handed on. */
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
