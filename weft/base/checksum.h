// SPDX-License-Identifier: Apache-2.0
// A checksum against accidental damage. It does not protect against deliberate changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// CRC-64 with the polynomial of ECMA-182, bits reflected, as in the xz format. Several GB/s.
std::uint64_t checksum(std::string_view bytes);

}  // namespace weft
