// SPDX-License-Identifier: Apache-2.0
// Reader of Chakra execution traces (NAME.RANK.et), the input of the simulator ASTRA-sim. Such a
// file holds what one rank computes and communicates, and which node depends on which. It is a
// graph, not a timeline.
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
