// SPDX-License-Identifier: Apache-2.0
// One 64-bit word per rank, on the GPU and on the host. By exchanging them, ranks find out whether
// all of them run the same program and have come to its end.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/cuda/gpu.h"

namespace weft::reshard::execute::nccl {

class RankWords {
 public:
  explicit RankWords(const cuda::Gpu& gpu) : gpu_(gpu) {}
  ~RankWords();
  RankWords(const RankWords&) = delete;
  RankWords& operator=(const RankWords&) = delete;

  // All functions return 0, or write a sentence into `error`, as those of library.h do.
  std::int32_t make(int rank, int ranks, char* error);

  /// The word of a rank on the GPU.
  std::byte* of(int rank) const { return device_ + rank * sizeof(std::uint64_t); }
  /// Queues a copy of this rank's word to the GPU, unless it is there already. The last fetch()
  /// must have completed.
  std::int32_t put(std::uint64_t word, void* stream, char* error);
  /// Queues a copy of all words to the host. When it has completed, all() returns them.
  std::int32_t fetch(void* stream, char* error);
  std::vector<std::uint64_t> all() const { return {host_, host_ + ranks_}; }

 private:
  const cuda::Gpu& gpu_;
  int rank_ = 0, ranks_ = 0;
  std::byte* device_ = nullptr;
  std::uint64_t* host_ = nullptr;  ///< the words of all ranks, then the own word to be sent
  bool is_there_ = false;          ///< the own word on the GPU is up to date
};

}  // namespace weft::reshard::execute::nccl
