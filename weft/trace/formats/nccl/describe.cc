// SPDX-License-Identifier: Apache-2.0
// Converts NCCL's counts and type names into the form that the rest of Weft uses: the elements that
// go into and come out of a call on one rank, and the type names of PyTorch.
#include "weft/trace/formats/nccl/describe.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "weft/trace/match/calls.h"

namespace weft::trace::nccl {
namespace {

struct Dtype {
  std::string_view nccl, weft;
};

constexpr Dtype kDtypes[] = {{"ncclInt8", "Char"},
                             {"ncclChar", "Char"},
                             {"ncclUint8", "Byte"},
                             {"ncclInt32", "Int"},
                             {"ncclInt", "Int"},
                             {"ncclUint32", "UInt32"},
                             {"ncclInt64", "Long"},
                             {"ncclUint64", "UInt64"},
                             {"ncclFloat16", "Half"},
                             {"ncclHalf", "Half"},
                             {"ncclFloat32", "Float"},
                             {"ncclFloat", "Float"},
                             {"ncclFloat64", "Double"},
                             {"ncclDouble", "Double"},
                             {"ncclBfloat16", "BFloat16"},
                             {"ncclFloat8e4m3", "Float8_e4m3fn"},
                             {"ncclFloat8e5m2", "Float8_e5m2"}};

std::string_view dtype_name(std::string_view nccl) {
  if (nccl.empty()) return "Byte";
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& d) { return d.nccl == nccl; });
  return found == std::end(kDtypes) ? nccl : found->weft;
}

// Returns the name of the function that the rest of Weft uses. Messages are split into send and
// recv.
std::string_view function_name(std::string_view function, CollectiveKind kind) {
  if (kind == CollectiveKind::kOther) return function;
  if (kind != CollectiveKind::kSendRecv) return to_text(kind);
  return function.find("end") != std::string_view::npos ? "send" : "recv";  // "Send", "ncclSend"
}

// `count` times the group size; -1 if either is unknown or the product is too large.
std::int64_t of_all(std::int64_t count, std::int64_t size) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
  if (count < 0 || size <= 0 || count > kMost / size) return -1;
  return count * size;
}

}  // namespace

CollectiveDetail describe(Interner& names, const ApiCall& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
  const CollectiveKind kind = kind_from_name(call.function);
  const std::int64_t count = call.count > kMost ? -1 : std::max<std::int64_t>(call.count, -1);
  const std::int64_t all = of_all(count, call.group_size);
  CollectiveDetail detail;
  detail.name = names.intern(function_name(call.function, kind));
  detail.dtype = names.intern(dtype_name(call.dtype));
  detail.group = names.intern(call.group);
  detail.sequence = std::max<std::int64_t>(call.sequence, -1);
  if (call.group_size > 0 && call.group_size <= std::numeric_limits<std::int32_t>::max()) {
    detail.group_size = static_cast<std::int32_t>(call.group_size);
  }
  detail.in_elements = detail.out_elements = count;
  // CollectiveDetail counts what goes into and comes out of the call on one rank. The larger of the
  // input and the output of a gather or scatter has `count` elements for each member of the group.
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      detail.out_elements = all;
      break;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      detail.in_elements = all;
      // If the group size is unknown, the input is unknown. Then make the output unknown too.
      // Otherwise it would be taken for the size of the whole array.
      if (all < 0) detail.out_elements = -1;
      break;
    case CollectiveKind::kAllToAll:
      detail.in_elements = detail.out_elements = all;
      break;
    case CollectiveKind::kSendRecv: {
      const bool send = names.text(detail.name) == "send";
      detail.src = send ? call.self : call.peer;
      detail.dst = send ? call.peer : call.self;
      break;
    }
    default:
      break;
  }
  return detail;
}

}  // namespace weft::trace::nccl
