// SPDX-License-Identifier: Apache-2.0
// Divides the forwards and backwards of micro-batches into layers. A pass is given as its host ops
// in program order. `starts` are the positions, counted in kernels of the pass, at which its layers
// begin (layers.h), in the order in which the pass runs them.
#pragma once

#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// The names of all kernels of a pass, in the order of their launches.
std::vector<NameId> kernel_names(const PieceMaker& maker, const std::vector<graph::OpId>& ops);

/// One piece per layer, in the order in which the pass runs them.
Pass cut(PieceMaker& maker, const std::vector<graph::OpId>& ops,
         const std::vector<std::size_t>& starts);

/// For a backward: the bytes of the parameter gradients of each layer, in the order of the model.
std::vector<Bytes> gradients_of(const PieceMaker& maker, const std::vector<graph::OpId>& ops,
                                const std::vector<std::size_t>& starts);

/// For several backwards: the kernels of each layer, in the order of the model.
std::vector<std::vector<graph::OpId>> kernels_of(
    const PieceMaker& maker, const std::vector<std::vector<graph::OpId>>& backwards,
    const std::vector<std::size_t>& starts);

/// The host time that entering a pass costs: the time before the first launch of the first layer,
/// minus that before the first launch of an inner layer (medians over all passes).
Nanos entry(PieceMaker& maker, const std::vector<const std::vector<graph::OpId>*>& passes,
            const std::vector<std::size_t>& starts);

}  // namespace weft::pipeline::recorded
