// SPDX-License-Identifier: Apache-2.0
// Files that are often given in place of a trace, told by their content, and what to do with them.
#pragma once

#include <string_view>

namespace weft::trace {

/// "this is a tar archive; unpack it ..."; empty if nothing is known about such a file.
std::string_view known_stranger(std::string_view path, std::string_view head);

}  // namespace weft::trace
