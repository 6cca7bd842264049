// SPDX-License-Identifier: Apache-2.0
// Rejects tasks whose numbers are so large that sums or products would overflow 64 bits. The
// planner itself then needs no overflow checks.
#pragma once

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// Fails with kBadInput if a value is unrealistically large: if a step or a message would take
/// years, or if there is more memory than any machine has. The Error names the value.
Status check_limits(const Task& task);

}  // namespace weft::pipeline
