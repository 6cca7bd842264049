// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/rows.h"

#include <algorithm>

namespace weft::reshard::execute::cuda {

int lowest_bit(std::int64_t bits) {
  return static_cast<int>(std::min<std::int64_t>(kBlock, bits & -bits));
}

Rows rows_of(const Copy& copy, const std::vector<int>& alignment) {
  std::vector<CopyLoop> loops = copy.loops;
  if (!copy.has_source()) {
    // A fill has no strides in a source. Use the strides of the target, so that loops join into
    // long rows.
    for (CopyLoop& loop : loops) loop.from = loop.to;
  }
  const StridedCopy joined(std::move(loops), copy.element);
  const int from_base = copy.has_source() ? alignment[copy.from_buffer] : kBlock;
  const int to_base = alignment[copy.to_buffer];
  // The lowest bit that is set in any of the numbers is the largest power of two that divides all
  // of them.
  std::int64_t from_bits = kBlock | from_base | joined.run_bytes();
  if (copy.has_source()) from_bits |= copy.from;
  std::int64_t to_bits = kBlock | to_base;
  for (const CopyLoop& loop : joined.loops()) {
    from_bits |= loop.from;
    to_bits |= loop.to;
  }
  return {&copy,
          copy.from,
          copy.to,
          joined.bytes() == 0 ? 0 : joined.run_bytes(),
          joined.loops(),
          lowest_bit(from_bits | to_bits | copy.to),
          lowest_bit(from_bits) == kBlock,
          lowest_bit(to_bits) == kBlock};
}

}  // namespace weft::reshard::execute::cuda
