// SPDX-License-Identifier: Apache-2.0
// Writes the texts of findings for the user. The functions of suspects.h only collect data. All
// texts are in finding_text.cc, so that they can be read and changed in one place.
#pragma once

#include <string>

#include "weft/diagnose/suspects.h"

namespace weft::diagnose {

/// The texts of a finding; see the fields of the same names in Finding.
struct FindingText {
  std::string title;
  std::string what;
  std::string advice;
  std::string what_if;
};
FindingText describe(const Suspect& suspect);

/// What to append to Finding::what if a straggler loses most of its time in pauses before ops; else
/// empty.
std::string about_pauses(const Finding& finding);

}  // namespace weft::diagnose
