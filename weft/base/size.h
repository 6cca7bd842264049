// SPDX-License-Identifier: Apache-2.0
// Sizes in the form that people write: "100MB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/base/units.h"

namespace weft {

/// Reads "4096", "100MB" or "1.5GiB" and rounds the result to whole bytes. kB, MB, GB and TB are
/// powers of 1000. KiB, MiB, GiB and TiB are powers of 1024. Returns nullopt for other text, for
/// negative sizes, and for sizes that do not fit into 64 bits.
std::optional<Bytes> parse_bytes(std::string_view text);

/// Writes a size with a unit that is a power of 1000: "79.50 GB", "1.00 MB", "512 B". Messages that
/// compare sizes use it.
std::string exact_bytes(Bytes bytes);

}  // namespace weft
