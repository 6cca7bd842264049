/* SPDX-License-Identifier: Apache-2.0
 * Which descriptors are TCP connections, and how many bytes went each way. Bytes are counted from
 * the first one on, recorded or not, so that both ends of a connection agree on the offset of
 * every byte. */
#ifndef WEFT_PROBES_CONNECTIONS_H
#define WEFT_PROBES_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { kDescriptors = 65536, kConnections = 65536 };

struct connection {
  _Atomic uint64_t sent, received;
  _Atomic bool told; /* its record was written */
  bool partial;      /* bytes went through it before we saw it: offsets say nothing */
  uint8_t family;    /* 4 or 6 */
  uint8_t local[16], peer[16];
  uint16_t local_port, peer_port;
};

/* What is known of a descriptor: nothing, that it is no connection, or which (number + 2). */
enum { kUnknown = 0, kOther = 1, kFirst = 2 };
extern _Atomic uint32_t weft_slots[kDescriptors];
extern struct connection weft_connections[kConnections];

/* Looks at a descriptor for the first time; NULL unless it is a connection. Keeps errno. */
struct connection* weft_classify(int fd);

/* NULL for everything that is no TCP connection: one load and a comparison. */
static inline struct connection* weft_connection(int fd) {
  if ((uint32_t)fd >= kDescriptors) return (struct connection*)0;
  const uint32_t slot = atomic_load_explicit(&weft_slots[fd], memory_order_relaxed);
  if (slot == kOther) return (struct connection*)0;
  return slot >= kFirst ? &weft_connections[slot - kFirst] : weft_classify(fd);
}

/* The descriptor was closed or is about to be something else. */
void weft_forget(int fd);
/* The same for [first, last]. */
void weft_forget_range(unsigned first, unsigned last);
/* `copy` is now what `fd` is. */
void weft_copy(int fd, int copy);

/* Counts and, while the window is open, records `bytes` that a call moved since `start`; 0 means
 * that the window was closed then. */
void weft_transfer(struct connection* c, bool outgoing, int64_t start, uint64_t bytes);

void weft_connections_setup(void);

#endif
