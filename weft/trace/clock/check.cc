// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/clock/check.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace weft::trace {
namespace {

constexpr DiagnosticKind kFarEvent{
    "clock-jump", Severity::kDataLoss,
    "events were left out because their times are far from the times of all other events: more "
    "than a minute, and more than twenty times the length of the recording",
    "the clock was set while recording, or the file is damaged; record again with a stable clock"};
constexpr DiagnosticKind kEarlyKernel{
    "device-before-launch", Severity::kWarning,
    "device work starts before the host call that launched it; the times were kept as recorded",
    "host and device clocks disagree; update the driver or profile again"};
constexpr DiagnosticKind kStepOrder{
    "step-order", Severity::kWarning,
    "a step starts before a step with a lower number; the clock may have been set back",
    "check the host's time synchronisation, then record again"};
constexpr DiagnosticKind kSilence{
    "time-gap", Severity::kWarning,
    "no event was recorded for more than half of the recording; the clock may have jumped",
    "check the host's time synchronisation; a job that was paused looks the same"};

constexpr Nanos kNear = 60 * kSecond;            // events this near to the others are always kept
constexpr Nanos kLaunchSlack = kMillisecond;     // device and host clocks may differ by this much
constexpr Nanos kShortestSilence = 2 * kSecond;  // a shorter silence is not reported
constexpr std::size_t kSample = 4096;            // events that believable() looks at

struct Range {
  Nanos low = std::numeric_limits<Nanos>::min();
  Nanos high = std::numeric_limits<Nanos>::max();
  bool holds(Nanos t) const { return t >= low && t <= high; }
};

// Returns the range of times that count as undamaged. It reaches from the 10 % quantile to the 90 %
// quantile of a sample of events, with a wide margin on both sides. Quantiles are used because a
// few damaged times do not change them. If even the quantiles are a month apart, the range contains
// all times.
Range believable(const std::vector<Nanos>& times) {
  std::vector<Nanos> sample;
  const std::size_t stride = std::max<std::size_t>(1, times.size() / kSample);
  for (std::size_t i = 0; i < times.size(); i += stride) sample.push_back(times[i]);
  std::sort(sample.begin(), sample.end());
  const Nanos low = sample[sample.size() / 10];
  const Nanos high = sample[sample.size() - 1 - sample.size() / 10];
  Nanos span = 0;
  if (__builtin_sub_overflow(high, low, &span) || span > kSecond * 86400 * 30) return {};
  const Nanos margin = std::max(kNear, 20 * span);
  Range range;
  if (__builtin_sub_overflow(low, margin, &range.low)) range.low = Range{}.low;
  if (__builtin_add_overflow(high, margin, &range.high)) range.high = Range{}.high;
  return range;
}

template <class T>
void keep(std::vector<T>& column, const std::vector<bool>& kept) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (kept[i]) column[out++] = column[i];
  }
  column.resize(out);
}

std::int64_t drop_far_events(RankTrace& trace) {
  Events& events = trace.events;
  const Range range = believable(events.start);
  const auto believed = [&](std::size_t i) {
    Nanos end = 0;
    return range.holds(events.start[i]) &&
           !__builtin_add_overflow(events.start[i], events.duration[i], &end) && range.holds(end);
  };
  std::vector<bool> kept(events.size());
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    kept[i] = believed(i);
    dropped += kept[i] ? 0 : 1;
  }
  std::erase_if(trace.steps,
                [&](const StepMark& s) { return !range.holds(s.start) || !range.holds(s.end); });
  std::erase_if(trace.flows, [&](const FlowPoint& f) { return !range.holds(f.time); });
  if (dropped == 0) return 0;
  keep(events.start, kept);
  keep(events.duration, kept);
  keep(events.name, kept);
  keep(events.lane, kept);
  keep(events.correlation, kept);
  keep(events.detail, kept);
  keep(events.external_id, kept);
  keep(events.kind, kept);
  return dropped;
}

void start_at_zero(RankTrace& trace) {
  Events& events = trace.events;
  if (events.size() == 0) return;
  const Nanos first = *std::min_element(events.start.begin(), events.start.end());
  for (Nanos& t : events.start) t -= first;
  for (StepMark& step : trace.steps) {
    step.start -= first;
    step.end -= first;
  }
  for (FlowPoint& flow : trace.flows) flow.time -= first;
  trace.epoch += first;
}

std::int64_t count_early_kernels(const RankTrace& trace) {
  const Events& events = trace.events;
  std::unordered_map<std::uint32_t, Nanos> calls;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::kRuntime && events.correlation[i] != 0) {
      calls.try_emplace(events.correlation[i], events.start[i]);
    }
  }
  std::int64_t early = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::kKernel || events.correlation[i] == 0) continue;
    const auto call = calls.find(events.correlation[i]);
    if (call != calls.end() && events.start[i] < call->second - kLaunchSlack) ++early;
  }
  return early;
}

std::int64_t count_steps_backwards(const RankTrace& trace) {
  std::int64_t backwards = 0;
  for (std::size_t i = 1; i < trace.steps.size(); ++i) {
    const StepMark& a = trace.steps[i - 1];
    const StepMark& b = trace.steps[i];
    if (a.lane == b.lane && b.number < a.number) ++backwards;
  }
  return backwards;
}

// Returns the longest time without any event. Divides the recording into 4096 cells and counts the
// running events in each cell. This takes linear time, whereas an exact answer would need sorted
// events. The error of the result is at most two cells.
Nanos longest_silence(const RankTrace& trace, Nanos span) {
  constexpr std::size_t kCells = 4096;
  const Nanos cell = span / static_cast<Nanos>(kCells) + 1;
  std::vector<std::int64_t> change(kCells + 2, 0);
  const Events& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    ++change[static_cast<std::size_t>(events.start[i] / cell)];
    --change[static_cast<std::size_t>(events.end(i) / cell) + 1];
  }
  std::int64_t running = 0;
  Nanos silence = 0;
  Nanos longest = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    running += change[i];
    silence = running > 0 ? 0 : silence + cell;
    longest = std::max(longest, silence);
  }
  return longest;
}

}  // namespace

Status check_clock(RankTrace& trace, Diagnostics& diagnostics) {
  if (trace.events.size() == 0) return {};
  diagnostics.add(kFarEvent, trace.file, drop_far_events(trace));
  if (trace.events.size() == 0) {
    return fail(ErrorCode::kBadInput,
                "no event has a plausible time, so the file is damaged; copy it again or record "
                "again",
                trace.file);
  }
  start_at_zero(trace);
  diagnostics.add(kEarlyKernel, trace.file, count_early_kernels(trace));
  diagnostics.add(kStepOrder, trace.file, count_steps_backwards(trace));
  Nanos last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) last = std::max(last, trace.events.end(i));
  if (last >= kShortestSilence) {
    const Nanos silence = longest_silence(trace, last);
    if (silence >= kShortestSilence && silence > last / 2) {
      diagnostics.add(kSilence,
                      trace.file + ": " + std::to_string(silence / kMillisecond) + " ms long");
    }
  }
  return {};
}

}  // namespace weft::trace
