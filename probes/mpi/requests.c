/* SPDX-License-Identifier: Apache-2.0
 * Keeps track of non-blocking calls: a hash table finds the call of a request. Entries that are no
 * longer needed are used again. So memory is allocated only if more calls are pending than ever
 * before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probes/log/log.h"
#include "probes/mpi/calls.h"

enum { kBuckets = 1024 };

struct pending {
  MPI_Request request;
  struct mpi_call call;
  struct pending* next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pending* buckets[kBuckets];
static struct pending* unused; /* list of entries for reuse */
static _Atomic uint32_t count; /* number of pending calls */

/* MPI_Request is a pointer in some implementations and a number in others, so its bytes are hashed.
 */
static uint32_t bucket_of(MPI_Request request) {
  uint64_t bits = 0;
  memcpy(&bits, &request, sizeof request < sizeof bits ? sizeof request : sizeof bits);
  return (uint32_t)((bits * 0x9e3779b97f4a7c15u) >> 54) % kBuckets;
}

bool weft_mpi_any_pending(void) { return atomic_load_explicit(&count, memory_order_relaxed) > 0; }

void weft_mpi_pending(MPI_Request request, const struct mpi_call* call) {
  if (call->start == 0 || request == MPI_REQUEST_NULL) return;
  pthread_mutex_lock(&mutex);
  struct pending* p = unused;
  if (p != NULL) {
    unused = p->next;
  } else {
    p = malloc(sizeof *p);
  }
  if (p != NULL) {
    struct pending** bucket = &buckets[bucket_of(request)];
    p->request = request;
    p->call = *call;
    p->call.in_background = true;
    p->next = *bucket;
    *bucket = p;
    atomic_fetch_add(&count, 1);
  }
  pthread_mutex_unlock(&mutex);
}

/* Removes the call of a request from the table and stores it in `call`. Returns false if the table
 * has no such call. */
static bool take(MPI_Request request, struct mpi_call* call) {
  if (request == MPI_REQUEST_NULL || !weft_mpi_any_pending()) return false;
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (struct pending** at = &buckets[bucket_of(request)]; *at != NULL; at = &(*at)->next) {
    struct pending* p = *at;
    if (p->request != request) continue;
    *call = p->call;
    *at = p->next;
    p->next = unused;
    unused = p;
    atomic_fetch_sub(&count, 1);
    found = true;
    break;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

void weft_mpi_done(MPI_Request request, const MPI_Status* status, int64_t end) {
  struct mpi_call call;
  if (!take(request, &call)) return;
  weft_mpi_received(&call, status);
  weft_mpi_end(&call, end);
}

void weft_mpi_forget(MPI_Request request) {
  struct mpi_call call;
  take(request, &call);
}
