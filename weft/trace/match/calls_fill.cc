// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/calls_fill.h"

#include <algorithm>
#include <map>
#include <string>

namespace weft::trace {
namespace {

class Filler {
 public:
  Filler(const RankTrace& trace, const std::vector<bool>& known, std::vector<Call>& calls)
      : trace_(trace), events_(trace.events), known_(known), calls_(calls) {}

  // Work that was launched before the recording began has no arguments, because these are recorded
  // with the launch. Training steps repeat. So if the known calls of a stream are periodic, an
  // unknown call has the arguments of the call one or more periods away. The shortest period wins.
  void fill_by_period() {
    std::map<std::uint32_t, std::vector<std::size_t>> by_lane;
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      by_lane[events_.lane[calls_[k].event]].push_back(k);
    }
    for (const auto& [lane, list] : by_lane) {
      const std::size_t known = static_cast<std::size_t>(
          std::count_if(list.begin(), list.end(), [&](std::size_t k) { return known_[k]; }));
      if (known == 0 || known == list.size()) continue;
      for (std::size_t period = 1; 2 * period <= known; ++period) {
        if (!has_period(list, period)) continue;
        for (std::size_t i = 0; i < list.size(); ++i) {
          if (!known_[list[i]]) copy_from_period(list, i, period);
        }
        break;
      }
    }
  }

  // A call that is still unknown takes the group that all other calls of its stream agree on.
  void fill_by_lane() {
    struct LaneFacts {
      std::string group;
      std::int32_t group_size = -1;
      bool one_group = true;
      bool all_to_all = false;
      bool messages = false;
    };
    std::map<std::uint32_t, LaneFacts> lanes;
    for (const Call& call : calls_) {
      LaneFacts& facts = lanes[events_.lane[call.event]];
      facts.all_to_all |= call.kind == CollectiveKind::kAllToAll;
      facts.messages |= !call.messages.empty();
      if (call.group.empty()) continue;
      if (facts.group.empty()) {
        facts.group = call.group;
        facts.group_size = call.group_size;
      }
      facts.one_group &= facts.group == call.group;
    }
    for (Call& call : calls_) {
      const LaneFacts& facts = lanes[events_.lane[call.event]];
      if (call.group.empty() && facts.one_group && !facts.group.empty()) {
        call.group = facts.group;
        if (call.group_size < 0) call.group_size = facts.group_size;
      }
      if (call.kind == CollectiveKind::kSendRecv && call.messages.empty() && facts.all_to_all &&
          !facts.messages) {
        call.kind = CollectiveKind::kAllToAll;
      }
    }
  }

 private:
  // Whether each call equals the call one period later, in all properties that are known for the
  // two.
  bool has_period(const std::vector<std::size_t>& list, std::size_t period) const {
    for (std::size_t i = 0; i + period < list.size(); ++i) {
      const std::size_t a = list[i];
      const std::size_t b = list[i + period];
      if (!same_shape(a, b)) return false;
      if (known_[a] && known_[b] && !same_call(a, b)) return false;
    }
    return true;
  }

  void copy_from_period(const std::vector<std::size_t>& list, std::size_t i, std::size_t period) {
    auto copy = [&](std::size_t from) {
      Call& call = calls_[list[i]];
      const Call& like = calls_[list[from]];
      call.kind = like.kind;
      call.group = like.group;
      call.group_size = like.group_size;
      call.bytes = like.bytes;
      call.messages = like.messages;
      call.inferred = true;
    };
    for (std::size_t j = i + period; j < list.size(); j += period) {
      if (known_[list[j]]) return copy(j);
    }
    for (std::size_t j = i; j >= period;) {
      j -= period;
      if (known_[list[j]]) return copy(j);
    }
  }

  // Compares what is known even without arguments: name, grid and block of a kernel.
  bool same_shape(std::size_t a, std::size_t b) const {
    const std::uint32_t ea = calls_[a].event;
    const std::uint32_t eb = calls_[b].event;
    if (events_.name[ea] != events_.name[eb] || events_.kind[ea] != events_.kind[eb]) return false;
    const std::uint32_t da = events_.detail[ea];
    const std::uint32_t db = events_.detail[eb];
    if (events_.kind[ea] != EventKind::kKernel || da == kNone || db == kNone) return true;
    return trace_.kernels[da].shape == trace_.kernels[db].shape;
  }

  bool same_call(std::size_t a, std::size_t b) const {
    const Call& x = calls_[a];
    const Call& y = calls_[b];
    return same_shape(a, b) && x.kind == y.kind && x.bytes == y.bytes && x.group == y.group &&
           x.messages == y.messages;
  }

  const RankTrace& trace_;
  const Events& events_;
  const std::vector<bool>& known_;
  std::vector<Call>& calls_;
};

}  // namespace

void fill_unknown_calls(const RankTrace& trace, const std::vector<bool>& known,
                        std::vector<Call>& calls) {
  Filler filler(trace, known, calls);
  filler.fill_by_period();
  filler.fill_by_lane();
}

}  // namespace weft::trace
