// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (NAME.RANK.et), as ASTRA-sim reads them: what a rank computes and
// communicates, and what follows what. They are graphs, not timelines.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// Gives one RankTrace whose dependencies are those of the file. Nodes get the times of a schedule
/// along them (chakra/node.h) unless the file has times. Host nodes that device nodes follow become
/// the calls that launch those.
std::unique_ptr<Reader> make_chakra_reader();

}  // namespace weft::trace
