// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/loading.h"

#include <algorithm>

namespace weft::diagnose {

// The names that frameworks use when they fetch a batch: "enumerate(DataLoader)#...__next__" in
// PyTorch, "IteratorGetNext" in TensorFlow, "dataloader" or "data_loading" in MXNet and others.
bool names_loading(std::string_view name) {
  for (const std::string_view part :
       {"DataLoader", "dataloader", "data_loading", "IteratorGetNext", "Iterator::GetNext"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::vector<sim::Window> loading_windows(const predict::Job& job) {
  std::vector<sim::Window> loading;
  for (const trace::RankTrace& trace : job.run.ranks) {
    // Examine each name only once: a trace has millions of events but few names.
    std::vector<bool> loads(trace.names.size());
    for (NameId name = 0; name < loads.size(); ++name) {
      loads[name] = names_loading(trace.names.text(name));
    }
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const trace::EventKind kind = trace.events.kind[i];
      if (kind != trace::EventKind::kAnnotation && kind != trace::EventKind::kHostOp) continue;
      if (!loads[trace.events.name[i]]) continue;
      const Nanos start = trace.events.start[i] - job.graph.origin;
      loading.push_back({trace.rank, start, start + trace.events.duration[i]});
    }
  }
  return loading;
}

LoadingTimes::LoadingTimes(const predict::Job& job) {
  for (const sim::Window& load : loading_windows(job)) by_rank_[load.rank].push_back(load);
  for (auto& [rank, loads] : by_rank_) loads = sim::merged(std::move(loads));
}

Nanos LoadingTimes::overlap(std::int32_t rank, Nanos begin, Nanos end) const {
  const auto found = by_rank_.find(rank);
  if (found == by_rank_.end()) return 0;
  const std::vector<sim::Window>& loads = found->second;
  auto next = std::upper_bound(loads.begin(), loads.end(), begin,
                               [](Nanos t, const sim::Window& load) { return t < load.end; });
  Nanos sum = 0;
  for (; next != loads.end() && next->begin < end; ++next) {
    sum += std::min(end, next->end) - std::max(begin, next->begin);
  }
  return sum;
}

}  // namespace weft::diagnose
