// SPDX-License-Identifier: Apache-2.0
// Serialises a timeline for the page. The result is a JSON header, followed by columns of small
// integers, and compressed with gzip. docs/design/report.md describes the format;
// weft/report/web/decode.ts reads it.
#pragma once

#include <string>

#include "weft/report/timeline/data.h"

namespace weft::report {

/// The bytes before compression: the length of the header (4 bytes, little endian), the header, the
/// columns.
std::string timeline_bytes(const Timeline& timeline);
/// timeline_bytes(), compressed with gzip and encoded in base64, ready for a script element.
std::string pack_timeline(const Timeline& timeline);

}  // namespace weft::report
