// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/base/units.h"

namespace weft {

/// "4096", "100MB", "1.5GiB": kB, MB, GB and TB count in thousands, KiB, MiB, GiB and TiB in 1024s.
/// Rounded to whole bytes; nullopt for all else, negative sizes and those that do not fit.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "79.50 GB", "1.00 MB", "512 B": in thousands, for messages that hold sizes against each other.
std::string exact_bytes(Bytes bytes);

}  // namespace weft
