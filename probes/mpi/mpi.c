/* SPDX-License-Identifier: Apache-2.0
 * libweft-mpi.so, for LD_PRELOAD. It records the MPI calls of a process through MPI's profiling
 * interface: each function here wraps MPI_NAME and calls PMPI_NAME exactly once. It does not see
 * Fortran programs, persistent requests and one-sided communication. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "probes/log/log.h"
#include "probes/mpi/calls.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void weft_mpi_record(int on) { weft_log_record(on != 0); }

__attribute__((constructor)) static void set_up(void) { weft_log_setup(WEFT_LOG_MPI); }

EXPORT int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  if (result == MPI_SUCCESS && weft_log_configured()) weft_mpi_start();
  return result;
}

EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS && weft_log_configured()) weft_mpi_start();
  return result;
}

/* -- collectives ---------------------------------------------------------------------------- */

/* The body of a wrapper: makes the call `real` and records it as a collective of kind `kind`. The
 * whole array has `elements` elements of `type`. */
#define BLOCKING(kind, comm, elements, type, real)                        \
  struct mpi_call call = weft_mpi_collective(kind, comm, elements, type); \
  const int result = real;                                                \
  if (call.start != 0) weft_mpi_end(&call, weft_now());                   \
  return result

/* Like BLOCKING, but for a non-blocking call, which lasts until its `request` is complete. */
#define BACKGROUND(kind, comm, elements, type, real)                      \
  struct mpi_call call = weft_mpi_collective(kind, comm, elements, type); \
  const int result = real;                                                \
  if (result == MPI_SUCCESS) weft_mpi_pending(*request, &call);           \
  return result

static int64_t sum(const int* counts, MPI_Comm comm) {
  const int size = weft_mpi_size(comm);
  int64_t all = 0;
  for (int i = 0; i < size; ++i) all += counts[i];
  return all;
}

static int64_t times(int count, MPI_Comm comm) { return (int64_t)count * weft_mpi_size(comm); }

static bool is(int root, MPI_Comm comm) { return weft_mpi_rank(comm) == root; }

EXPORT int MPI_Barrier(MPI_Comm comm) { BLOCKING(kBarrier, comm, 0, MPI_BYTE, PMPI_Barrier(comm)); }
EXPORT int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kBarrier, comm, 0, MPI_BYTE, PMPI_Ibarrier(comm, request));
}

EXPORT int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  BLOCKING(kBroadcast, comm, count, type, PMPI_Bcast(buffer, count, type, root, comm));
}
EXPORT int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request* request) {
  BACKGROUND(kBroadcast, comm, count, type, PMPI_Ibcast(buffer, count, type, root, comm, request));
}

EXPORT int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm) {
  BLOCKING(kReduce, comm, count, type, PMPI_Reduce(from, to, count, type, op, root, comm));
}
EXPORT int MPI_Ireduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kReduce, comm, count, type,
             PMPI_Ireduce(from, to, count, type, op, root, comm, request));
}

EXPORT int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  BLOCKING(kAllReduce, comm, count, type, PMPI_Allreduce(from, to, count, type, op, comm));
}
EXPORT int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kAllReduce, comm, count, type,
             PMPI_Iallreduce(from, to, count, type, op, comm, request));
}

EXPORT int MPI_Scan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
  BLOCKING(kScan, comm, count, type, PMPI_Scan(from, to, count, type, op, comm));
}
EXPORT int MPI_Exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm) {
  BLOCKING(kScan, comm, count, type, PMPI_Exscan(from, to, count, type, op, comm));
}

EXPORT int MPI_Reduce_scatter(const void* from, void* to, const int counts[], MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm) {
  BLOCKING(kReduceScatter, comm, sum(counts, comm), type,
           PMPI_Reduce_scatter(from, to, counts, type, op, comm));
}
EXPORT int MPI_Ireduce_scatter(const void* from, void* to, const int counts[], MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kReduceScatter, comm, sum(counts, comm), type,
             PMPI_Ireduce_scatter(from, to, counts, type, op, comm, request));
}
EXPORT int MPI_Reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type,
                                    MPI_Op op, MPI_Comm comm) {
  BLOCKING(kReduceScatter, comm, times(count, comm), type,
           PMPI_Reduce_scatter_block(from, to, count, type, op, comm));
}
EXPORT int MPI_Ireduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type,
                                     MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kReduceScatter, comm, times(count, comm), type,
             PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
}

