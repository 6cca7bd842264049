// SPDX-License-Identifier: Apache-2.0
// Ranks from NCCL's communicators. A process knows its place in every communicator it is in; the
// largest one is taken for the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::trace::nccl {

struct Membership {
  std::string communicator;
  std::int64_t ranks = -1;
  std::int64_t rank = -1;
};

struct Place {
  std::int32_t rank = -1;
  std::int32_t world = -1;
};

/// For each worker its place in its largest communicator, if that tells all of them apart; else all
/// are unknown.
std::vector<Place> place_workers(const std::vector<std::vector<Membership>>& workers);

}  // namespace weft::trace::nccl
