// SPDX-License-Identifier: Apache-2.0
// A stretch of a rank's program, told by what it does to two clocks: when its host thread has
// issued everything so far, and when its compute stream has run everything so far. The host runs
// ahead or the device waits for launches; both follow from four times, exactly, since each clock
// afterwards is the latest of what both were before plus a time (a matrix of max-plus algebra). So
// pieces can be put into another order, and a job that is bound by launches under the profiler is
// told apart from the same job without it.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::pipeline::recorded {

/// Where one clock does not depend on the other. Sums with real times stay far below zero.
constexpr Nanos kNever = INT64_MIN / 4;

struct Piece {
  Nanos host_host = 0;         ///< from host clock to host clock: time to issue the piece
  Nanos host_device = kNever;  ///< host before to device after: the piece on an idle device
  Nanos device_host = kNever;  ///< device before to host after: only where the host waits for it
  Nanos device_device = 0;     ///< device to device: the piece when all of it is queued
  Nanos work = 0;              ///< of device_device: kernels and copies, which others slow down
  bool operator==(const Piece&) const = default;
};

/// One piece behind the other.
Piece then(const Piece& first, const Piece& second);

/// Host work that nothing is launched by.
Piece host_only(Nanos time);

/// Makes pieces of the host ops of one rank and the compute that they launched.
class PieceMaker {
 public:
  explicit PieceMaker(const graph::Graph& graph);

  /// `host_ops` in program order: a stretch of what one rank issued. Communication that they
  /// launched is left out, as are waits for a full launch queue.
  Piece make(std::span<const graph::OpId> host_ops);
  /// Kernels and copies of the call, in order of launch; none for calls that launch none.
  std::span<const graph::OpId> launched(graph::OpId host_op) const;
  const graph::Graph& graph() const { return graph_; }

 private:
  struct Clocks {
    Nanos host = kNever, device = kNever;
  };
  Clocks enter(graph::OpId op) const;

  const graph::Graph& graph_;
  std::vector<std::uint32_t> first_launched_;
  std::vector<graph::OpId> launched_;
  std::vector<bool> member_;
  std::vector<Clocks> clocks_;
};

}  // namespace weft::pipeline::recorded
