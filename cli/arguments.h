// SPDX-License-Identifier: Apache-2.0
// Parses the command line with CLI11. The verbs and flags are declared as objects of
// cli/subcommand.h.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"
#include "weft/base/units.h"

namespace weft::cli {

/// What the command line asks for.
struct Invocation {
  const Subcommand* command;  ///< the verb or one of its sub-verbs
  Arguments arguments;        ///< without the names of verb and sub-verb
};

/// Parses the words that follow the verb. `verb` must outlive the result. Failure is always
/// ErrorCode::kUsage. If a flag, a choice or a sub-verb was mistyped, the message suggests a name.
/// If the sub-verb does not take a flag, the message names the sub-verbs that do.
Result<Invocation> parse_command_line(const Subcommand& verb,
                                      const std::vector<std::string>& words);

/// The value of a flag that takes a size, in bytes; 0 if the flag is not given. A size below
/// `least` is refused. Failure is ErrorCode::kUsage.
Result<Bytes> size_flag(const Arguments& arguments, const char* flag, Bytes least);

/// An error message for a word that is not among `choices`: "'jsn' is not one of json, csv; did you
/// mean 'json'?"
std::string none_of(const std::string& word, const std::vector<std::string>& choices);

/// Whether `common_flag`, one of common_flags(), is among `words` before any "--". The common flags
/// take effect even if the rest of the command line is wrong.
bool mentions(const std::vector<std::string>& words, const std::string& common_flag);
/// If `word` is a common flag, its long name ("--quiet" for "-q"), otherwise "".
std::string common_flag_of(const std::string& word);

}  // namespace weft::cli
