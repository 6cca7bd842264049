// SPDX-License-Identifier: Apache-2.0
// Finds which part of a recorded backward only computes gradients of weights and could therefore
// run later. It goes by the names of kernels and of PyTorch's ops:
//
// - Adding to .grad, and the gradients of embeddings and of biases, are gradients of weights.
// - Kernels whose names say so are (wgrad, WrW, GammaBeta); kernels named for inputs are not.
// - Of the two matrix products in the backward of a linear layer, the second is the gradient of the
//   weights (with MmBackward, the first), since autograd computes gradients in the alphabetical
//   order of its arguments. If there is only one product, its shape decides.
// - A convolution kernel that does not show its half counts as one half: both halves need the same
// number
//   of operations.
//
// Everything else counts as the gradient of the input, which cannot be delayed. An autograd
// function of the user's own program computes all of its gradients in one call, so it cannot be
// split.
#pragma once

#include <vector>

#include "weft/trace/launches.h"

namespace weft::pipeline::recorded {

class WeightWork {
 public:
  /// Keeps references.
  WeightWork(const trace::RankTrace& trace, const trace::Launches& launches);

  /// The share of gradients of weights in the time of a kernel, copy or host op: 0 to 1.
  double share(std::uint32_t event) const;
  /// Whether the event is part of an autograd function that is not PyTorch's own.
  bool is_one_piece(std::uint32_t event) const;

 private:
  std::string_view name(std::uint32_t event) const;
  bool is_inside(std::uint32_t event, std::string_view node) const;
  std::vector<std::int64_t> first_dims(std::uint32_t event) const;
  double share_of_product(std::uint32_t event) const;
  /// The share that the name of the op shows; kUnknown (less than 0) if it shows nothing.
  double share_by_op(std::uint32_t event) const;
  double share_of_host(std::uint32_t event) const;

  const trace::RankTrace& trace_;
  const trace::Launches& launches_;
  std::vector<std::vector<std::uint32_t>>
      children_;  ///< per host event: the ops inside it, by start
};

}  // namespace weft::pipeline::recorded
