// SPDX-License-Identifier: Apache-2.0
// Parses what-ifs. A what-if is a question of the form KEY=VALUE. It asks how long a step would
// take after a change.
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
    kBucket,         ///< ddp.bucket_mb=25, ddp.buckets=2,8,40, ddp.buckets=recorded
    kPack,           ///< allreduce.pack_mb=32
    kWorkers,        ///< workers=8
  };
  Kind kind = Kind::kCommOff;
  double value = 1;        ///< a factor; for kPack a size in MiB; for kWorkers a count
  std::int32_t rank = -1;  ///< for kCompute: the rank whose compute changes; -1: all ranks
  /// For kBucket: the limits of the buckets in MiB, as in bucket_cap_mb_list. The last one holds
  /// for all further buckets. Empty: the recorded buckets.
  std::vector<double> caps = {};
  std::string text = {};  ///< the what-if, as the user wrote it
};

/// One kind of what-if. Help texts and refusals show it.
struct WhatIfKey {
  const char* key;      ///< "network.bandwidth"
  const char* example;  ///< "network.bandwidth=2x"
  const char* meaning;
};
const std::vector<WhatIfKey>& what_if_keys();

/// Parses a what-if. An unknown key or an invalid value is an Error (kUsage). The Error lists the
/// keys in `offered`, which the caller has found to be answerable. If `offered` is empty, it lists
/// all keys.
Result<WhatIf> parse_what_if(std::string_view text, const std::vector<std::string>& offered = {});

}  // namespace weft::predict
