// SPDX-License-Identifier: Apache-2.0
// One 64-bit word per rank, stored on the GPU and on the host. Ranks exchange these words to find
// out whether all of them run the same program, and whether all have reached its end.
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

  // All functions that return a number return 0 on success. Otherwise they write a sentence into
  // `error`, as the functions of library.h do.
  std::int32_t make(int rank, int ranks, char* error);

  /// The address of a rank's word on the GPU.
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
  std::uint64_t* host_ = nullptr;  ///< the words of all ranks, then this rank's word to send
  bool is_there_ = false;          ///< whether this rank's word on the GPU is up to date
};

}  // namespace weft::reshard::execute::nccl
