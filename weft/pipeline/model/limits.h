// SPDX-License-Identifier: Apache-2.0
// Numbers that plans can be counted with: whatever is added up or multiplied on the way stays far
// from what 64 bits hold.
#pragma once

#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

/// Names (kBadInput) what no cluster and no model can be like: a step of years, a message that
/// takes as long, more bytes than there are.
Status check_limits(const Task& task);

}  // namespace weft::pipeline
