// SPDX-License-Identifier: Apache-2.0
// Sizes in the form that people write: "100MB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/base/units.h"

namespace weft {

/// Reads "4096", "100MB" or "1.5GiB". kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB
/// are powers of 1024. Rounds to whole bytes. nullopt for other text, negative sizes, and sizes
/// that do not fit.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "79.50 GB", "1.00 MB", "512 B": powers of 1000, for messages that compare sizes.
std::string exact_bytes(Bytes bytes);

}  // namespace weft
