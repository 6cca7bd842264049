// SPDX-License-Identifier: Apache-2.0
// Tells damaged bytes from whole ones. Not against forgers.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// CRC-64 with the polynomial of ECMA-182, bits reflected, as xz uses it; several GB/s.
std::uint64_t checksum(std::string_view bytes);

}  // namespace weft
