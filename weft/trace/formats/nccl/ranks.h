// SPDX-License-Identifier: Apache-2.0
// Derives ranks in the job from NCCL's communicators. A process knows its rank within each of its
// communicators. The largest communicator is assumed to contain all ranks of the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::trace::nccl {

/// One communicator of a worker: its size (`ranks`) and the worker's rank in it; -1 if unknown.
struct Membership {
  std::string communicator;
  std::int64_t ranks = -1;
  std::int64_t rank = -1;
};

/// Rank and world size in the job; -1 if unknown.
struct Place {
  std::int32_t rank = -1;
  std::int32_t world = -1;
};

/// Gives each worker its rank within its largest communicator. If these communicators differ in
/// size, or two workers would get the same rank, all workers stay unknown.
std::vector<Place> place_workers(const std::vector<std::vector<Membership>>& workers);

}  // namespace weft::trace::nccl
