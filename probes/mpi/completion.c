/* SPDX-License-Identifier: Apache-2.0
 * Wraps the functions that complete requests, and those that create communicators. MPI overwrites
 * the handle of a complete request with MPI_REQUEST_NULL, so the wrappers copy the handles before
 * the call. If no recorded call is pending, the wrappers only call the MPI function. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "probes/log/log.h"
#include "probes/mpi/calls.h"

#define EXPORT __attribute__((visibility("default")))

/* What a wrapper keeps during a call: copies of the handles, and space for statuses if the caller
 * passes MPI_STATUSES_IGNORE. Up to kSmall requests need no allocation. `kept` is NULL if no
 * recorded call is pending, or if memory runs out; then the call is not recorded. */
enum { kSmall = 64 };
struct watch {
  MPI_Request* kept;
  MPI_Status* statuses; /* the array that the MPI function gets */
  MPI_Request few[kSmall];
  MPI_Status few_statuses[kSmall];
};

static void begin(struct watch* w, int count, const MPI_Request* requests, MPI_Status* statuses) {
  w->kept = NULL;
  w->statuses = statuses;
  if (count <= 0 || !weft_mpi_any_pending()) return;
  const size_t n = (size_t)count;
  w->kept = n <= kSmall ? w->few : malloc(n * sizeof *w->kept);
  if (w->kept == NULL) return;
  memcpy(w->kept, requests, n * sizeof *w->kept);
  if (statuses != MPI_STATUSES_IGNORE) return;
  w->statuses = n <= kSmall ? w->few_statuses : malloc(n * sizeof *w->statuses);
  if (w->statuses == NULL) w->statuses = statuses;
}

/* Frees what begin() allocated. `asked` is the array of statuses that the caller passed. */
static void finish(struct watch* w, MPI_Status* asked) {
  if (w->statuses != asked && w->statuses != w->few_statuses) free(w->statuses);
  if (w->kept != NULL && w->kept != w->few) free(w->kept);
}

static const MPI_Status* status_at(const struct watch* w, int i) {
  return w->statuses == MPI_STATUSES_IGNORE ? NULL : &w->statuses[i];
}

static int64_t now_if(bool wanted) { return wanted ? weft_now() : 0; }

EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!weft_mpi_any_pending()) return PMPI_Wait(request, status);
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  const MPI_Request kept = *request;
  const int64_t start = weft_now();
  const int result = PMPI_Wait(request, seen);
  const int64_t end = weft_now();
  if (result == MPI_SUCCESS) weft_mpi_done(kept, seen, end);
  weft_mpi_waited(start, end, 1);
  return result;
}

EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  struct watch w;
  begin(&w, count, requests, statuses);
  const int64_t start = now_if(w.kept != NULL);
  const int result = PMPI_Waitall(count, requests, w.statuses);
  if (w.kept != NULL) {
    const int64_t end = weft_now();
    for (int i = 0; i < count && result == MPI_SUCCESS; ++i) {
      weft_mpi_done(w.kept[i], status_at(&w, i), end);
    }
    weft_mpi_waited(start, end, count);
  }
  finish(&w, statuses);
  return result;
}

EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  struct watch w;
  begin(&w, count, requests, &own);
  const int64_t start = now_if(w.kept != NULL);
  const int result = PMPI_Waitany(count, requests, index, seen);
  if (w.kept != NULL) {
    const int64_t end = weft_now();
    if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) {
      weft_mpi_done(w.kept[*index], seen, end);
    }
    weft_mpi_waited(start, end, count);
  }
  finish(&w, &own);
  return result;
}

EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                        MPI_Status statuses[]) {
  struct watch w;
  begin(&w, count, requests, statuses);
  const int64_t start = now_if(w.kept != NULL);
  const int result = PMPI_Waitsome(count, requests, done, indices, w.statuses);
  if (w.kept != NULL) {
    const int64_t end = weft_now();
    for (int i = 0; result == MPI_SUCCESS && *done != MPI_UNDEFINED && i < *done; ++i) {
      weft_mpi_done(w.kept[indices[i]], status_at(&w, i), end);
    }
    weft_mpi_waited(start, end, count);
  }
  finish(&w, statuses);
  return result;
}

EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!weft_mpi_any_pending()) return PMPI_Test(request, flag, status);
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  const MPI_Request kept = *request;
  const int result = PMPI_Test(request, flag, seen);
  if (result == MPI_SUCCESS && *flag) weft_mpi_done(kept, seen, weft_now());
  return result;
}

EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  struct watch w;
  begin(&w, count, requests, statuses);
  const int result = PMPI_Testall(count, requests, flag, w.statuses);
  if (w.kept != NULL && result == MPI_SUCCESS && *flag) {
    const int64_t end = weft_now();
    for (int i = 0; i < count; ++i) weft_mpi_done(w.kept[i], status_at(&w, i), end);
  }
  finish(&w, statuses);
  return result;
}

EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag,
                       MPI_Status* status) {
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  struct watch w;
  begin(&w, count, requests, &own);
  const int result = PMPI_Testany(count, requests, index, flag, seen);
  if (w.kept != NULL && result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) {
    weft_mpi_done(w.kept[*index], seen, weft_now());
  }
  finish(&w, &own);
  return result;
}

EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                        MPI_Status statuses[]) {
  struct watch w;
  begin(&w, count, requests, statuses);
  const int result = PMPI_Testsome(count, requests, done, indices, w.statuses);
  if (w.kept != NULL && result == MPI_SUCCESS && *done != MPI_UNDEFINED) {
    const int64_t end = weft_now();
    for (int i = 0; i < *done; ++i) weft_mpi_done(w.kept[indices[i]], status_at(&w, i), end);
  }
  finish(&w, statuses);
  return result;
}

EXPORT int MPI_Request_free(MPI_Request* request) {
  weft_mpi_forget(*request);
  return PMPI_Request_free(request);
}

/* -- functions that create communicators: all members call them in the same order -------------- */

static int made(int result, const MPI_Comm* comm) {
  if (result == MPI_SUCCESS && *comm != MPI_COMM_NULL) weft_mpi_new_communicator(*comm);
  return result;
}

EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  return made(PMPI_Comm_dup(comm, out), out);
}

EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* out) {
  return made(PMPI_Comm_dup_with_info(comm, info, out), out);
}

EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* out) {
  return made(PMPI_Comm_split(comm, color, key, out), out);
}

EXPORT int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out) {
  return made(PMPI_Comm_split_type(comm, type, key, info, out), out);
}

EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out) {
  return made(PMPI_Comm_create(comm, group, out), out);
}

EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* out) {
  return made(PMPI_Comm_create_group(comm, group, tag, out), out);
}

EXPORT int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
                           int reorder, MPI_Comm* out) {
  return made(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, out), out);
}
