/* SPDX-License-Identifier: Apache-2.0
 * The log writer that all probes share. It appends the records of one process to one memory-mapped
 * file, whose format is in docs/formats/log.md. It never stops the job: records that cannot be
 * written are counted as lost.
 *
 * The file need not be closed: if the process is killed, all appended records are in the file.
 * Every byte is reserved on disk before it is written. So a full disk ends the recording but does
 * not raise SIGBUS, which would end the job. The probe keeps no file descriptor open, because some
 * jobs close all descriptors that they find. */
#ifndef WEFT_PROBES_LOG_H
#define WEFT_PROBES_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum weft_log_kind { WEFT_LOG_WIRE = 1, WEFT_LOG_MPI = 2, WEFT_LOG_NCCL = 3 };

/* Types of records. Types 1 to 15 may occur in logs of every kind. */
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

/* The fields of a record while it is built. If a field does not fit, it is not added, and
 * weft_log_append() counts the record as lost. */
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

/* Maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ..., so that small negative numbers have short varints. */
static inline uint64_t weft_zigzag(int64_t value) {
  return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline void weft_put_signed(struct weft_fields* f, int64_t value) {
  weft_put(f, weft_zigzag(value));
}

void weft_put_bytes(struct weft_fields* f, const void* bytes, size_t size);
/* Adds the length and the characters of a text, at most 255 characters. NULL is an empty text. */
void weft_put_text(struct weft_fields* f, const char* text);

/* Nanoseconds of CLOCK_REALTIME. Profilers use this clock too. So the times in a log and in a
 * profile agree, even if libfaketime shifts the clock of the process. */
static inline int64_t weft_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Call this once, from the constructor of the probe. Reads WEFT_RECORD, WEFT_RECORD_LIMIT and
 * WEFT_RECORD_WAIT. Does not create the file: the first record does that. */
void weft_log_setup(enum weft_log_kind kind);
/* Whether WEFT_RECORD names a folder. If it does not, the probe must do nothing. */
bool weft_log_configured(void);
/* Sets rank and world size if the environment does not tell them. Call this before the first
 * record, because the name of the file contains the rank. */
void weft_log_set_rank(int32_t rank, int32_t world);

extern _Atomic bool weft_log_open_window;
/* Whether the process is recording now. Probes check this before they build a record. */
static inline bool weft_log_recording(void) {
  return atomic_load_explicit(&weft_log_open_window, memory_order_relaxed);
}
/* Starts or stops recording. */
void weft_log_record(bool on);

/* Appends a record with the time `now`. Any thread may call it. If a signal handler interrupts an
 * append and appends a record itself, that record is lost. Keeps errno. */
void weft_log_append(enum weft_record_type type, int64_t now, const struct weft_fields* fields);

/* The probe may set this function. It runs in a forked child, after the log writer of the child has
 * closed the parent's file. */
extern void (*weft_log_after_fork)(void);

#endif
