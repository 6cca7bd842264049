// SPDX-License-Identifier: Apache-2.0
// Finds which part of a recorded backward only computes gradients of weights and could therefore
// run later. The names of kernels and of PyTorch's ops show it:
//
// - Adding to .grad, and the gradients of embeddings and of biases, are gradients of weights.
// - A kernel whose name refers to weights (wgrad, WrW, GammaBeta) computes gradients of weights. A
//   kernel whose name refers to inputs does not.
// - The backward of a linear layer has two matrix products. The second is the gradient of the
//   weights; with MmBackward it is the first. The reason is that autograd computes gradients in the
//   alphabetical order of its arguments. If there is only one product, its shape decides.
// - The name of a convolution kernel may not show which of the two gradients the kernel computes.
//   Then half of its time counts as gradients of weights, because both gradients need the same
//   number of operations.
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
  /// Keeps references to both arguments.
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
  /// The share of gradients of weights that the name of the op shows; kUnknown (less than 0) if it
  /// shows nothing.
  double share_by_op(std::uint32_t event) const;
  double share_of_host(std::uint32_t event) const;

  const trace::RankTrace& trace_;
  const trace::Launches& launches_;
  std::vector<std::vector<std::uint32_t>>
      children_;  ///< per host event: the ops inside it, by start
};

}  // namespace weft::pipeline::recorded
