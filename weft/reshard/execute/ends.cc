// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/ends.h"

#include "weft/reshard/element_type.h"
#include "weft/reshard/execute/convert.h"

namespace weft::reshard::execute {
namespace {

/// The type of an end, where it is not the one that travels; else empty.
const std::string& type_of_end(const Program& program, std::size_t buffer) {
  const Elements& elements = program.elements[buffer / 2];
  return buffer % 2 == 0 ? elements.source : elements.target;
}

Bytes travelling_item(const Program& program, std::size_t buffer) {
  return item_size(program.elements[buffer / 2].type);
}

std::int64_t elements_of(const Program& program, std::size_t buffer) {
  return program.buffers[buffer] / travelling_item(program, buffer);
}

/// Whether what travels lies in the end's own memory until it gets its type.
bool has_room(const Program& program, std::size_t buffer) {
  return buffer % 2 == 1 && end_bytes(program, buffer) >= program.buffers[buffer];
}

bool is_cast(const Program& program, std::size_t buffer) {
  return !type_of_end(program, buffer).empty() && program.buffers[buffer] > 0;
}

}  // namespace

Bytes end_bytes(const Program& program, std::size_t buffer) {
  const std::string& type = type_of_end(program, buffer);
  return type.empty() ? program.buffers[buffer] : elements_of(program, buffer) * item_size(type);
}

Bytes cast_bytes(const Program& program) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i + 1 < program.buffers.size(); ++i) {
    if (is_cast(program, i) && !has_room(program, i)) bytes += program.buffers[i];
  }
  return bytes;
}

Result<Ends> Ends::begin(const Program& program, const Buffers& given, Transport& transport) {
  Ends ends(program, given);
  ends.travel_ = given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!is_cast(program, i)) continue;
    if (!transport.memory_of_host()) {
      return fail(ErrorCode::kUsage, "memory of a GPU is moved as it is: cast " +
                                         program.elements[i / 2].type + " before or after");
    }
    if (has_room(program, i)) {
      ends.travel_[i] = given[i] + (end_bytes(program, i) - program.buffers[i]);
      continue;
    }
    WEFT_ASSIGN(Staging staging, Staging::of(transport, program.buffers[i]));
    ends.travel_[i] = staging.data();
    ends.staging_.push_back(std::move(staging));
    if (i % 2 == 1) continue;
    WEFT_ASSIGN(const Convert convert,
                conversion(type_of_end(program, i), program.elements[i / 2].type));
    convert(given[i], ends.travel_[i], elements_of(program, i));
  }
  return ends;
}

Status Ends::end() const {
  for (std::size_t i = 1; i < given_.size(); i += 2) {
    if (!is_cast(*program_, i)) continue;
    WEFT_ASSIGN(const Convert convert,
                conversion(program_->elements[i / 2].type, type_of_end(*program_, i)));
    convert(travel_[i], given_[i], elements_of(*program_, i));
  }
  return {};
}

}  // namespace weft::reshard::execute
