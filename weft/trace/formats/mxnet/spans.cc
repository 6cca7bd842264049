// SPDX-License-Identifier: Apache-2.0
// Spans come in three forms: "X" with a duration, "B" and "E" on one thread, and asynchronous "b"
// and "e". Open spans are kept on a stack per process, thread and form until their end is found.
#include "weft/trace/formats/mxnet/spans.h"

#include <algorithm>
#include <optional>

#include "weft/base/decimal.h"

namespace weft::trace::mxnet {
namespace {

constexpr std::string_view kMemoryCounter = "Memory: ";
/// Limits of starts and durations; sums and differences of valid times then fit into 64 bits.
constexpr Nanos kLatest = 4'000'000'000 * kSecond;
constexpr Nanos kLongest = 1'000'000'000 * kSecond;

}  // namespace

std::string_view SpanCollector::process_name(NameId process) const {
  const auto found = process_names_.find(process);
  return found == process_names_.end() ? std::string_view() : found->second;
}

std::int64_t SpanCollector::unfinished() const {
  std::int64_t count = 0;
  for (const auto& [key, stack] : begun_) count += static_cast<std::int64_t>(stack.size());
  return count;
}

void SpanCollector::add(const ChromeEvent& event, std::string_view arg_name, std::int64_t counter) {
  const NameId process = names_.intern(event.pid);
  if (event.phase == 'M') {
    if (event.name == "process_name") process_names_[process] = arg_name;
    return;
  }
  const bool memory = event.phase == 'C' && event.name.starts_with(kMemoryCounter);
  const bool used = memory || std::string_view("BEbeX").find(event.phase) != std::string_view::npos;
  // Leave out marks, events without a phase, and all counters except memory counters.
  if (!used || event.phase == 0) return;
  const std::optional<Nanos> time = parse_thousandths(event.ts);
  if (!time || *time < 0 || *time > kLatest) {
    ++without_time_;
    return;
  }
  const NameId thread = names_.intern(event.tid);
  if (memory) {
    const NameId device = names_.intern(event.name.substr(kMemoryCounter.size()));
    if (counter >= 0) memory_.push_back({process, thread, device, *time, counter});
    return;
  }
  Span span{process, thread, names_.intern(event.cat), names_.intern(event.name), *time, *time};
  const Key key(process, thread, event.phase == 'b' || event.phase == 'e');
  if (event.phase == 'X') {
    const std::optional<Nanos> duration = parse_thousandths(event.dur);
    if (!duration || *duration < 0 || *duration > kLongest) {
      ++without_time_;
      return;
    }
    span.end = span.start + *duration;
    spans_.push_back(span);
  } else if (event.phase == 'B' || event.phase == 'b') {
    begun_[key].push_back({span.name, span.start});
  } else {
    end(key, span);
  }
}

/// MXNet writes the end of a record directly after its beginning, even if other work began between
/// the two times. So an end belongs to the last beginning of the same name in the file. Pairing by
/// time would mix up overlapping exchanges with the parameter server.
void SpanCollector::end(const Key& key, const Span& span) {
  const auto found = begun_.find(key);
  if (found == begun_.end()) {
    ++unmatched_;
    return;
  }
  std::vector<Begun>& stack = found->second;
  // An end without a name closes the innermost open span.
  const auto begun = std::find_if(stack.rbegin(), stack.rend(), [&](const Begun& b) {
    return span.name == 0 || b.name == span.name;
  });
  if (begun == stack.rend()) {
    ++unmatched_;
    return;
  }
  Span whole = span;
  whole.name = begun->name;
  whole.start = begun->start;
  whole.end = std::max(span.end, begun->start);
  stack.erase(std::next(begun).base());
  spans_.push_back(whole);
}

}  // namespace weft::trace::mxnet
