// SPDX-License-Identifier: Apache-2.0
// Questions of the form KEY=VALUE: what would the step be if ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::predict {

struct WhatIf {
  enum class Kind : std::uint8_t {
    kBandwidth,      ///< network.bandwidth=2x
    kLatency,        ///< network.latency=0.5x
    kCompute,        ///< compute=1.5x, rank:2.compute=0.5x
    kCommOff,        ///< comm=off
    kStragglersOff,  ///< stragglers=off
    kBucket,         ///< ddp.bucket_mb=25
    kPack,           ///< allreduce.pack_mb=32
    kWorkers,        ///< workers=8
  };
  Kind kind = Kind::kCommOff;
  double value = 1;        ///< factor; MiB for kBucket and kPack; number for kWorkers
  std::int32_t rank = -1;  ///< kCompute: this rank only; -1 all
  std::string text;        ///< as asked
};

/// What there is to ask, for help and for refusals.
struct WhatIfKey {
  const char* key;      ///< "network.bandwidth"
  const char* example;  ///< "network.bandwidth=2x"
  const char* meaning;
};
const std::vector<WhatIfKey>& what_if_keys();

/// An unknown key or a value that makes no sense is an Error (kUsage) that lists what there is, or
/// else the keys in `offered`: those that a recording can answer.
Result<WhatIf> parse_what_if(std::string_view text, const std::vector<std::string>& offered = {});

}  // namespace weft::predict
