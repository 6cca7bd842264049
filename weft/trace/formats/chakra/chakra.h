// SPDX-License-Identifier: Apache-2.0
// Reader of Chakra execution traces (NAME.RANK.et), the input of the simulator ASTRA-sim. A file
// lists what one rank computes and communicates, as the nodes of a graph, and the dependencies
// between these nodes. It need not contain times.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// The reader gives one RankTrace per file, with the dependencies of the file. If the file has no
/// start times, nodes get the start times of a schedule that respects the dependencies (schedule()
/// in chakra/node.h). If a device node depends on a host node, the host node becomes the call that
/// launches it.
std::unique_ptr<Reader> make_chakra_reader();

}  // namespace weft::trace
