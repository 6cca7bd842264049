// SPDX-License-Identifier: Apache-2.0
// Which part of a recorded backward only makes gradients of parameters, and could run later. Told
// by names of kernels and of PyTorch's ops:
//
// - adding to .grad, and gradients of embeddings and of biases, are of parameters;
// - so are kernels whose names say so (wgrad, WrW, GammaBeta), and those of inputs are not;
// - of the two products of a linear layer the second is (MmBackward: the first), as autograd makes
//   gradients in the order of its arguments' names; of one alone, what its shape tells;
// - a convolution that does not tell its halves apart is half of it: both take as many operations.
//
// What nothing tells counts as the gradient of the input, which cannot wait. An autograd function
// of the program's own makes all of its gradients at once, and would run twice in halves.
#pragma once

#include <vector>

#include "weft/trace/launches.h"

namespace weft::pipeline::recorded {

class WeightWork {
 public:
  /// Keeps references.
  WeightWork(const trace::RankTrace& trace, const trace::Launches& launches);

  /// Of the time of a kernel, copy or host op: from 0 to 1.
  double share(std::uint32_t event) const;
  /// Whether it is part of an autograd function that is not PyTorch's own.
  bool is_one_piece(std::uint32_t event) const;

 private:
  std::string_view name(std::uint32_t event) const;
  bool is_inside(std::uint32_t event, std::string_view node) const;
  std::vector<std::int64_t> first_dims(std::uint32_t event) const;
  double share_of_product(std::uint32_t event) const;
  /// What the op itself tells of all that it does; less than 0 where that is nothing.
  double told_by_op(std::uint32_t event) const;
  double share_of_host(std::uint32_t event) const;

  const trace::RankTrace& trace_;
  const trace::Launches& launches_;
  std::vector<std::vector<std::uint32_t>> children_;  ///< of host events, by start
};

}  // namespace weft::pipeline::recorded
