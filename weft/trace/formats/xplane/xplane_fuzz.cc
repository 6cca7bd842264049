// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/xplane/xplane.h"
#include "weft/trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::trace::check_reader(*weft::trace::make_xplane_reader(), data, size, "host.xplane.pb");
  return 0;
}
