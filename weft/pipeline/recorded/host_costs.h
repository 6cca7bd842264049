// SPDX-License-Identifier: Apache-2.0
// What posting messages costs a host, apart from the passes before it.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// What a rank issues in one go.
enum class StretchKind : std::uint8_t { kForward, kBackward, kRest, kPost };

/// A post that was not the first thing in its step.
struct PostSample {
  std::int32_t rank = -1;
  StretchKind before = StretchKind::kPost;  ///< what was issued before it
  std::size_t messages = 0;
  Nanos time = 0;    ///< of the host, from the end of that
  double share = 1;  ///< of it, in calls that communicate
};

/// Fills in StageRecord::host but for the entries of passes, and takes the post out of what a step
/// begins with. A post behind another shows its price; behind a pass, the calls tell where the pass
/// ends. What a rank never does costs it what it costs the others.
void measure_posts(const std::vector<PostSample>& posts, std::vector<StageRecord>& stages);

}  // namespace weft::pipeline::recorded
