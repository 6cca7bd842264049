// SPDX-License-Identifier: Apache-2.0
#include "weft/base/result.h"

namespace weft {

std::string Error::text() const {
  std::string out;
  if (!file.empty()) out += file + ": ";
  if (byte >= 0) out += "byte " + std::to_string(byte) + ": ";
  return out + message;
}

}  // namespace weft
