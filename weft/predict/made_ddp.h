// SPDX-License-Identifier: Apache-2.0
// Makes a synthetic data-parallel step, for tests. In this step, gradients become ready one after
// the other. At the end, one all-reduce carries all gradients, and the optimiser waits for it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/plain_replay.h"
#include "weft/graph/text.h"

namespace weft::predict {

inline constexpr Bytes kMega = 1'000'000;

struct Ddp {
  std::vector<Bytes> gradients = {10 * kMega, 10 * kMega, 10 * kMega, 10 * kMega};
  Bytes reduced = 40 * kMega;
  int backward_ms[2] = {10, 10};  ///< duration of one backward kernel, by rank

  graph::Graph graph() const {
    std::string text;
    for (const char* rank : {"0", "1"}) {
      const std::string r = rank;
      text += "lane cpu" + r + " host " + r + "\nlane s" + r + " stream " + r + "\nlane n" + r +
              " stream " + r + "\n";
    }
    text += "lane net link -\nstep 1\n";
    for (const int rank : {0, 1}) text += rank_text(rank);
    text += "t: transfer net 40ms at=41ms took=40ms after x0:collective, x1:collective\n";
    for (const char* r : {"0", "1"}) {
      text += std::string("o") + r + ": kernel s" + r +
              " 5ms \"optimiser\" at=81ms took=5ms after lo" + r + ":launch, b" + r + "_" +
              std::to_string(gradients.size() - 1) + ", t:event_wait\n";
    }
    text += "c: collective allreduce ranks=2 bytes=" + std::to_string(reduced) +
            " transfer=t arrivals=x0,x1\n";
    return graph::parse_text(text).value();
  }

 private:
  std::string rank_text(int rank) const {
    const std::string r = std::to_string(rank);
    std::string text, before;
    const auto id = [&](const char* kind, std::size_t i) {
      return kind + r + "_" + std::to_string(i);
    };
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string at = std::to_string(2 * i), then = std::to_string(2 * i + 1);
      text += id("l", i) + ": launch cpu" + r + " 1ms \"launch\" at=" + at + "ms took=1ms" +
              (i ? " after " + id("g", i - 1) : "") + "\n";
      text += id("b", i) + ": kernel s" + r + " " + std::to_string(backward_ms[rank]) +
              "ms \"backward\" at=" + at + "ms took=1ms after " + id("l", i) + ":launch" +
              (i ? ", " + id("b", i - 1) : "") + "\n";
      text += id("g", i) + ": host cpu" + r + " 0 \"torch::autograd::AccumulateGrad\" at=" + then +
              "ms took=0" + (gradients[i] < 0 ? "" : " bytes=" + std::to_string(gradients[i])) +
              " after " + id("l", i) + "\n";
    }
    const std::size_t last = gradients.size() - 1;
    const std::string end = std::to_string(2 * last + 2);
    text += "la" + r + ": launch cpu" + r + " 1ms \"launch\" at=" + end + "ms took=1ms after " +
            id("g", last) + "\n";
    text += "x" + r + ": arrive n" + r + " 0 \"nccl\" at=41ms took=40ms after la" + r +
            ":launch, " + id("b", last) + ":event_wait\n";
    text += "lo" + r + ": launch cpu" + r + " 1ms \"launch\" at=" + end + "ms took=1ms after la" +
            r + "\n";
    return text;
  }
};

/// Returns the latest end of the ops with this name on a rank.
inline Nanos end_of(const graph::Graph& graph, std::string_view name, std::int32_t rank) {
  const std::vector<Nanos> ends = graph::plain_ends(graph);
  Nanos end = -1;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    if (graph.name(op) == name && graph.rank(op) == rank) end = std::max(end, ends[op]);
  }
  return end;
}

}  // namespace weft::predict
