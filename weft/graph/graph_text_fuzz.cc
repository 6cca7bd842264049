// SPDX-License-Identifier: Apache-2.0
// Fuzz target for parse_text(). Checks that any input gives either an Error or a graph that passes
// verify(). Also checks that this graph does not change when it is printed and parsed again.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::graph;
  const auto graph = parse_text({reinterpret_cast<const char*>(data), size});
  if (!graph) return 0;
  WEFT_CHECK(verify(*graph).has_value());
  const std::string printed = print_text(*graph);
  const auto again = parse_text(printed);
  WEFT_CHECK(again.has_value());
  WEFT_CHECK(print_text(*again) == printed);
  return 0;
}
