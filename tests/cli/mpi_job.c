/* SPDX-License-Identifier: Apache-2.0
 * Two ranks that call each kind of MPI operation. Different sizes identify the calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int result) {
  if (result != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  static float from[40000], to[40000];
  int rank, size;
  MPI_Comm same, alone;
  MPI_Request requests[2];
  must(MPI_Init(&argc, &argv));
  must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  must(MPI_Comm_size(MPI_COMM_WORLD, &size));
  must(MPI_Allreduce(from, to, 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  must(MPI_Allgather(from, 50, MPI_FLOAT, to, 50, MPI_FLOAT, MPI_COMM_WORLD));
  must(MPI_Barrier(MPI_COMM_WORLD));
  must(MPI_Comm_dup(MPI_COMM_WORLD, &same));
  must(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone));
  must(MPI_Allreduce(MPI_IN_PLACE, to, 300, MPI_DOUBLE, MPI_SUM, same));
  must(MPI_Ibcast(to, 70, MPI_BYTE, 0, same, &requests[0]));
  must(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  must(MPI_Bcast(to, 9, MPI_INT, 0, alone));
  /* The buffer of the receiver is larger than the message: the log must hold the size of the
   * message. */
  must(MPI_Irecv(to, 40000, MPI_FLOAT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]));
  must(MPI_Isend(from, 20000, MPI_FLOAT, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]));
  must(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  must(MPI_Sendrecv(from, 11, MPI_FLOAT, 1 - rank, 2, to, 40000, MPI_FLOAT, 1 - rank, 2,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  must(MPI_Comm_free(&same));
  must(MPI_Comm_free(&alone));
  must(MPI_Finalize());
  return 0;
}