EXPORT int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int got,
                         MPI_Datatype got_type, MPI_Comm comm) {
  BLOCKING(kAllGather, comm, times(got, comm), got_type,
           PMPI_Allgather(from, count, type, to, got, got_type, comm));
}
EXPORT int MPI_Iallgather(const void* from, int count, MPI_Datatype type, void* to, int got,
                          MPI_Datatype got_type, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kAllGather, comm, times(got, comm), got_type,
             PMPI_Iallgather(from, count, type, to, got, got_type, comm, request));
}
EXPORT int MPI_Allgatherv(const void* from, int count, MPI_Datatype type, void* to,
                          const int counts[], const int places[], MPI_Datatype got_type,
                          MPI_Comm comm) {
  BLOCKING(kAllGather, comm, sum(counts, comm), got_type,
           PMPI_Allgatherv(from, count, type, to, counts, places, got_type, comm));
}
EXPORT int MPI_Iallgatherv(const void* from, int count, MPI_Datatype type, void* to,
                           const int counts[], const int places[], MPI_Datatype got_type,
                           MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kAllGather, comm, sum(counts, comm), got_type,
             PMPI_Iallgatherv(from, count, type, to, counts, places, got_type, comm, request));
}

/* In gathers and scatters, only the root knows how many elements each rank sends or receives. The
 * wrappers on every other rank assume that all ranks have as many elements as this rank. */
EXPORT int MPI_Gather(const void* from, int count, MPI_Datatype type, void* to, int got,
                      MPI_Datatype got_type, int root, MPI_Comm comm) {
  const bool receives = is(root, comm);
  BLOCKING(kGather, comm, times(receives ? got : count, comm), receives ? got_type : type,
           PMPI_Gather(from, count, type, to, got, got_type, root, comm));
}
EXPORT int MPI_Igather(const void* from, int count, MPI_Datatype type, void* to, int got,
                       MPI_Datatype got_type, int root, MPI_Comm comm, MPI_Request* request) {
  const bool receives = is(root, comm);
  BACKGROUND(kGather, comm, times(receives ? got : count, comm), receives ? got_type : type,
             PMPI_Igather(from, count, type, to, got, got_type, root, comm, request));
}
EXPORT int MPI_Gatherv(const void* from, int count, MPI_Datatype type, void* to, const int counts[],
                       const int places[], MPI_Datatype got_type, int root, MPI_Comm comm) {
  const bool receives = is(root, comm);
  BLOCKING(kGather, comm, receives ? sum(counts, comm) : times(count, comm),
           receives ? got_type : type,
           PMPI_Gatherv(from, count, type, to, counts, places, got_type, root, comm));
}
EXPORT int MPI_Scatter(const void* from, int count, MPI_Datatype type, void* to, int got,
                       MPI_Datatype got_type, int root, MPI_Comm comm) {
  const bool sends = is(root, comm);
  BLOCKING(kScatter, comm, times(sends ? count : got, comm), sends ? type : got_type,
           PMPI_Scatter(from, count, type, to, got, got_type, root, comm));
}
EXPORT int MPI_Iscatter(const void* from, int count, MPI_Datatype type, void* to, int got,
                        MPI_Datatype got_type, int root, MPI_Comm comm, MPI_Request* request) {
  const bool sends = is(root, comm);
  BACKGROUND(kScatter, comm, times(sends ? count : got, comm), sends ? type : got_type,
             PMPI_Iscatter(from, count, type, to, got, got_type, root, comm, request));
}
EXPORT int MPI_Scatterv(const void* from, const int counts[], const int places[], MPI_Datatype type,
                        void* to, int got, MPI_Datatype got_type, int root, MPI_Comm comm) {
  const bool sends = is(root, comm);
  BLOCKING(kScatter, comm, sends ? sum(counts, comm) : times(got, comm), sends ? type : got_type,
           PMPI_Scatterv(from, counts, places, type, to, got, got_type, root, comm));
}

