// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/chakra/chakra.h"
#include "weft/trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::trace::check_reader(*weft::trace::make_chakra_reader(), data, size, "job.1.et");
  return 0;
}
