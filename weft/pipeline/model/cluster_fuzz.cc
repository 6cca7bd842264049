// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to both readers of clusters. Each must return an Error or a valid cluster.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/pipeline/model/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cluster = parse_cluster(text, "fuzz", "a")) {
    WEFT_CHECK(check_cluster(*cluster).has_value());
  }
  if (size > 64) return 0;
  if (const auto cluster = describe_cluster(text)) {
    WEFT_CHECK(check_cluster(*cluster).has_value());
  }
  return 0;
}
