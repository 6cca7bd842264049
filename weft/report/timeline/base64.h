// SPDX-License-Identifier: Apache-2.0
// Bytes as text that may stand in a page.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// RFC 4648 with padding, on one line.
std::string to_base64(std::string_view bytes);

}  // namespace weft::report
