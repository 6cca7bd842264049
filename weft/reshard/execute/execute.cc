// SPDX-License-Identifier: Apache-2.0
// Runs a program. The order of the steps matters. Sources are cast while they are read. Neutral
// elements must be in place before anything is added to them. Complete sums are cast after the last
// message of their turn.
#include "weft/reshard/execute/execute.h"

#include <string>

#include "weft/reshard/execute/host/ends.h"

namespace weft::reshard::execute {

Status check_buffers(const Program& program, const Buffers& buffers) {
  if (buffers.size() + 1 != program.buffers.size()) {
    return fail(ErrorCode::kUsage, "a program of " + std::to_string(program.elements.size()) +
                                       " arrays needs a source and a target for each, but got " +
                                       std::to_string(buffers.size()) + " buffers");
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == nullptr && program.buffers[i] > 0) {
      return fail(ErrorCode::kUsage, std::string(i % 2 == 0 ? "the source" : "the target") +
                                         " of array " + std::to_string(i / 2) + " has no memory");
    }
  }
  return {};
}

Result<Usage> execute(const Program& program, const Buffers& buffers, Transport& transport) {
  WEFT_TRY(check_buffers(program, buffers));
  transport.take_peak();
  WEFT_ASSIGN(const Ends ends, Ends::begin(program, buffers, transport));
  WEFT_ASSIGN(const Staging staging, Staging::of(transport, program.buffers.back()));
  Buffers all = ends.wire_buffers();
  all.push_back(staging.data());
  WEFT_TRY(transport.fill_neutral(program, all));
  for (const Turn& turn : program.turns) {
    WEFT_TRY(transport.round(program, turn, all));
    WEFT_TRY(transport.shuffle(turn, all));
    WEFT_TRY(ends.cast_staged(turn, all));
  }
  WEFT_TRY(transport.finish(program, all));
  WEFT_TRY(ends.end());
  return Usage{transport.take_peak()};
}

}  // namespace weft::reshard::execute
