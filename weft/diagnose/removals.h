// SPDX-License-Identifier: Apache-2.0
// A removal takes something out of a job; everything else stays as it was.
#pragma once

#include "weft/graph/edit.h"
#include "weft/predict/job.h"

namespace weft::diagnose {

/// Returns the graph to which removals apply. This is the graph of the job. For an op timeline, all
/// its delays are set to 0: they are mostly waits for other ranks, and must shrink when those ranks
/// become faster.
graph::Graph working_graph(const predict::Job& job);

/// An edit of working_graph() that only shortens times and removes edges. Any simulator can check
/// its gain.
using Removal = graph::Edit;

}  // namespace weft::diagnose
