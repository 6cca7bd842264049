// SPDX-License-Identifier: Apache-2.0
// WEFT_CHECK finds bugs of Weft itself. It is never used for wrong input. A failed check throws
// InternalError; the command `weft` then ends with exit status 70.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

}  // namespace weft

#define WEFT_CHECK(condition) \
  ((condition) ? (void)0 : ::weft::check_failed(#condition, __FILE__, __LINE__))
