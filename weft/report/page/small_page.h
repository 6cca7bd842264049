// SPDX-License-Identifier: Apache-2.0
// The report in a few lines, for notebooks: a piece of HTML without script that stands inside the
// page of somebody else.
#pragma once

#include <string>

#include "weft/diagnose/diagnosis.h"

namespace weft::report {

/// Verdict, what the step of each rank is made of, and the first findings.
std::string small_page(const diagnose::Diagnosis& diagnosis);

}  // namespace weft::report
