// SPDX-License-Identifier: Apache-2.0
// Exchanges words between host and GPU. The words lie in pinned memory on the host, so that copies
// to and from the GPU can be queued without waiting for the stream.
#include "weft/reshard/execute/nccl/rank_words.h"

namespace weft::reshard::execute::nccl {
namespace {

constexpr std::int64_t kBytes = sizeof(std::uint64_t);

}  // namespace

RankWords::~RankWords() {
  if (device_ != nullptr) gpu_.release(device_);
  if (host_ != nullptr) gpu_.release_host(host_);
}

std::int32_t RankWords::make(int rank, int ranks, char* error) {
  rank_ = rank;
  ranks_ = ranks;
  void* memory = nullptr;
  if (gpu_.allocate(ranks * kBytes, &memory, error) != 0) return 1;
  device_ = static_cast<std::byte*>(memory);
  if (gpu_.allocate_host((ranks + 1) * kBytes, &memory, error) != 0) return 1;
  host_ = static_cast<std::uint64_t*>(memory);
  return 0;
}

std::int32_t RankWords::put(std::uint64_t word, void* stream, char* error) {
  // Runs of the same program send the same word, so it may be on the GPU already. Then skip the
  // copy.
  if (is_there_ && host_[ranks_] == word) return 0;
  host_[ranks_] = word;
  is_there_ = true;
  return gpu_.put(of(rank_), &host_[ranks_], kBytes, stream, error);
}

std::int32_t RankWords::fetch(void* stream, char* error) {
  return gpu_.fetch(host_, device_, ranks_ * kBytes, stream, error);
}

}  // namespace weft::reshard::execute::nccl
