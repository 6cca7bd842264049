/* SPDX-License-Identifier: Apache-2.0
 * Keeps track of which file descriptors are TCP connections, and of how many bytes each connection
 * transferred in each direction. All bytes since the beginning of the connection are counted, even
 * if their transfer is not recorded. So the processes at the two ends of a connection give every
 * byte the same offset, and the reader can match their transfers exactly. */
#ifndef WEFT_PROBES_CONNECTIONS_H
#define WEFT_PROBES_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { kDescriptors = 65536, kConnections = 65536 };

struct connection {
  _Atomic uint64_t sent, received;
  _Atomic bool recorded; /* the record of the connection was written */
  bool partial;          /* some bytes may not be counted, so offsets cannot be compared */
  uint8_t family;        /* 4 or 6 */
  uint8_t local[16], peer[16];
  uint16_t local_port, peer_port;
};

/* The slot of a descriptor has one of these values: kUnknown (not examined yet), kOther (not a TCP
 * connection), or kFirst + the number of its connection. */
enum { kUnknown = 0, kOther = 1, kFirst = 2 };
extern _Atomic uint32_t weft_slots[kDescriptors];
extern struct connection weft_connections[kConnections];

/* Examines a descriptor that is not known yet. Returns NULL if the descriptor is not a TCP
 * connection. Keeps errno. */
struct connection* weft_classify(int fd);

/* The connection of a descriptor; NULL if it is not a TCP connection. Every read() and write() of
 * the job calls this, so it must be cheap: for a known descriptor it costs one load and one
 * comparison. */
static inline struct connection* weft_connection(int fd) {
  if ((uint32_t)fd >= kDescriptors) return (struct connection*)0;
  const uint32_t slot = atomic_load_explicit(&weft_slots[fd], memory_order_relaxed);
  if (slot == kOther) return (struct connection*)0;
  return slot >= kFirst ? &weft_connections[slot - kFirst] : weft_classify(fd);
}

/* Call it when the descriptor is closed or refers to something else. */
void weft_forget(int fd);
/* Does what weft_forget() does, for the descriptors [first, last]. */
void weft_forget_range(unsigned first, unsigned last);
/* Call it after dup(): `copy` now refers to the same connection as `fd`. */
void weft_copy(int fd, int copy);

/* Counts the `bytes` that a call transferred. Records the call if the process is recording now and
 * was recording when the call began. `start` is the time at which the call began; 0 means that the
 * process was not recording then. */
void weft_transfer(struct connection* c, bool outgoing, int64_t start, uint64_t bytes);

/* Call it once, after weft_log_setup(). */
void weft_connections_setup(void);

#endif
