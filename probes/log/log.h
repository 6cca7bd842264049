/* SPDX-License-Identifier: Apache-2.0
 * The writer that all probes share: records of one process, appended to one mapped file. The format
 * is docs/formats/log.md. A probe never stops its job: what cannot be recorded is counted as lost.
 *
 * The file needs no closing: a killed process leaves all records it had appended. Every byte of it
 * is reserved on disk before it is touched, so a full disk ends the recording and cannot raise
 * SIGBUS. No descriptor is held open, for jobs that close all of theirs. */
#ifndef WEFT_PROBES_LOG_H
#define WEFT_PROBES_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum weft_log_kind { WEFT_LOG_WIRE = 1, WEFT_LOG_MPI = 2, WEFT_LOG_NCCL = 3 };

/* Types of records. 1 to 15 are in logs of every kind. */
enum weft_record_type {
  WEFT_RECORD_THREAD = 1,
  WEFT_RECORD_WINDOW = 2,
  WEFT_RECORD_CONNECTION = 16,
  WEFT_RECORD_SEND = 17,
  WEFT_RECORD_RECEIVE = 18,
  WEFT_RECORD_MPI_COMMUNICATOR = 32,
  WEFT_RECORD_MPI_CALL = 33,
  WEFT_RECORD_MPI_WAIT = 34,
  WEFT_RECORD_NCCL_COMMUNICATOR = 48,
  WEFT_RECORD_NCCL_START = 49,
  WEFT_RECORD_NCCL_STATE = 50,
  WEFT_RECORD_NCCL_STOP = 51,
};

/* A record while its fields are put together. Fields that do not fit are not added, and the record
 * is counted as lost. */
enum { WEFT_FIELDS_MAX = 4096 };
struct weft_fields {
  uint32_t size;
  bool overflow;
  uint8_t bytes[WEFT_FIELDS_MAX];
};

static inline void weft_fields_init(struct weft_fields* f) {
  f->size = 0;
  f->overflow = false;
}

static inline void weft_put(struct weft_fields* f, uint64_t value) {
  if (f->size + 10 > WEFT_FIELDS_MAX) {
    f->overflow = true;
    return;
  }
  while (value >= 0x80) {
    f->bytes[f->size++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  f->bytes[f->size++] = (uint8_t)value;
}

static inline uint64_t weft_zigzag(int64_t value) {
  return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline void weft_put_signed(struct weft_fields* f, int64_t value) {
  weft_put(f, weft_zigzag(value));
}

void weft_put_bytes(struct weft_fields* f, const void* bytes, size_t size);
/* Length and characters; at most 255 of them. NULL is the empty text. */
void weft_put_text(struct weft_fields* f, const char* text);

/* The profilers' clock, so that records lie on the timelines of the same process. Whoever shifts
 * it for a process (libfaketime) shifts both. */
static inline int64_t weft_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Once, from the constructor of the probe. Reads WEFT_RECORD, WEFT_RECORD_LIMIT and
 * WEFT_RECORD_WAIT; makes no file: the first record does. */
void weft_log_setup(enum weft_log_kind kind);
/* Whether WEFT_RECORD names a folder: without it a probe stays idle. */
bool weft_log_configured(void);
/* For probes that learn the rank later than the environment tells it. Only before the first record.
 */
void weft_log_set_rank(int32_t rank, int32_t world);

extern _Atomic bool weft_log_open_window;
/* Whether records are wanted now. */
static inline bool weft_log_recording(void) {
  return atomic_load_explicit(&weft_log_open_window, memory_order_relaxed);
}
/* Opens or closes the window. */
void weft_log_record(bool on);

/* Appends a record of the time `now`. Any thread; at most one a thread at a time: a signal handler
 * that interrupts an append loses its record. */
void weft_log_append(enum weft_record_type type, int64_t now, const struct weft_fields* fields);

/* Called in a forked child, after the log has left the parent's file alone. */
extern void (*weft_log_after_fork)(void);

#endif
