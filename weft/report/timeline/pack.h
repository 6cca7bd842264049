// SPDX-License-Identifier: Apache-2.0
// A timeline as bytes for the page: a JSON header and columns of small numbers, packed with gzip.
// Format: docs/design/report.md; weft/report/web/decode.ts reads it.
#pragma once

#include <string>

#include "weft/report/timeline/data.h"

namespace weft::report {

/// Not compressed: header length (4 bytes, little endian), header, columns.
std::string timeline_bytes(const Timeline& timeline);
/// The same in gzip and base64, ready for a script element.
std::string pack_timeline(const Timeline& timeline);

}  // namespace weft::report
