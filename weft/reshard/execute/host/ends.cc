// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/ends.h"

#include "weft/reshard/execute/host/combine.h"
#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/layout/element_type.h"

namespace weft::reshard::execute {
namespace {

/// The type of a source or target. Empty if it is the wire type.
const std::string& type_of_end(const Program& program, std::size_t buffer) {
  const Elements& elements = program.elements[buffer / 2];
  return buffer % 2 == 0 ? elements.source : elements.target;
}

Bytes wire_item(const Program& program, std::size_t buffer) {
  return item_size(program.elements[buffer / 2].type);
}

std::int64_t elements_of(const Program& program, std::size_t buffer) {
  return program.buffers[buffer] / wire_item(program, buffer);
}

/// Whether the target's own memory is large enough for its elements in the wire type.
bool has_room(const Program& program, std::size_t buffer) {
  return end_bytes(program, buffer) >= program.buffers[buffer];
}

bool is_cast(const Program& program, std::size_t buffer) {
  return !type_of_end(program, buffer).empty() && program.buffers[buffer] > 0;
}

/// Whether the buffer is a target that is cast as a whole at the end.
bool is_cast_whole(const Program& program, std::size_t buffer) {
  return buffer % 2 == 1 && is_cast(program, buffer) && !program.elements[buffer / 2].by_slabs;
}

/// The region as if elements were `times` times narrower.
Region narrowed(Region region, std::int64_t times) {
  region.offset /= times;
  region.element /= times;
  for (Loop& loop : region.loops) loop.stride /= times;
  return region;
}

}  // namespace

Bytes end_bytes(const Program& program, std::size_t buffer) {
  const std::string& type = type_of_end(program, buffer);
  return type.empty() ? program.buffers[buffer] : elements_of(program, buffer) * item_size(type);
}

Bytes cast_bytes(const Program& program) {
  Bytes bytes = 0;
  for (std::size_t i = 1; i + 1 < program.buffers.size(); i += 2) {
    if (is_cast_whole(program, i) && !has_room(program, i)) bytes += program.buffers[i];
  }
  return bytes;
}

Result<Ends> Ends::begin(const Program& program, const Buffers& given, Transport& transport) {
  Ends ends(program, given);
  ends.wire_ = given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!is_cast(program, i)) continue;
    if (!transport.memory_of_host()) {
      return fail(ErrorCode::kUsage, "elements in GPU memory cannot be cast during the run: cast " +
                                         program.elements[i / 2].type + " before or after the run");
    }
    if (!is_cast_whole(program, i)) continue;
    if (has_room(program, i)) {
      // Store the sent elements at the end of the target's memory. The cast goes from the first
      // element to the last, so it never overwrites an element that it has not read yet.
      ends.wire_[i] = given[i] + (end_bytes(program, i) - program.buffers[i]);
      continue;
    }
    WEFT_ASSIGN(Staging staging, Staging::of(transport, program.buffers[i]));
    ends.wire_[i] = staging.data();
    ends.staging_.push_back(std::move(staging));
  }
  return ends;
}

Status Ends::cast_staged(const Turn& turn, const Buffers& all) const {
  for (const StagedCast& staged_cast : turn.staged_casts) {
    const Elements& elements = program_->elements[staged_cast.array];
    WEFT_TRY(scale(elements, all.back() + staged_cast.offset, staged_cast.bytes));
    WEFT_ASSIGN(const CombineRows rows, conversion_rows(elements.type, elements.target));
    const std::int64_t width_ratio = item_size(elements.type) / item_size(elements.target);
    for (const Move& move : staged_cast.casts) {
      const Region to = narrowed(move.to, width_ratio);
      run(copy_between(narrowed(move.from, width_ratio), to),
          all[move.from.buffer] + move.from.offset, given_[move.to.buffer] + to.offset,
          {rows, width_ratio});
    }
  }
  return {};
}

Status Ends::end() const {
  for (std::size_t i = 1; i < given_.size(); i += 2) {
    if (!is_cast_whole(*program_, i)) continue;
    WEFT_ASSIGN(const Convert convert,
                conversion(program_->elements[i / 2].type, type_of_end(*program_, i)));
    convert(wire_[i], given_[i], elements_of(*program_, i));
  }
  return {};
}

}  // namespace weft::reshard::execute
