// SPDX-License-Identifier: Apache-2.0
// Decodes the lines of NCCL profiler plug-ins that write their events as JSON:
//   {"type":"ProfilerLifecycle","func":"ProfilerInit","gpuUuid":U,"commId":C,"rank":R,
//    "start":{"ts":T,"pid":P,"tid":T}, ..., "details":{"nranks":N}}
//   {"recordType":"event","type":"ncclProfileColl", ..., "parentObj":A,"eventAddr":B,
//    "details":{"func":"AllReduce","seq":0,"count":N,"dtype":"ncclFloat32"}}
//   {"recordType":"state","name":"KernelChStop","eventAddr":A,"pTimer":N}
//   {"recordType":"cuptiActivity","type":"KERNEL","extCorrId":N, ...}
// Times are microseconds of the host's monotonic clock.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/json/scanner.h"
#include "weft/trace/formats/nccl/assemble.h"

namespace weft::trace::nccl {

/// One line. Members that the line lacks are empty, 0 or -1. Texts are valid until the scanner's
/// release().
struct ProfilerRecord {
  std::string_view kind, type, name, function, dtype, gpu, communicator, host;
  std::int64_t rank = -1, ranks = -1, process = -1, thread = -1;
  std::int64_t count = -1, sequence = -1, peer = -1;
  std::int64_t link = -1;       ///< "extCorrId", which a launch and its CUPTI kernel share
  std::int64_t gpu_clock = -1;  ///< nanoseconds on the GPU's clock
  std::uint64_t address = 0, parent = 0, stream = 0;
  Span span;
};

/// Reads the members of one line; the caller has already entered its object.
void read_record(JsonScanner& json, ProfilerRecord& record);

}  // namespace weft::trace::nccl
