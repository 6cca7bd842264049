/* SPDX-License-Identifier: Apache-2.0
 * libweft-wire.so, for LD_PRELOAD. It wraps every libc function that transfers bytes through a TCP
 * connection. It does not see transfers through io_uring or through direct system calls.
 * _FORTIFY_SOURCE is off here, because its inline versions of read() and recv() would conflict with
 * the definitions in this file. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probes/log/log.h"
#include "probes/wire/connections.h"
#include "probes/wire/next.h"

/* The start time of a call; 0 if the process is not recording. */
static int64_t begin(void) { return weft_log_recording() ? weft_now() : 0; }

/* Receives with these flags do not advance the offset in the stream: MSG_PEEK leaves the data in
 * the queue, and the other flags read data that is not part of the stream. */
static const int kOutsideStream = MSG_PEEK | MSG_OOB | MSG_ERRQUEUE;

/* The body of a wrapper. `call` calls the wrapped function, which returns the number of transferred
 * bytes. */
#define MOVE(fd, outgoing, call)                                       \
  do {                                                                 \
    struct connection* c = weft_connection(fd);                        \
    if (c == NULL) return call;                                        \
    const int64_t start = begin();                                     \
    const ssize_t moved = call;                                        \
    if (moved > 0) weft_transfer(c, outgoing, start, (uint64_t)moved); \
    return moved;                                                      \
  } while (0)

WEFT_EXPORT void weft_wire_record(int on) { weft_log_record(on != 0); }

__attribute__((constructor)) static void set_up(void) {
  weft_log_setup(WEFT_LOG_WIRE);
  weft_connections_setup();
}

/* -- sending -------------------------------------------------------------------------------- */

WEFT_EXPORT ssize_t write(int fd, const void* buffer, size_t size) {
  WEFT_NEXT(write);
  MOVE(fd, true, next(fd, buffer, size));
}

WEFT_EXPORT ssize_t writev(int fd, const struct iovec* parts, int count) {
  WEFT_NEXT(writev);
  MOVE(fd, true, next(fd, parts, count));
}

WEFT_EXPORT ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  WEFT_NEXT(send);
  if (flags & MSG_OOB) return next(fd, buffer, size, flags);
  MOVE(fd, true, next(fd, buffer, size, flags));
}

WEFT_EXPORT ssize_t sendto(int fd, const void* buffer, size_t size, int flags,
                           const struct sockaddr* to, socklen_t length) {
  WEFT_NEXT(sendto);
  if (flags & MSG_OOB) return next(fd, buffer, size, flags, to, length);
  MOVE(fd, true, next(fd, buffer, size, flags, to, length));
}

WEFT_EXPORT ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  WEFT_NEXT(sendmsg);
  if (flags & MSG_OOB) return next(fd, message, flags);
  MOVE(fd, true, next(fd, message, flags));
}

WEFT_EXPORT ssize_t sendfile(int out, int in, off_t* offset, size_t count) {
  WEFT_NEXT(sendfile);
  MOVE(out, true, next(out, in, offset, count));
}

WEFT_EXPORT ssize_t sendfile64(int out, int in, off64_t* offset, size_t count) {
  WEFT_NEXT(sendfile64);
  MOVE(out, true, next(out, in, offset, count));
}

/* The total bytes of the messages that a call transferred. */
static uint64_t sum(const struct mmsghdr* messages, int count) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += messages[i].msg_len;
  return bytes;
}

WEFT_EXPORT int sendmmsg(int fd, struct mmsghdr* messages, unsigned count, int flags) {
  WEFT_NEXT(sendmmsg);
  struct connection* c = flags & MSG_OOB ? NULL : weft_connection(fd);
  const int64_t start = c == NULL ? 0 : begin();
  const int done = next(fd, messages, count, flags);
  if (c != NULL && done > 0) weft_transfer(c, true, start, sum(messages, done));
  return done;
}

/* -- receiving ------------------------------------------------------------------------------ */

WEFT_EXPORT ssize_t read(int fd, void* buffer, size_t size) {
  WEFT_NEXT(read);
  MOVE(fd, false, next(fd, buffer, size));
}

WEFT_EXPORT ssize_t readv(int fd, const struct iovec* parts, int count) {
  WEFT_NEXT(readv);
  MOVE(fd, false, next(fd, parts, count));
}

WEFT_EXPORT ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  WEFT_NEXT(recv);
  if (flags & kOutsideStream) return next(fd, buffer, size, flags);
  MOVE(fd, false, next(fd, buffer, size, flags));
}

WEFT_EXPORT ssize_t recvfrom(int fd, void* buffer, size_t size, int flags, struct sockaddr* from,
                             socklen_t* length) {
  WEFT_NEXT(recvfrom);
  if (flags & kOutsideStream) return next(fd, buffer, size, flags, from, length);
  MOVE(fd, false, next(fd, buffer, size, flags, from, length));
}

WEFT_EXPORT ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  WEFT_NEXT(recvmsg);
  if (flags & kOutsideStream) return next(fd, message, flags);
  MOVE(fd, false, next(fd, message, flags));
}

WEFT_EXPORT int recvmmsg(int fd, struct mmsghdr* messages, unsigned count, int flags,
                         struct timespec* timeout) {
  WEFT_NEXT(recvmmsg);
  struct connection* c = flags & kOutsideStream ? NULL : weft_connection(fd);
  const int64_t start = c == NULL ? 0 : begin();
  const int done = next(fd, messages, count, flags, timeout);
  if (c != NULL && done > 0) weft_transfer(c, false, start, sum(messages, done));
  return done;
}

/* Programs that were built with _FORTIFY_SOURCE call these functions instead. */
ssize_t __read_chk(int fd, void* buffer, size_t size, size_t room);
ssize_t __recv_chk(int fd, void* buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void* buffer, size_t size, size_t room, int flags,
                       struct sockaddr* from, socklen_t* length);

WEFT_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t size, size_t room) {
  WEFT_NEXT(__read_chk);
  MOVE(fd, false, next(fd, buffer, size, room));
}

WEFT_EXPORT ssize_t __recv_chk(int fd, void* buffer, size_t size, size_t room, int flags) {
  WEFT_NEXT(__recv_chk);
  if (flags & kOutsideStream) return next(fd, buffer, size, room, flags);
  MOVE(fd, false, next(fd, buffer, size, room, flags));
}

WEFT_EXPORT ssize_t __recvfrom_chk(int fd, void* buffer, size_t size, size_t room, int flags,
                                   struct sockaddr* from, socklen_t* length) {
  WEFT_NEXT(__recvfrom_chk);
  if (flags & kOutsideStream) return next(fd, buffer, size, room, flags, from, length);
  MOVE(fd, false, next(fd, buffer, size, room, flags, from, length));
}

/* -- sending and receiving -------------------------------------------------------------------- */

WEFT_EXPORT ssize_t splice(int in, off64_t* in_at, int out, off64_t* out_at, size_t size,
                           unsigned flags) {
  WEFT_NEXT(splice);
  struct connection* from = weft_connection(in);
  struct connection* to = weft_connection(out);
  const int64_t start = from == NULL && to == NULL ? 0 : begin();
  const ssize_t moved = next(in, in_at, out, out_at, size, flags);
  if (from != NULL && moved > 0) weft_transfer(from, false, start, (uint64_t)moved);
  if (to != NULL && moved > 0) weft_transfer(to, true, start, (uint64_t)moved);
  return moved;
}
