// SPDX-License-Identifier: Apache-2.0
// Turns a turn into batches of copies and messages. Messages that are not contiguous, or that add,
// pass through staging. They are packed by copies before the batch, and unpacked or added by copies
// after the batch. Without a budget, all messages of a turn share one batch. With a budget, each
// batch has at most one message per direction, so that staging stays small. Batches are ordered by
// a key that the sender and the receiver of a message compute in the same way.
#include "weft/reshard/execute/cuda/turn.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "weft/reshard/execute/host/combine.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute::cuda {
namespace {

/// In staging, messages begin at multiples of this number, so that two messages do not share a
/// cache line. If the budget is small, a smaller number is used.
Bytes alignment_of(const Message& message, Bytes budget) {
  if (budget == 0) return 256;
  if (budget >= 64) return 16;
  Bytes element = 1;
  for (const Region& region : message.regions) element = std::max(element, region.element);
  return element;
}

class Batcher {
 public:
  Batcher(const Program& program, Device devices) : program_(program), devices_(devices) {}

  void add(const Message& message, bool send) {
    if (message.bytes == 0) return;
    const Device distance = send ? message.peer - program_.self : program_.self - message.peer;
    Key key{message.add, (distance + devices_) % devices_, 0};
    // If a long message was cut into several messages, they differ in their number.
    const int number = numbers_[{send, key.add, message.peer}]++;
    if (program_.message_budget > 0) {
      key.number = number;
    } else {
      key = {};
    }
    Batch& batch = batches_[key];
    MessageSpan span{message.peer, message.regions.front().buffer, message.regions.front().offset,
                     message.bytes};
    if (message.add || !is_contiguous(message)) {
      span.buffer = static_cast<std::int32_t>(program_.buffers.size());
      const Bytes line = alignment_of(message, program_.message_budget);
      span.offset = (batch.staging + line - 1) / line * line;
      stage(message, send, span, send ? batch.before : batch.after);
      batch.staging = span.offset + message.bytes;
    }
    (send ? batch.sends : batch.receives).push_back(span);
  }

  std::vector<Batch> finish(std::vector<Copy> moves) {
    std::vector<Batch> all;
    for (auto& [key, batch] : batches_) all.push_back(std::move(batch));
    // Moves run with the first batch. If a turn has moves but no messages, add a batch without
    // messages for them.
    if (all.empty() && !moves.empty()) all.emplace_back();
    if (!all.empty()) {
      std::vector<Copy>& first = all.front().before;
      first.insert(first.end(), moves.begin(), moves.end());
    }
    return all;
  }

 private:
  struct Key {
    bool add = false;
    Device distance = 0;
    int number = 0;

    auto operator<=>(const Key&) const = default;
  };

  void stage(const Message& message, bool send, const MessageSpan& span,
             std::vector<Copy>& copies) {
    Bytes at = span.offset;
    for (const Region& region : message.regions) {
      const Region side = packed(region, span.buffer, at);
      Copy copy = send ? copy_of(region, side) : copy_of(side, region);
      if (message.add && !send) {
        const Elements& elements = program_.elements[region.array];
        copy.type = type_of(elements.type);
        copy.operation = operation_of(elements.reduction);
      }
      copies.push_back(std::move(copy));
      at += region.bytes();
    }
  }

  const Program& program_;
  Device devices_;
  std::map<Key, Batch> batches_;
  std::map<std::tuple<bool, bool, Device>, int> numbers_;  ///< indexed by direction, add and peer
};

Copy constant_copy(const Region& region, std::int64_t first, std::int64_t second) {
  Copy copy;
  copy.from_buffer = Copy::kNoBuffer;
  copy.to_buffer = region.buffer;
  copy.from = first;
  copy.more = second;
  copy.to = region.offset;
  copy.element = region.element;
  for (const Loop& loop : region.loops) copy.loops.push_back({loop.extent, 0, loop.stride});
  return copy;
}

}  // namespace

Copy copy_of(const Region& from, const Region& to) {
  const StridedCopy joined = copy_between(from, to);
  Copy copy;
  copy.from_buffer = from.buffer;
  copy.to_buffer = to.buffer;
  copy.from = from.offset;
  copy.to = to.offset;
  copy.element = from.element;
  copy.loops = joined.loops();
  if (joined.run_bytes() != from.element) {
    copy.loops.push_back({joined.run_bytes() / from.element, from.element, from.element});
  }
  return copy;
}

bool is_contiguous(const Message& message) {
  if (message.regions.empty()) return false;
  Bytes end = message.regions.front().offset;
  for (const Region& region : message.regions) {
    if (!region.dense() || region.buffer != message.regions.front().buffer) return false;
    if (region.offset != end) return false;
    end += region.bytes();
  }
  return true;
}

std::vector<Batch> batches_of(const Program& program, const Turn& turn, Device devices) {
  Batcher batcher(program, devices);
  // Between two devices, messages are matched only by their order: first those that replace, then
  // those that add.
  for (const bool add : {false, true}) {
    for (const Message& message : turn.sends) {
      if (message.add == add) batcher.add(message, true);
    }
    for (const Message& message : turn.receives) {
      if (message.add == add) batcher.add(message, false);
    }
  }
  std::vector<Copy> moves;
  for (const Move& move : turn.moves) moves.push_back(copy_of(move.from, move.to));
  return batcher.finish(std::move(moves));
}

Status check_reductions(const Program& program) {
  for (const Elements& elements : program.elements) {
    if (elements.reduction.empty()) continue;
    WEFT_TRY(combine_rows(elements));
    if (!can_combine(type_of(elements.type), operation_of(elements.reduction))) {
      return fail(ErrorCode::kUsage, "elements of type '" + elements.type +
                                         "' cannot be reduced by '" + elements.reduction +
                                         "' on a GPU: move them as another type");
    }
  }
  return {};
}

Result<std::vector<Copy>> neutral_copies(const Program& program) {
  std::vector<Copy> copies;
  for (const Region& region : program.neutral) {
    WEFT_ASSIGN(const Pattern pattern, neutral_element(program.elements[region.array]));
    std::int64_t halves[2];
    std::memcpy(halves, pattern.data(), sizeof halves);
    copies.push_back(constant_copy(region, halves[0], halves[1]));
  }
  return copies;
}

std::vector<Copy> scale_copies(const Program& program) {
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < program.elements.size(); ++i) {
    const Elements& elements = program.elements[i];
    const auto target = static_cast<std::int32_t>(2 * i + 1);
    const Type type = type_of(elements.type);
    const Bytes size = size_of(type);
    // Skip arrays whose elements are not divided, types that cannot be scaled, and empty targets.
    if (elements.times == elements.over || size == 0 || program.buffers[target] == 0) continue;
    const Region whole{
        target, static_cast<std::int32_t>(i), 0, size, {{program.buffers[target] / size, size}}};
    Copy copy = constant_copy(whole, elements.times, elements.over);
    copy.type = type;
    copy.operation = Operation::kScale;
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace weft::reshard::execute::cuda
