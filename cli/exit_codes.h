// SPDX-License-Identifier: Apache-2.0
// All exit statuses of `weft`. Scripts rely on them, so they must not change
// (docs/reference/cli.md).
#pragma once

#include "weft/base/result.h"

namespace weft::cli {

enum class ExitCode : int {
  kDone = 0,
  kAnswerIsNo = 1,     ///< Weft computed an answer, and the answer is no
  kUsage = 2,          ///< the command line is wrong
  kBadInput = 3,       ///< a file is missing, unreadable or malformed
  kUnavailable = 4,    ///< this machine lacks something that the verb needs
  kPeerFailed = 5,     ///< another process or host failed
  kInternal = 70,      ///< a bug in Weft
  kInterrupted = 130,  ///< Ctrl-C
  kTerminated = 143,   ///< SIGTERM
};

struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};

/// What each exit status means, as the man page says it. docs/reference/cli.md has the same texts.
inline constexpr ExitMeaning kExitMeanings[] = {
    {ExitCode::kDone, "done"},
    {ExitCode::kAnswerIsNo, "Weft computed an answer, and the answer is no"},
    {ExitCode::kUsage,
     "the command line is wrong, or the question cannot be answered from this input"},
    {ExitCode::kBadInput,
     "a file is missing, unreadable, malformed or cannot be written; or --strict found something"},
    {ExitCode::kUnavailable, "this machine lacks something, such as memory or a program"},
    {ExitCode::kPeerFailed, "another process or host failed"},
    {ExitCode::kInternal, "a bug in Weft"},
    {ExitCode::kInterrupted, "interrupted with Ctrl-C"},
    {ExitCode::kTerminated, "ended by SIGTERM"},
};

constexpr ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
      return ExitCode::kBadInput;
    case ErrorCode::kUsage:
      return ExitCode::kUsage;
    case ErrorCode::kInfeasible:
      return ExitCode::kAnswerIsNo;
    case ErrorCode::kUnavailable:
      return ExitCode::kUnavailable;
    case ErrorCode::kPeerFailed:
      return ExitCode::kPeerFailed;
    case ErrorCode::kCancelled:
      return ExitCode::kInterrupted;
  }
  return ExitCode::kInternal;
}

}  // namespace weft::cli
