// SPDX-License-Identifier: Apache-2.0
// Finds the part of the timeline that shows a finding: the op that loses most time because of the
// finding, and some time before and after this op. The page zooms there when the reader follows the
// link of the finding.
#pragma once

#include "weft/diagnose/findings.h"

namespace weft::report {

/// Times are nanoseconds from the beginning of the recording, like those of the graph.
struct FindingView {
  Nanos start = -1;  ///< -1 if there is nothing to show
  Nanos end = -1;
  graph::OpId op = graph::kNoId;  ///< the op to select; kNoId if no single op causes the finding
};

/// Finds the op whose time shrinks most if the finding is removed from the job. If the delay before
/// an op shrinks most, the view shows the pause before that op, and no op is selected. If the
/// finding has a rank and a step, only ops of this rank and step are considered. The view has some
/// room before and after the op. If there is no such op, the view is the whole step of the finding.
/// Takes time linear in the number of ops of the graph.
FindingView find_view(const predict::Job& job, const diagnose::Finding& finding);

}  // namespace weft::report
