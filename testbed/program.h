// SPDX-License-Identifier: Apache-2.0
// Other programs as functions: ip, tc, and what else does the work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::testbed {

/// Full path of a program on PATH or in the folders of the system's own tools; empty if there is
/// none.
std::string find_program(std::string_view name);

/// Runs it to its end with `input` on its standard input; what it prints is returned. An Error of
/// kUnavailable if it is not installed, or fails; the message then is the first line it printed.
Result<std::string> run_program(const std::vector<std::string>& words, std::string_view input = {});

}  // namespace weft::testbed
