// SPDX-License-Identifier: Apache-2.0
// The part of NCCL's interface that Weft uses, as in NCCL 2.18 and later. Functions are looked up
// at run time, so nothing is linked, and a process of PyTorch uses PyTorch's own NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/base/result.h"

namespace weft::reshard::execute::nccl {

/// An id of a communicator. One rank makes it, and all ranks of the communicator must be given the
/// same id.
struct UniqueId {
  std::array<char, 128> bytes = {};
};

/// The part of ncclConfig_t that is the same in all versions. NCCL reads as many bytes as `size`
/// says. For fields that are newer than `version`, it uses its defaults.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

enum Outcome : int { kSuccess = 0, kInProgress = 7 };
inline constexpr int kByte = 0;  ///< ncclInt8
inline constexpr int kSum = 0;   ///< ncclSum

using Communicator = void*;
using Stream = void*;

struct Nccl {
  int (*make_id)(UniqueId*) = nullptr;
  int (*connect)(Communicator*, int ranks, UniqueId, int rank, Config*) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*state)(Communicator, int* outcome) = nullptr;
  int (*group_begin)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, Communicator, Stream) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, Communicator, Stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, Communicator, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int operation, Communicator,
                        Stream) = nullptr;
  const char* (*name_of)(int outcome) = nullptr;
};

/// `path` is the path of the library. If it is empty, libnccl.so.2 is loaded; if the process has
/// already loaded a copy, that copy is used. Returns an Error (kUnavailable) if it cannot be
/// loaded.
Result<Nccl> load_nccl(const std::string& path);

Result<UniqueId> make_unique_id(const Nccl& nccl);

}  // namespace weft::reshard::execute::nccl
