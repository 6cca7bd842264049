// SPDX-License-Identifier: Apache-2.0
// A word of every rank, on the GPU and on the host: how ranks find out whether all of them run the
// same, and have come to its end.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/cuda/gpu.h"

namespace weft::reshard::execute::nccl {

class Words {
 public:
  explicit Words(const cuda::Gpu& gpu) : gpu_(gpu) {}
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  // Errors are sentences in `error`, as those of the library.
  std::int32_t make(int rank, int ranks, char* error);

  /// Of a rank, on the GPU.
  std::byte* of(int rank) const { return device_ + rank * sizeof(std::uint64_t); }
  /// Queues that the own word gets there, unless it is there already. What was fetched last has to
  /// have come.
  std::int32_t put(std::uint64_t word, void* stream, char* error);
  /// Queues that all words come to the host, and afterwards tells them.
  std::int32_t fetch(void* stream, char* error);
  std::vector<std::uint64_t> all() const { return {host_, host_ + ranks_}; }

 private:
  const cuda::Gpu& gpu_;
  int rank_ = 0, ranks_ = 0;
  std::byte* device_ = nullptr;
  std::uint64_t* host_ = nullptr;  ///< of all ranks, and the own one on its way to the GPU
  bool is_there_ = false;
};

}  // namespace weft::reshard::execute::nccl
