// SPDX-License-Identifier: Apache-2.0
// Encodes bytes as text, so that they can be embedded in an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// The encoding of RFC 4648, section 4, with padding and without line breaks.
std::string to_base64(std::string_view bytes);

}  // namespace weft::report
