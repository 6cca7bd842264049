// SPDX-License-Identifier: Apache-2.0
// Makes a summary of the report for notebooks: an HTML fragment that can be placed in any page,
// because it has no script and no style sheet.
#pragma once

#include <string>

#include "weft/diagnose/diagnosis.h"

namespace weft::report {

/// The summary has the verdict, one bar per rank and the first three findings. A bar shows how the
/// step of its rank is divided into causes. Only the eight slowest ranks get a bar.
std::string small_page(const diagnose::Diagnosis& diagnosis);

}  // namespace weft::report
