// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/kineto/kineto.h"
#include "weft/trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::trace::check_reader(*weft::trace::make_kineto_reader(), data, size, "trace_rank_1.json");
  return 0;
}
