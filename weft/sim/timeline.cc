// SPDX-License-Identifier: Apache-2.0
#include "weft/sim/timeline.h"

#include <algorithm>
#include <tuple>

namespace weft::sim {

std::vector<Span> timeline(const Replay& replay) {
  const graph::Ops& ops = replay.graph().ops;
  std::vector<Span> spans;
  spans.reserve(ops.size());
  for (graph::OpId op = 0; op < ops.size(); ++op) {
    spans.push_back({op, ops.lane[op], replay.start(op), replay.end(op)});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.lane, a.start, a.op) < std::tie(b.lane, b.start, b.op);
  });
  return spans;
}

}  // namespace weft::sim
