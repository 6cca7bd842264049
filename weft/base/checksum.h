// SPDX-License-Identifier: Apache-2.0
// A checksum against accidental damage. It does not protect against deliberate changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Computes CRC-64 with the polynomial of ECMA-182 and reflected bits, as the xz format does. It
/// processes several GB per second.
std::uint64_t checksum(std::string_view bytes);

}  // namespace weft
