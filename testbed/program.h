// SPDX-License-Identifier: Apache-2.0
// Runs other programs, such as ip and tc, like functions: the input is a string, and so is the
// output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::testbed {

/// The full path of a program on PATH or in the usual system folders (/usr/sbin is often missing on
/// PATH); empty if it is not installed.
std::string find_program(std::string_view name);

/// Runs the program with `input` on its standard input, waits for its end, and returns its output.
/// Returns an Error (kUnavailable) if the program is not installed or fails. If it fails, the
/// message contains the first line of its output.
Result<std::string> run_program(const std::vector<std::string>& words, std::string_view input = {});

}  // namespace weft::testbed
