// SPDX-License-Identifier: Apache-2.0
// The exit status of `weft`, all in one place; scripts rely on it (docs/reference/cli.md).
#pragma once

#include "weft/base/result.h"

namespace weft::cli {

enum class ExitCode : int {
  kDone = 0,
  kAnswerIsNo = 1,     ///< understood and computed, and the answer is no
  kUsage = 2,          ///< the command line makes no sense
  kBadInput = 3,       ///< a file is missing, unreadable or not what it should be
  kUnavailable = 4,    ///< needs something that this machine lacks
  kPeerFailed = 5,     ///< another process or host failed
  kInternal = 70,      ///< a bug of Weft
  kInterrupted = 130,  ///< Ctrl-C
  kTerminated = 143,   ///< SIGTERM
};

struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};

/// As the man page and docs/reference/cli.md tell them.
inline constexpr ExitMeaning kExitMeanings[] = {
    {ExitCode::kDone, "done"},
    {ExitCode::kAnswerIsNo, "understood and computed, and the answer is no"},
    {ExitCode::kUsage,
     "the command line makes no sense, or the question cannot be answered from this input"},
    {ExitCode::kBadInput,
     "a file is missing, unreadable or not what it should be, or cannot be written; or --strict "
     "found something"},
    {ExitCode::kUnavailable, "something is missing on this machine, such as memory"},
    {ExitCode::kPeerFailed, "another process or host failed"},
    {ExitCode::kInternal, "a bug of Weft"},
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
