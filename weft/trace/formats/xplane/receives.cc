// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/xplane/receives.h"

#include <algorithm>

namespace weft::trace::xplane {
namespace {

constexpr std::string_view kReceiveStarts = "ExecutorState::ProcessAsync::Start";
constexpr std::string_view kReceiveDone = "ExecutorState::ProcessAsync::Done";
constexpr std::string_view kReceive = "_Recv";
constexpr std::string_view kSend = ":_Send";
/// The event in which an executor runs its ready nodes, one after another. The event has the number
/// of the execution. The sends inside the event lack this number.
constexpr std::string_view kRunNodes = "ExecutorState::Process";
/// The event with which a thread of the pool starts a task. The task that completes a receive
/// allocates a buffer for the tensor. The size of this allocation is the size of the tensor.
constexpr std::string_view kTask = "ThreadpoolListener::StartRegion";
constexpr std::string_view kAllocation = "MemoryAllocation";

}  // namespace

void Receives::add_thread(std::vector<DecodedEvent>& events) {
  const auto receives = [](const DecodedEvent& event) { return event.kernel_type == kReceive; };
  const auto sends = [](const DecodedEvent& event) { return event.text.ends_with(kSend); };
  if (std::none_of(events.begin(), events.end(), receives) &&
      std::none_of(events.begin(), events.end(), sends)) {
    return;
  }
  std::vector<DecodedEvent*> order;
  for (DecodedEvent& event : events) order.push_back(&event);
  std::stable_sort(order.begin(), order.end(), [](const DecodedEvent* a, const DecodedEvent* b) {
    return a->start < b->start;
  });
  Bytes buffer = -1;
  const DecodedEvent* running = nullptr;
  for (DecodedEvent* event : order) {
    if (event->name == kTask) buffer = -1;
    if (event->name == kAllocation) buffer = event->requested_bytes;
    if (event->name == kRunNodes) running = event;
    if (sends(*event)) {
      event->name =
          event->text;  // the text contains the name of the node, the display name only its type
      if (running != nullptr && event->start <= running->end()) event->execution = running->run;
    }
    if (!receives(*event)) continue;
    Receive& receive = receives_[{event->execution, std::string(event->node)}];
    if (event->name == kReceiveStarts) receive.start = event->start;
    if (event->name != kReceiveDone) continue;
    receive.end = event->start;
    receive.bytes = buffer;
  }
}

void Receives::finish(RankColumns& rank) const {
  std::vector<std::pair<const std::pair<std::int64_t, std::string>*, Receive>> order;
  for (const auto& [key, receive] : receives_) {
    const bool whole = receive.start >= 0 && receive.end >= receive.start;
    if (whole) order.emplace_back(&key, receive);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.start < b.second.start; });
  // Receives overlap, so each one goes to the first lane that is free.
  std::vector<Nanos> busy_until;
  for (const auto& [key, receive] : order) {
    const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                   [&](Nanos until) { return until <= receive.start; });
    const auto row = static_cast<std::int64_t>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.push_back(receive.end);
    } else {
      *free = receive.end;
    }
    rank.add_receive(key->second + ":" + std::string(kReceive), key->first, row, receive.start,
                     receive.end - receive.start, receive.bytes);
  }
}

}  // namespace weft::trace::xplane
