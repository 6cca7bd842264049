// SPDX-License-Identifier: Apache-2.0
// Devices that are ranks of an NCCL communicator, each with a GPU. Buffers are memory of the GPU
// and nothing of them passes through the host: a round is a launch that packs, one group of NCCL's
// sends and receives, and a launch that unpacks, all queued on one stream.
#pragma once

#include <chrono>
#include <memory>

#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/nccl.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute::nccl {

struct Options {
  /// How long a rank waits for others to connect, and for a round of a program to end once those
  /// before have.
  std::chrono::milliseconds timeout{30'000};
  /// A cudaStream_t that everything is queued on; nullptr: one of its own.
  Stream stream = nullptr;
};

/// Rank r is device r. All ranks must call it at about the same time, each with its GPU as the
/// current device; `id`: from make_unique_id() on one of them. The functions are copied, so tests
/// can bring their own.
///
/// Turns that are an all-gather or a reduce-scatter of all ranks are run as NCCL's own, if all
/// ranks find so when they first see the program; sums are then in NCCL's order.
///
/// round() returns when everything is queued: what the stream does after it finds the target as it
/// shall be. finish() waits, and is where a lost rank is noticed, by all others: NCCL is then
/// aborted, which ends what is stuck on the GPU. With a budget each message is a group of its own.
/// Memory that was once allocated is kept for the next run.
Result<std::unique_ptr<Transport>> connect_nccl(const Nccl& nccl, const cuda::Gpu& gpu,
                                                const UniqueId& id, int rank, int ranks,
                                                const Options& options);

}  // namespace weft::reshard::execute::nccl
