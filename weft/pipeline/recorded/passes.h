// SPDX-License-Identifier: Apache-2.0
// Divides the forwards and backwards of micro-batches into layers. A pass is given as its host ops
// in program order. Number the kernels of the pass from 0 on: element i of `starts` is the number
// of the first kernel of the i-th layer that the pass runs (see layers.h).
#pragma once

#include <vector>

#include "weft/pipeline/recorded/recording.h"

namespace weft::pipeline::recorded {

/// The names of all kernels of a pass, in the order of their launches.
std::vector<NameId> kernel_names(const PieceMaker& maker, const std::vector<graph::OpId>& ops);

/// Cuts a pass into pieces: one per layer, in the order in which the pass runs them.
Pass cut(PieceMaker& maker, const std::vector<graph::OpId>& ops,
         const std::vector<std::size_t>& starts);

/// For a backward: the bytes of the parameter gradients of each layer, in the order of the model.
std::vector<Bytes> gradients_of(const PieceMaker& maker, const std::vector<graph::OpId>& ops,
                                const std::vector<std::size_t>& starts);

/// Returns the kernels of each layer in all of these backwards. The layers are in the order of the
/// model.
std::vector<std::vector<graph::OpId>> kernels_of(
    const PieceMaker& maker, const std::vector<std::vector<graph::OpId>>& backwards,
    const std::vector<std::size_t>& starts);

/// The host time that the start of a pass costs. It is a difference of two medians over all passes:
/// the host time before the first launch of the first layer, minus the host time before the first
/// launch of any later layer.
Nanos entry(PieceMaker& maker, const std::vector<const std::vector<graph::OpId>*>& passes,
            const std::vector<std::size_t>& starts);

}  // namespace weft::pipeline::recorded
