// SPDX-License-Identifier: Apache-2.0
// Forwards and backwards of one micro-batch, given as host ops in program order, and their layers,
// given as the kernels with which they begin (layers.h), in the order in which they run.
#pragma once

#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// Of all kernels of a pass, in order of launch.
std::vector<NameId> kernel_names(const PieceMaker& maker, const std::vector<graph::OpId>& ops);

/// A piece for each layer.
Pass cut(PieceMaker& maker, const std::vector<graph::OpId>& ops,
         const std::vector<std::size_t>& starts);

/// Of a backward: bytes of the gradients that each layer makes, in the order of the model.
std::vector<Bytes> gradients_of(const PieceMaker& maker, const std::vector<graph::OpId>& ops,
                                const std::vector<std::size_t>& starts);

/// Of backwards: the kernels of each layer, in the order of the model.
std::vector<std::vector<graph::OpId>> kernels_of(
    const PieceMaker& maker, const std::vector<std::vector<graph::OpId>>& backwards,
    const std::vector<std::size_t>& starts);

/// Host time up to the launch that begins each layer: what the first needs more than the others
/// is the price of a pass.
Nanos entry(PieceMaker& maker, const std::vector<const std::vector<graph::OpId>*>& passes,
            const std::vector<std::size_t>& starts);

}  // namespace weft::pipeline::recorded
