/* SPDX-License-Identifier: Apache-2.0
 * What a call of MPI becomes in the log. */
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

/* A call from its beginning on. */
struct mpi_call {
  int64_t start; /* 0: not recorded */
  enum mpi_kind kind;
  bool in_background;
  uint32_t communicator;
  uint64_t sequence;
  uint64_t elements; /* of the whole array: of all ranks for gathers, scatters and all-to-alls */
  uint32_t type;
  int element_bytes;
  int peer;
};

/* A collective: counts in the sequence of its communicator whether it is recorded or not. */
struct mpi_call weft_mpi_collective(enum mpi_kind kind, MPI_Comm comm, int64_t elements,
                                    MPI_Datatype type);
struct mpi_call weft_mpi_message(enum mpi_kind kind, MPI_Comm comm, int count, MPI_Datatype type,
                                 int peer);
/* The call is over. */
void weft_mpi_end(const struct mpi_call* call, int64_t end);
/* How much a receive really got, and from whom. */
void weft_mpi_received(struct mpi_call* call, const MPI_Status* status);
void weft_mpi_waited(int64_t start, int64_t end, int requests);

int weft_mpi_size(MPI_Comm comm);
int weft_mpi_rank(MPI_Comm comm);

/* -- communicators: a number that ranks agree on ---------------------------------------------- */

/* Made by a call that all its members make, so that they number those of equal members alike. */
void weft_mpi_new_communicator(MPI_Comm comm);
void weft_mpi_start(void);

/* -- requests -------------------------------------------------------------------------------- */

/* The call goes on until the request is done. */
void weft_mpi_pending(MPI_Request request, const struct mpi_call* call);
/* Whether any call goes on at all. */
bool weft_mpi_any_pending(void);
/* The request, as it was before the call that completed it, is done. */
void weft_mpi_done(MPI_Request request, const MPI_Status* status, int64_t end);
void weft_mpi_forget(MPI_Request request);

#endif
