// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/host_costs.h"

#include <algorithm>
#include <optional>

#include "weft/base/median.h"

namespace weft::pipeline::recorded {

void measure_posts(const std::vector<PostSample>& posts, std::vector<StageRecord>& stages) {
  using Field = Nanos HostCosts::*;
  // Sets one field of all stages to the median of the samples for which `matches` returns a time.
  const auto fill = [&](Field field, auto matches) {
    std::vector<Nanos> all;
    std::vector<std::vector<Nanos>> own(stages.size());
    for (const PostSample& sample : posts) {
      const std::optional<Nanos> time = matches(sample);
      if (!time) continue;
      all.push_back(*time);
      for (std::size_t s = 0; s < own.size(); ++s) {
        if (stages[s].rank == sample.rank) own[s].push_back(*time);
      }
    }
    for (std::size_t s = 0; s < own.size() && !all.empty(); ++s) {
      stages[s].host.*field = median(own[s].empty() ? all : own[s]);
    }
  };
  const auto in_calls = [](const PostSample& s) {
    return static_cast<Nanos>(static_cast<double>(s.time) * s.share);
  };
  // If some posts directly follow other posts, only these are used: they need no guess about where
  // the pass before them ends.
  const bool behind_posts = std::any_of(posts.begin(), posts.end(), [](const PostSample& s) {
    return s.before == StretchKind::kPost && s.messages == 1;
  });
  fill(&HostCosts::post_one, [&](const PostSample& s) -> std::optional<Nanos> {
    if (s.messages > 1 || (s.before == StretchKind::kPost) != behind_posts) return std::nullopt;
    return behind_posts ? s.time : in_calls(s);
  });
  fill(&HostCosts::post_more, [&](const PostSample& s) -> std::optional<Nanos> {
    if (s.messages < 2) return std::nullopt;
    return s.before == StretchKind::kPost ? s.time : in_calls(s);
  });
  fill(&HostCosts::leave_forward, [&](const PostSample& s) -> std::optional<Nanos> {
    if (s.before != StretchKind::kForward) return std::nullopt;
    return s.time - in_calls(s);
  });
  fill(&HostCosts::leave_backward, [&](const PostSample& s) -> std::optional<Nanos> {
    if (s.before != StretchKind::kBackward) return std::nullopt;
    return s.time - in_calls(s);
  });
  // StageStep::begin was measured up to the end of the first post. The program contains this post
  // again, so subtract its cost.
  for (StageRecord& stage : stages) {
    for (StageStep& step : stage.steps) {
      step.begin = std::max<Nanos>(0, step.begin - stage.host.post_one);
    }
  }
}

}  // namespace weft::pipeline::recorded
