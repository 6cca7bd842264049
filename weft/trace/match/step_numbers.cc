// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/step_numbers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace weft::trace {
namespace {

/// More than the number of collectives in any step. The number of a call is step * kMostInStep +
/// position.
constexpr std::int64_t kMostInStep = 1 << 20;

/// Returns the marked step that contains `time`; null if `time` lies outside of all marks.
/// (step_at() differs: there, the time between two steps belongs to the first of them.)
const StepMark* mark_at(const RankTrace& trace, Nanos time) {
  const auto after = std::upper_bound(trace.steps.begin(), trace.steps.end(), time,
                                      [](Nanos t, const StepMark& s) { return t < s.start; });
  if (after == trace.steps.begin() || time >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

/// Whether the call needs a number: only host-side collectives without a recorded number do.
bool needs_number(const RankTrace& trace, const Call& call) {
  return trace.events.kind[call.event] == EventKind::kAnnotation && call.sequence < 0 &&
         call.kind != CollectiveKind::kSendRecv;
}

/// Numbers the calls before the first mark. Counts backwards from the mark, because the recording
/// may have cut off the first of these calls.
void number_before_marks(const RankTrace& trace, const std::vector<Call>& calls,
                         std::vector<std::int64_t>& numbers) {
  std::map<std::pair<std::string, CollectiveKind>, std::int64_t> seen;
  for (std::size_t c = calls.size(); c-- > 0;) {
    const Call& call = calls[c];
    if (!needs_number(trace, call)) continue;
    if (trace.events.start[call.event] >= trace.steps.front().start) continue;
    const std::int64_t back = ++seen[{call.group, call.kind}];
    numbers[c] = trace.steps.front().number * kMostInStep - back;
  }
}

}  // namespace

std::vector<std::vector<std::int64_t>> step_numbers(const Run& run,
                                                    const std::vector<std::vector<Call>>& calls) {
  std::vector<std::vector<std::int64_t>> numbers;
  for (const auto& of_rank : calls) numbers.emplace_back(of_rank.size(), -1);
  const auto none = numbers;
  using Key = std::tuple<std::int64_t, std::string, CollectiveKind>;  // step, group, kind
  std::set<std::int64_t> steps;
  std::vector<std::map<Key, std::int64_t>> counts(calls.size());
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const RankTrace& trace = run.ranks[r];
    std::set<std::int64_t> own;
    for (const StepMark& step : trace.steps) own.insert(step.number);
    if (own.empty() || (r > 0 && own != steps)) return none;
    steps = std::move(own);
    for (std::size_t c = 0; c < calls[r].size(); ++c) {
      const Call& call = calls[r][c];
      if (!needs_number(trace, call)) continue;
      const StepMark* step = mark_at(trace, trace.events.start[call.event]);
      if (step == nullptr) continue;
      const std::int64_t place = counts[r][{step->number, call.group, call.kind}]++;
      numbers[r][c] = step->number * kMostInStep + place;
    }
    // If a rank has other counts than rank 0, no call gets a number, because one shifted number
    // would match unrelated collectives.
    if (counts[r] != counts[0]) return none;
    number_before_marks(trace, calls[r], numbers[r]);
  }
  return numbers;
}

}  // namespace weft::trace
