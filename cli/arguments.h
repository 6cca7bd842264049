// SPDX-License-Identifier: Apache-2.0
// From argv to Arguments.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"
#include "weft/base/units.h"

namespace weft::cli {

/// Parses what follows the verb. Failure is always ErrorCode::kUsage, with a suggestion where a
/// flag or a choice was mistyped.
Result<Arguments> parse_arguments(const Subcommand& command, const std::vector<std::string>& words);

/// Of a flag that takes a size, of `least` bytes at least; 0 without it. Failure is
/// ErrorCode::kUsage.
Result<Bytes> size_flag(const Arguments& arguments, const char* flag, Bytes least);

/// "'jsn' is none of json, csv; did you mean 'json'?"
std::string none_of(const std::string& word, const std::vector<std::string>& choices);

/// Whether one of common_flags() is among `words`, before any "--". They count even where the rest
/// of the command line makes no sense.
bool mentions(const std::vector<std::string>& words, const std::string& common_flag);
/// The common flag that `word` spells, or "".
std::string common_flag_of(const std::string& word);

}  // namespace weft::cli
