// SPDX-License-Identifier: Apache-2.0
// Measures the host time of posting messages, without the end of the pass that was before it.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// A stretch is what a rank issues between two posts on one thread. kRest: whatever follows the
/// last backward of a step, such as the optimizer.
enum class StretchKind : std::uint8_t { kForward, kBackward, kRest, kPost };

/// A recorded post that was not the first thing in its step.
struct PostSample {
  std::int32_t rank = -1;
  StretchKind before = StretchKind::kPost;  ///< what was issued before it
  std::size_t messages = 0;
  Nanos time = 0;    ///< host time from the end of that to the end of the post
  double share = 1;  ///< the part of `time` from the first communication call on
};

/// Sets StageRecord::host except enter_forward and enter_backward, and removes the first post from
/// StageStep::begin. A post right after another one shows its cost directly. After a pass, the
/// first communication call marks where the pass ends and the post begins. If a rank has no sample
/// of a kind, it gets the median of all ranks.
void measure_posts(const std::vector<PostSample>& posts, std::vector<StageRecord>& stages);

}  // namespace weft::pipeline::recorded
