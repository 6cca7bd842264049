// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/fuzz_checks.h"
#include "weft/trace/xplane/xplane.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::trace::check_reader(*weft::trace::make_xplane_reader(), data, size, "host.xplane.pb");
  return 0;
}
