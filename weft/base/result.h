// SPDX-License-Identifier: Apache-2.0
// How Weft reports failures of input, files and other processes: library code returns a Result<T>.
// It never prints, exits or aborts. Two other cases are not failures of this sort. Input that is
// odd but usable is reported through Diagnostics. Bugs of Weft are found by WEFT_CHECK.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace weft {

enum class ErrorCode {
  kBadInput,     ///< a file or argument is not what it should be (CLI exit 3)
  kNotFound,     ///< a path does not exist (exit 3)
  kIo,           ///< reading or writing failed (exit 3)
  kUsage,        ///< the request makes no sense or cannot be answered from this input (exit 2)
  kInfeasible,   ///< the request is valid, but no solution exists (exit 1)
  kUnavailable,  ///< the request needs something that this machine lacks (exit 4)
  kPeerFailed,   ///< another process or host failed (exit 5)
  kCancelled,    ///< interrupted by the user (exit 130)
};

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;     ///< one sentence that also says what the user can do
  std::string file;        ///< the file that caused the error; empty if there is none
  std::int64_t byte = -1;  ///< offset into the (uncompressed) file; -1 if unknown

  /// "file: byte N: message"; unknown parts are left out.
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string file = {},
                                  std::int64_t byte = -1) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(file), byte});
}

/// A file or argument is not what it should be.
inline tl::unexpected<Error> bad_input(std::string message) {
  return fail(ErrorCode::kBadInput, std::move(message));
}

/// The request makes no sense, or this input cannot answer it.
inline tl::unexpected<Error> usage_error(std::string message) {
  return fail(ErrorCode::kUsage, std::move(message));
}

}  // namespace weft

/// Returns the error of a Status-like expression, if it has one.
#define WEFT_TRY(expr)                                                    \
  do {                                                                    \
    auto weft_try_status = (expr);                                        \
    if (!weft_try_status) return tl::unexpected(weft_try_status.error()); \
  } while (0)

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)
/// WEFT_ASSIGN(auto x, f()): returns the error of f(), if there is one; else x gets its value.
#define WEFT_ASSIGN(lhs, expr) WEFT_ASSIGN_INNER(WEFT_CONCAT(weft_result_, __LINE__), lhs, expr)
#define WEFT_ASSIGN_INNER(tmp, lhs, expr)       \
  auto tmp = (expr);                            \
  if (!tmp) return tl::unexpected(tmp.error()); \
  lhs = std::move(*tmp)
