// SPDX-License-Identifier: Apache-2.0
// Devices that are ranks of an MPI job, started by mpirun, Slurm or whatever else the MPI library
// knows.
#pragma once

#include <memory>

#include "weft/reshard/execute/messages.h"

namespace weft::reshard::execute {

struct MpiOptions {
  MessageOptions messages;
  /// Where all ranks are on one host and have memory to share: by way of that, see shared.h.
  bool shared_memory = true;
};

/// Rank r of the communicator is device r. `communicator`: its Fortran handle, MPI_Comm_c2f(),
/// since headers of Weft know no MPI. All ranks must call it at once, with the same options: they
/// agree on the way. The transport works on a communicator of its own, with errors returned. MPI
/// must have been initialised, and outlive the transport.
Result<std::unique_ptr<Transport>> connect_mpi(int communicator, const MpiOptions& options);

}  // namespace weft::reshard::execute