EXPORT int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int got,
                        MPI_Datatype got_type, MPI_Comm comm) {
  BLOCKING(kAllToAll, comm, times(got, comm), got_type,
           PMPI_Alltoall(from, count, type, to, got, got_type, comm));
}
EXPORT int MPI_Ialltoall(const void* from, int count, MPI_Datatype type, void* to, int got,
                         MPI_Datatype got_type, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(kAllToAll, comm, times(got, comm), got_type,
             PMPI_Ialltoall(from, count, type, to, got, got_type, comm, request));
}
EXPORT int MPI_Alltoallv(const void* from, const int counts[], const int places[],
                         MPI_Datatype type, void* to, const int got[], const int got_places[],
                         MPI_Datatype got_type, MPI_Comm comm) {
  BLOCKING(kAllToAll, comm, sum(got, comm), got_type,
           PMPI_Alltoallv(from, counts, places, type, to, got, got_places, got_type, comm));
}
EXPORT int MPI_Ialltoallv(const void* from, const int counts[], const int places[],
                          MPI_Datatype type, void* to, const int got[], const int got_places[],
                          MPI_Datatype got_type, MPI_Comm comm, MPI_Request* request) {
  BACKGROUND(
      kAllToAll, comm, sum(got, comm), got_type,
      PMPI_Ialltoallv(from, counts, places, type, to, got, got_places, got_type, comm, request));
}

/* -- messages ------------------------------------------------------------------------------- */

static int done_sending(const struct mpi_call* call, int result) {
  if (call->start != 0) weft_mpi_end(call, weft_now());
  return result;
}

static int sending(const struct mpi_call* call, int result, const MPI_Request* request) {
  if (result == MPI_SUCCESS) weft_mpi_pending(*request, call);
  return result;
}

#define SEND(name)                                                                         \
  EXPORT int MPI_##name(const void* buffer, int count, MPI_Datatype type, int to, int tag, \
                        MPI_Comm comm) {                                                   \
    const struct mpi_call call = weft_mpi_message(kSend, comm, count, type, to);           \
    return done_sending(&call, PMPI_##name(buffer, count, type, to, tag, comm));           \
  }
#define SEND_IN_BACKGROUND(name)                                                              \
  EXPORT int MPI_##name(const void* buffer, int count, MPI_Datatype type, int to, int tag,    \
                        MPI_Comm comm, MPI_Request* request) {                                \
    const struct mpi_call call = weft_mpi_message(kSend, comm, count, type, to);              \
    return sending(&call, PMPI_##name(buffer, count, type, to, tag, comm, request), request); \
  }
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)
SEND_IN_BACKGROUND(Isend)
SEND_IN_BACKGROUND(Issend)
SEND_IN_BACKGROUND(Irsend)
SEND_IN_BACKGROUND(Ibsend)

EXPORT int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status* status) {
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  struct mpi_call call = weft_mpi_message(kReceive, comm, count, type, from);
  const int result = PMPI_Recv(buffer, count, type, from, tag, comm, seen);
  if (call.start != 0 && result == MPI_SUCCESS) {
    const int64_t end = weft_now();
    weft_mpi_received(&call, seen);
    weft_mpi_end(&call, end);
  }
  return result;
}

EXPORT int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request* request) {
  const struct mpi_call call = weft_mpi_message(kReceive, comm, count, type, from);
  return sending(&call, PMPI_Irecv(buffer, count, type, from, tag, comm, request), request);
}

/* Records the end of a Sendrecv, which is a send and a receive at the same time. Events of one lane
 * (a row of the timeline) must not overlap. So the receive is recorded as a background call, which
 * the reader puts on another lane. */
static void end_exchange(struct mpi_call* send, struct mpi_call* receive,
                         const MPI_Status* status) {
  const int64_t end = weft_now();
  receive->in_background = true;
  weft_mpi_received(receive, status);
  weft_mpi_end(send, end);
  weft_mpi_end(receive, end);
}

EXPORT int MPI_Sendrecv(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                        void* into, int room, MPI_Datatype got_type, int from, int got_tag,
                        MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  struct mpi_call send = weft_mpi_message(kSend, comm, count, type, to);
  struct mpi_call receive = weft_mpi_message(kReceive, comm, room, got_type, from);
  const int result =
      PMPI_Sendrecv(buffer, count, type, to, tag, into, room, got_type, from, got_tag, comm, seen);
  if (result == MPI_SUCCESS) end_exchange(&send, &receive, seen);
  return result;
}

EXPORT int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int tag,
                                int from, int got_tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* seen = status == MPI_STATUS_IGNORE ? &own : status;
  struct mpi_call send = weft_mpi_message(kSend, comm, count, type, to);
  struct mpi_call receive = weft_mpi_message(kReceive, comm, count, type, from);
  const int result = PMPI_Sendrecv_replace(buffer, count, type, to, tag, from, got_tag, comm, seen);
  if (result == MPI_SUCCESS) end_exchange(&send, &receive, seen);
  return result;
}
