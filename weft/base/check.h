// SPDX-License-Identifier: Apache-2.0
// For our own bugs only: a failed check throws InternalError, which the CLI turns into exit 70.
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
