// SPDX-License-Identifier: Apache-2.0
// A piece describes a part of a rank's program by its effect on two clocks. The host clock says
// when the host has issued everything so far. The device clock says when the compute stream has run
// everything so far. Each clock after the piece is the maximum of two sums: the host clock before
// the piece plus a time, and the device clock before the piece plus another time. So four times
// describe a piece exactly. They form a 2x2 matrix of max-plus algebra. The matrix of several
// pieces in sequence is the product of their matrices. In this way recorded pieces can be put into
// another order. The result also shows whether the host (launches) or the device limits the new
// order.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::pipeline::recorded {

/// The entry for "does not depend on this clock": minus infinity. Sums with real times stay far
/// below 0.
constexpr Nanos kNever = INT64_MIN / 4;

/// The host clock is the time at which the host thread is free. The device clock is the time at
/// which the device is free. `a_b` is the time that is added to clock a before the piece to get
/// clock b after the piece.
struct Piece {
  Nanos host_host = 0;         ///< the host time to issue the piece
  Nanos host_device = kNever;  ///< the time of the piece if the device is idle before it
  Nanos device_host = kNever;  ///< kNever unless the host waits for the device in this piece
  Nanos device_device = 0;     ///< the time of the piece if all of its kernels are queued already
  /// The part of device_device that is kernels and copies. Communication can slow this part down.
  Nanos work = 0;
  bool operator==(const Piece&) const = default;
};

/// The piece that runs `first` and then `second`.
Piece then(const Piece& first, const Piece& second);

/// Host work that launches nothing.
Piece host_only(Nanos time);

/// Makes pieces from host ops of a rank and the compute that these launched.
class PieceMaker {
 public:
  explicit PieceMaker(const graph::Graph& graph);

  /// `host_ops`: consecutive host ops of one rank, in program order. The piece contains neither the
  /// communication that these ops launched nor the time in which the host waited because the launch
  /// queue was full.
  Piece make(std::span<const graph::OpId> host_ops);
  /// The kernels and copies that a host op launched, in order; empty if it launched none.
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
