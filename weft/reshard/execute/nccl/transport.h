// SPDX-License-Identifier: Apache-2.0
// A transport for devices that are ranks of an NCCL communicator, each with a GPU. Buffers are in
// the GPU's memory and do not pass through the host. A round is a kernel that packs, one group of
// NCCL's sends and receives, and a kernel that unpacks, all queued on one stream.
#pragma once

#include <chrono>
#include <memory>

#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/nccl.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute::nccl {

struct Options {
  /// How long a rank waits until all others have connected. Also how long a round may take after
  /// the previous round has ended.
  std::chrono::milliseconds timeout{30'000};
  /// The cudaStream_t on which everything is queued. nullptr: the transport makes its own.
  Stream stream = nullptr;
};

/// Rank r is device r. All ranks must call this at about the same time, each with its GPU as the
/// current device. `id` comes from make_unique_id() on one of the ranks. The functions of `nccl`
/// and `gpu` are copied, so tests can pass their own functions.
///
/// A turn that is an all-gather or a reduce-scatter of all ranks uses NCCL's collective. All ranks
/// must agree on this when they first see the program. Sums are then added up in NCCL's order.
///
/// round() returns when everything is queued. Work that is queued on the stream later sees the
/// complete target. finish() waits for all queued work. In finish(), all ranks notice if a rank is
/// lost. Then NCCL is aborted, which frees the GPU from kernels that wait for that rank. With a
/// budget, each message is a group by itself. Allocated memory is kept for the next run.
Result<std::unique_ptr<Transport>> connect_nccl(const Nccl& nccl, const cuda::Gpu& gpu,
                                                const UniqueId& id, int rank, int ranks,
                                                const Options& options);

}  // namespace weft::reshard::execute::nccl
