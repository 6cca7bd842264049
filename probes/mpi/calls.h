/* SPDX-License-Identifier: Apache-2.0
 * The functions with which the wrappers of MPI functions (mpi.c, completion.c) record calls.
 * communicators.c handles communicators and writes the records. requests.c keeps track of
 * non-blocking calls. */
#ifndef WEFT_PROBES_MPI_CALLS_H
#define WEFT_PROBES_MPI_CALLS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum mpi_kind {
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kGather = 6,
  kScatter = 7,
  kAllToAll = 8,
  kBarrier = 9,
  kSend = 10,
  kReceive = 11,
  kScan = 12,
};

/* A call that has begun. */
struct mpi_call {
  int64_t start; /* 0 if the call is not recorded */
  enum mpi_kind kind;
  bool in_background;
  uint32_t communicator;
  uint64_t sequence;
  uint64_t elements; /* number of elements of the whole array, as if one rank held all parts */
  uint32_t type;
  int element_bytes;
  int peer;
};

/* Begins a collective. Counts it in the sequence of its communicator even if it is not recorded, so
 * that sequence numbers agree between ranks that start recording at different times. */
struct mpi_call weft_mpi_collective(enum mpi_kind kind, MPI_Comm comm, int64_t elements,
                                    MPI_Datatype type);
/* Begins a send or receive. */
struct mpi_call weft_mpi_message(enum mpi_kind kind, MPI_Comm comm, int count, MPI_Datatype type,
                                 int peer);
/* Writes the record of a call that has ended. */
void weft_mpi_end(const struct mpi_call* call, int64_t end);
/* Sets the actual size and the actual sender of a receive. (The call names only the size of the
 * buffer, and possibly MPI_ANY_SOURCE.) Does nothing for other calls. */
void weft_mpi_received(struct mpi_call* call, const MPI_Status* status);
/* Writes the record of a call that waited for `requests` requests. */
void weft_mpi_waited(int64_t start, int64_t end, int requests);

int weft_mpi_size(MPI_Comm comm);
int weft_mpi_rank(MPI_Comm comm);

/* -- communicators: an id that all members agree on -------------------------------------------- */

/* Registers a new communicator. Call it in the function that creates the communicator, which all
 * members call in the same order. Then all members count communicators with the same members in the
 * same order, and compute the same id. */
void weft_mpi_new_communicator(MPI_Comm comm);
/* Call it once, after MPI_Init. */
void weft_mpi_start(void);

/* -- requests -------------------------------------------------------------------------------- */

/* Remembers a non-blocking call until its request is complete. */
void weft_mpi_pending(MPI_Request request, const struct mpi_call* call);
/* Whether any call is pending. This check is cheap: completion functions make it first, and record
 * nothing if no call is pending. */
bool weft_mpi_any_pending(void);
/* Ends the call of a complete request. `request` is the handle before completion, which MPI has set
 * to MPI_REQUEST_NULL meanwhile. Does nothing if the request is unknown. */
void weft_mpi_done(MPI_Request request, const MPI_Status* status, int64_t end);
/* Drops the call of a request that the program frees. */
void weft_mpi_forget(MPI_Request request);

#endif
