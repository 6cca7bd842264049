// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/nccl/nccl.h"
#include "weft/trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::trace;
  check_reader(*make_nccl_profiler_reader(), data, size, "job.jsonl");
  check_reader(*make_nccl_inspector_reader(), data, size, "job.jsonl");
  return 0;
}
