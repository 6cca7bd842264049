// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/passes.h"

#include <algorithm>

#include "weft/base/median.h"
#include "weft/graph/names.h"

namespace weft::pipeline::recorded {

using graph::OpId;

std::vector<NameId> kernel_names(const PieceMaker& maker, const std::vector<OpId>& ops) {
  std::vector<NameId> names;
  for (const OpId op : ops) {
    for (const OpId kernel : maker.launched(op)) names.push_back(maker.graph().ops.name[kernel]);
  }
  return names;
}

Pass cut(PieceMaker& maker, const std::vector<OpId>& ops, const std::vector<std::size_t>& starts) {
  Pass pass;
  std::vector<OpId> slice;
  std::size_t kernels = 0;
  for (const OpId op : ops) {
    // A layer begins at the host op that launches its first kernel; ops before that, which launch
    // nothing, stay with the layer before.
    const std::size_t next = pass.size() + 1;
    if (next < starts.size() && kernels >= starts[next] && !maker.launched(op).empty()) {
      pass.push_back(maker.make(slice));
      slice.clear();
    }
    slice.push_back(op);
    kernels += maker.launched(op).size();
  }
  pass.push_back(maker.make(slice));
  // A pass with fewer kernels than usual has empty pieces at its end.
  pass.resize(starts.size());
  return pass;
}

namespace {

/// Calls `visit` with every host op of a pass and the index of its layer, in the order of the pass.
template <class Visit>
void walk_layers(const PieceMaker& maker, const std::vector<OpId>& ops,
                 const std::vector<std::size_t>& starts, const Visit& visit) {
  std::size_t kernels = 0, layer = 0;
  for (const OpId op : ops) {
    const bool launches = !maker.launched(op).empty();
    if (launches && layer + 1 < starts.size() && kernels >= starts[layer + 1]) ++layer;
    kernels += maker.launched(op).size();
    visit(op, layer);
  }
}

}  // namespace

std::vector<Bytes> gradients_of(const PieceMaker& maker, const std::vector<OpId>& ops,
                                const std::vector<std::size_t>& starts) {
  std::vector<Bytes> bytes(starts.size(), 0);
  walk_layers(maker, ops, starts, [&](OpId op, std::size_t layer) {
    if (maker.graph().name(op) != graph::kGradientReady) return;
    bytes[layer] += std::max<Bytes>(0, maker.graph().ops.bytes[op]);
  });
  // A backward runs the last layer first.
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

std::vector<std::vector<OpId>> kernels_of(const PieceMaker& maker,
                                          const std::vector<std::vector<OpId>>& backwards,
                                          const std::vector<std::size_t>& starts) {
  std::vector<std::vector<OpId>> kernels(starts.size());
  for (const std::vector<OpId>& ops : backwards) {
    walk_layers(maker, ops, starts, [&](OpId op, std::size_t layer) {
      const auto launched = maker.launched(op);
      kernels[layer].insert(kernels[layer].end(), launched.begin(), launched.end());
    });
  }
  std::reverse(kernels.begin(), kernels.end());
  return kernels;
}

Nanos entry(PieceMaker& maker, const std::vector<const std::vector<OpId>*>& passes,
            const std::vector<std::size_t>& starts) {
  std::vector<Nanos> first, others;
  for (const auto* ops : passes) {
    std::size_t kernels = 0, layer = 0;
    std::vector<OpId> gap;
    for (const OpId op : *ops) {
      gap.push_back(op);
      if (maker.launched(op).empty()) continue;
      if (layer < starts.size() && kernels >= starts[layer]) {
        (layer == 0 ? first : others).push_back(maker.make(gap).host_host);
        ++layer;
      }
      kernels += maker.launched(op).size();
      gap.clear();
    }
  }
  if (first.empty() || others.empty()) return 0;
  return std::max<Nanos>(0, median(first) - median(others));
}

}  // namespace weft::pipeline::recorded
