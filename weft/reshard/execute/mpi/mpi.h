// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are ranks of an MPI job, started by mpirun, Slurm or another
// launcher that the MPI library supports.
#pragma once

#include <memory>

#include "weft/reshard/execute/messages.h"

namespace weft::reshard::execute {

struct MpiOptions {
  MessageOptions messages;
  /// If all ranks are on one host and have memory to share: go through it instead, see shared.h.
  bool shared_memory = true;
};

/// Rank r of the communicator is device r. `communicator`: its Fortran handle from MPI_Comm_c2f(),
/// since Weft's headers do not include MPI's. All ranks must call this at the same time with the
/// same options; it is a collective call. The transport duplicates the communicator and lets MPI
/// return errors on the copy. MPI must be initialised, and must not be finalised before the
/// transport is destroyed.
Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MpiOptions& options);

}  // namespace weft::reshard::execute
