// SPDX-License-Identifier: Apache-2.0
// Where the timeline has to look to show a finding: the place where it costs most.
#pragma once

#include "weft/diagnose/findings.h"

namespace weft::report {

struct FindingView {
  Nanos start = -1;  ///< -1: there is nothing to show
  Nanos end = -1;
  graph::OpId op = graph::kNoId;  ///< to be selected; kNoId: no single one
};

/// The op or gap, on the finding's rank and in its step, that loses most time when the finding is
/// taken away, with some room around it; the whole step where no single one can be told. Linear in
/// the ops of the graph.
FindingView find_view(const predict::Job& job, const diagnose::Finding& finding);

}  // namespace weft::report
