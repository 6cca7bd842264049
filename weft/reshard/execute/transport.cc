// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/transport.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "weft/reshard/execute/host/combine.h"
#include "weft/reshard/execute/program/shuffle.h"

namespace weft::reshard::execute {
namespace {

/// The size of a cache line, which is a multiple of the size of every element type.
constexpr auto kAlign = std::align_val_t{64};

}  // namespace

Status Transport::fill_neutral(const Program& program, const Buffers& buffers) {
  // If elements cannot be reduced, refuse the program before anything moves. All devices refuse it
  // here, because they have the same elements.
  for (const Elements& elements : program.elements) {
    if (!elements.reduction.empty()) WEFT_TRY(combine_rows(elements));
  }
  for (const Region& region : program.neutral) {
    WEFT_ASSIGN(const Pattern pattern, neutral_element(program.elements[region.array]));
    fill(region, pattern, buffers[region.buffer]);
  }
  return {};
}

Status Transport::shuffle(const Turn& turn, const Buffers& buffers) {
  if (turn.shuffles.empty()) return {};
  // Marks also count as staging: the budget of programs in place includes them.
  const Bytes bytes = mark_bytes(turn.shuffles);
  WEFT_ASSIGN(const Staging marks, Staging::of(*this, bytes));
  std::memset(marks.data(), 0, static_cast<std::size_t>(bytes));
  execute::shuffle(turn.shuffles, buffers, marks.data());
  return {};
}

Status Transport::finish(const Program& program, const Buffers& buffers) {
  for (std::size_t i = 0; i < program.elements.size(); ++i) {
    // If sums were cast slab by slab, cast_staged() has divided them already.
    if (program.elements[i].by_slabs) continue;
    const bool apart = program.in_place.empty();
    WEFT_TRY(scale(program.elements[i], buffers[2 * i + (apart ? 1 : 0)],
                   apart ? program.buffers[2 * i + 1] : program.in_place[i]));
  }
  return {};
}

Result<std::byte*> Transport::allocate(Bytes bytes) {
  std::byte* memory = take_memory(bytes);
  if (memory == nullptr) {
    return fail(ErrorCode::kUnavailable,
                "no memory for " + std::to_string(bytes) + " bytes of staging: set a budget");
  }
  allocated_[memory] = bytes;
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return memory;
}

void Transport::release(std::byte* memory) {
  const auto found = allocated_.find(memory);
  if (found == allocated_.end()) return;
  live_ -= found->second;
  allocated_.erase(found);
  return_memory(memory);
}

Bytes Transport::take_peak() { return std::exchange(peak_, live_); }

std::byte* Transport::take_memory(Bytes bytes) {
  return static_cast<std::byte*>(
      ::operator new(static_cast<std::size_t>(bytes), kAlign, std::nothrow));
}

void Transport::return_memory(std::byte* memory) { ::operator delete(memory, kAlign); }

Result<Staging> Staging::of(Transport& transport, Bytes bytes) {
  if (bytes == 0) return Staging(transport, nullptr);
  WEFT_ASSIGN(std::byte * memory, transport.allocate(bytes));
  return Staging(transport, memory);
}

}  // namespace weft::reshard::execute
