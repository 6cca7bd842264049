/* SPDX-License-Identifier: Apache-2.0
 * Finds TCP connections among file descriptors, and records transfers. The tables of connections
 * and of descriptors are static arrays, so the probe needs no memory allocation and no locks. A
 * descriptor is examined with system calls once, at its first use. The result is kept in the slot
 * of the descriptor until the descriptor is closed. Numbers of connections are never reused. */
#define _GNU_SOURCE
#include "probes/wire/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/log/log.h"

/* Entries are never freed, because another thread may still be inside a call on a connection that
 * is being closed. */
struct connection weft_connections[kConnections];
_Atomic uint32_t weft_slots[kDescriptors];
static _Atomic uint32_t connection_count;
static bool active;
static pid_t self;
/* True in a forked child. Parent and child may both use connections that existed before the fork,
 * so the child cannot know the offsets of these connections. It marks all its connections as
 * partial. */
static bool forked;

/* Reads an address. An IPv6 socket may show an IPv4 address as a mapped IPv6 address. Such an
 * address is written as IPv4: the peer may see it as IPv4, and both ends must write the same. */
static bool read_address(const struct sockaddr_storage* from, uint8_t* family, uint8_t* address,
                         uint16_t* port) {
  if (from->ss_family == AF_INET) {
    const struct sockaddr_in* v4 = (const struct sockaddr_in*)from;
    *family = 4;
    memcpy(address, &v4->sin_addr, 4);
    *port = ntohs(v4->sin_port);
    return true;
  }
  if (from->ss_family != AF_INET6) return false;
  const struct sockaddr_in6* v6 = (const struct sockaddr_in6*)from;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
  *family = mapped ? 4 : 6;
  memcpy(address, v6->sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
  *port = ntohs(v6->sin6_port);
  return true;
}

struct ends {
  struct sockaddr_storage local, peer;
};

static bool connected(int fd, struct ends* ends) {
  socklen_t local_size = sizeof ends->local, peer_size = sizeof ends->peer;
  return getpeername(fd, (struct sockaddr*)&ends->peer, &peer_size) == 0 &&
         getsockname(fd, (struct sockaddr*)&ends->local, &local_size) == 0;
}

/* Adds a connection to the table. Returns NULL if the table is full or an address is not usable. */
static struct connection* new_connection(const struct ends* ends) {
  if (atomic_load(&connection_count) >= kConnections) return NULL;
  const uint32_t number = atomic_fetch_add(&connection_count, 1);
  if (number >= kConnections) return NULL;
  struct connection* c = &weft_connections[number];
  uint8_t peer_family;
  memset(c, 0, sizeof *c);
  if (!read_address(&ends->local, &c->family, c->local, &c->local_port) ||
      !read_address(&ends->peer, &peer_family, c->peer, &c->peer_port) ||
      c->family != peer_family) {
    return NULL;
  }
  c->partial = forked;
  return c;
}

struct connection* weft_classify(int fd) {
  const int error = errno;
  struct connection* c = NULL;
  uint32_t slot = kOther;
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  socklen_t type_size = sizeof type;
  if (active && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
      (domain == AF_INET || domain == AF_INET6) &&
      getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM) {
    struct ends ends;
    const bool now = connected(fd, &ends);
    if (now) c = new_connection(&ends);
    /* If the socket is not connected yet, examine it again at its next use. */
    if (!now) slot = kUnknown;
    if (c != NULL) slot = (uint32_t)(c - weft_connections) + kFirst;
  }
  /* Two threads may examine a descriptor at the same time. Then both use the connection that was
   * stored first. */
  uint32_t known = kUnknown;
  if (!atomic_compare_exchange_strong(&weft_slots[fd], &known, slot) && known >= kFirst) {
    c = &weft_connections[known - kFirst];
  }
  errno = error;
  return c;
}

/* False in the child of vfork(), which shares our memory until it calls exec(). If this child
 * closes its descriptors, our table must not change. */
static bool ours(void) { return getpid() == self; }

void weft_forget(int fd) {
  if ((uint32_t)fd >= kDescriptors) return;
  const uint32_t slot = atomic_load_explicit(&weft_slots[fd], memory_order_relaxed);
  if (slot == kUnknown || (slot >= kFirst && !ours())) return;
  atomic_store(&weft_slots[fd], kUnknown);
}

void weft_forget_range(unsigned first, unsigned last) {
  if (last >= kDescriptors) last = kDescriptors - 1;
  for (unsigned fd = first; fd <= last; ++fd) weft_forget((int)fd);
}

void weft_copy(int fd, int copy) {
  if ((uint32_t)copy >= kDescriptors || !ours()) return;
  const bool known = (uint32_t)fd < kDescriptors;
  /* Examine `fd` now. If `fd` and its copy were examined later, each of the two would get a
   * separate connection with a separate count of bytes. */
  if (known) weft_connection(fd);
  atomic_store(&weft_slots[copy], known ? atomic_load(&weft_slots[fd]) : (uint32_t)kUnknown);
}

static void record_connection(const struct connection* c, int64_t now) {
  const size_t size = c->family == 4 ? 4 : 16;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, (uint64_t)(c - weft_connections));
  weft_put(&fields, c->family);
  weft_put(&fields, c->partial ? 1 : 0);
  weft_put_bytes(&fields, c->local, size);
  weft_put(&fields, c->local_port);
  weft_put_bytes(&fields, c->peer, size);
  weft_put(&fields, c->peer_port);
  weft_log_append(WEFT_RECORD_CONNECTION, now, &fields);
}

void weft_transfer(struct connection* c, bool outgoing, int64_t start, uint64_t bytes) {
  const uint64_t offset = atomic_fetch_add(outgoing ? &c->sent : &c->received, bytes);
  if (start == 0 || !weft_log_recording()) return;
  const int64_t end = weft_now();
  if (!atomic_load_explicit(&c->recorded, memory_order_relaxed) &&
      !atomic_exchange(&c->recorded, true)) {
    record_connection(c, start);
  }
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, (uint64_t)(end > start ? end - start : 0));
  weft_put(&fields, (uint64_t)(c - weft_connections));
  weft_put(&fields, offset);
  weft_put(&fields, bytes);
  weft_log_append(outgoing ? WEFT_RECORD_SEND : WEFT_RECORD_RECEIVE, start, &fields);
}

/* Forgets all connections of the parent: the child examines them again and gives them new numbers
 * in its own log. */
static void after_fork(void) {
  self = getpid();
  forked = true;
  for (int fd = 0; fd < kDescriptors; ++fd) {
    if (atomic_load_explicit(&weft_slots[fd], memory_order_relaxed) >= kFirst) {
      atomic_store_explicit(&weft_slots[fd], kUnknown, memory_order_relaxed);
    }
  }
}

void weft_connections_setup(void) {
  self = getpid();
  active = weft_log_configured();
  weft_log_after_fork = after_fork;
}
