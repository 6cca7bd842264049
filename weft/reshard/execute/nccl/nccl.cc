// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/nccl/nccl.h"

#include "weft/reshard/execute/cuda/loader.h"

namespace weft::reshard::execute::nccl {

Result<Nccl> load_nccl(const std::string& path) {
  // If the process has loaded NCCL already, the loader returns that copy.
  WEFT_ASSIGN(const cuda::Loader loader, cuda::Loader::open(path.empty() ? "libnccl.so.2" : path));
  Nccl nccl;
  WEFT_TRY(loader.find("ncclGetUniqueId", nccl.make_id));
  WEFT_TRY(loader.find("ncclCommInitRankConfig", nccl.connect));
  WEFT_TRY(loader.find("ncclCommAbort", nccl.abort));
  WEFT_TRY(loader.find("ncclCommGetAsyncError", nccl.state));
  WEFT_TRY(loader.find("ncclGroupStart", nccl.group_begin));
  WEFT_TRY(loader.find("ncclGroupEnd", nccl.group_end));
  WEFT_TRY(loader.find("ncclSend", nccl.send));
  WEFT_TRY(loader.find("ncclRecv", nccl.receive));
  WEFT_TRY(loader.find("ncclAllGather", nccl.all_gather));
  WEFT_TRY(loader.find("ncclReduceScatter", nccl.reduce_scatter));
  WEFT_TRY(loader.find("ncclGetErrorString", nccl.name_of));
  return nccl;
}

Result<UniqueId> make_unique_id(const Nccl& nccl) {
  UniqueId id;
  if (const int outcome = nccl.make_id(&id); outcome != kSuccess) {
    return fail(ErrorCode::kUnavailable,
                std::string("NCCL does not start: ") + nccl.name_of(outcome));
  }
  return id;
}

}  // namespace weft::reshard::execute::nccl
