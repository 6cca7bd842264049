// SPDX-License-Identifier: Apache-2.0
// Measures how much host time a post of messages takes. The host time that still belongs to the
// pass before the post is not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// A stretch is a sequence of host ops of a rank: either one post (kPost), or everything that one
/// thread issues between two posts. kRest is everything after the last backward of a step, such as
/// the optimizer.
enum class StretchKind : std::uint8_t { kForward, kBackward, kRest, kPost };

/// A recorded post (the host call that starts a batch of messages) that is not the first stretch of
/// its step.
struct PostSample {
  std::int32_t rank = -1;
  StretchKind before = StretchKind::kPost;  ///< the kind of stretch before the post
  std::size_t messages = 0;
  /// Host time from the end of the stretch before the post to the end of the post.
  Nanos time = 0;
  /// The fraction of `time` that comes after the start of the first communication call.
  double share = 1;
};

/// Sets StageRecord::host except enter_forward and enter_backward. Subtracts the cost of the first
/// post from StageStep::begin. If a post directly follows another post, its whole time is its cost.
/// If a post follows a pass, the start of the first communication call marks where the pass ends
/// and the post begins. Each cost is a median over the samples of the rank. A rank without a sample
/// of some kind gets the median of all ranks for this kind.
void measure_posts(const std::vector<PostSample>& posts, std::vector<StageRecord>& stages);

}  // namespace weft::pipeline::recorded
