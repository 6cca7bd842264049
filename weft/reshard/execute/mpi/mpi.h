// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are ranks of an MPI job, started by mpirun, Slurm or another
// launcher that the MPI library supports.
#pragma once

#include <memory>

#include "weft/reshard/execute/messages.h"

namespace weft::reshard::execute {

struct MpiOptions {
  MessageOptions messages;
  /// Whether to use shared memory (shared.h) instead of messages if all ranks are on one host and
  /// have memory to share.
  bool shared_memory = true;
};

/// Rank r of the communicator is device r. `communicator` is its Fortran handle from
/// MPI_Comm_c2f(), because Weft's headers do not include MPI's. This is a collective call: all
/// ranks must make it at the same time with the same options. The transport duplicates the
/// communicator. MPI errors on the duplicate are returned as Errors and do not end the job. MPI
/// must be initialised, and must not be finalised before the transport is destroyed.
Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MpiOptions& options);

}  // namespace weft::reshard::execute
