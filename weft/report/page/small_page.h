// SPDX-License-Identifier: Apache-2.0
// A summary of the report for notebooks: an HTML fragment without script or style sheet that can be
// placed in any page.
#pragma once

#include <string>

#include "weft/diagnose/diagnosis.h"

namespace weft::report {

/// The verdict, one bar per rank that divides its step by cause, and the first three findings. At
/// most eight ranks get a bar: the slowest ones.
std::string small_page(const diagnose::Diagnosis& diagnosis);

}  // namespace weft::report
