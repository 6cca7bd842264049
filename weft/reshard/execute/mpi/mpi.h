// SPDX-License-Identifier: Apache-2.0
// Devices that are ranks of an MPI job, started by mpirun, Slurm or whatever else the MPI library
// knows.
#pragma once

#include <memory>

#include "weft/reshard/execute/messages.h"

namespace weft::reshard::execute {

/// Rank r of the communicator is device r. `communicator`: its Fortran handle, MPI_Comm_c2f(),
/// since headers of Weft know no MPI. All ranks must call it at once: the transport works on a
/// communicator of its own, with errors returned. MPI must have been initialised, and outlive the
/// transport.
Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MessageOptions& options);

}  // namespace weft::reshard::execute
