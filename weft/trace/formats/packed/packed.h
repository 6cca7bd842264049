// SPDX-License-Identifier: Apache-2.0
// Weft's own file of one rank: every column of a RankTrace, packed. Smaller than the recording it
// was made of by far, and read as fast as the disk gives it. Format: docs/formats/packed.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/packed/container.h"
#include "weft/trace/reader.h"

namespace weft::trace {

/// The bytes of the file. Of `trace` all is kept; its file name becomes the `origin` of what is
/// read back, unless it has one already.
std::string pack(const RankTrace& trace);

/// What pack() wrote. `name` is that of the file, for messages and for RankTrace::file. Damage is
/// an Error with the section; sections of later versions are passed over with a diagnostic.
Result<RankTrace> unpack(std::string_view bytes, const std::string& name, Diagnostics& diagnostics,
                         packed::Checksums checksums = packed::Checksums::kVerify);

std::unique_ptr<Reader> make_packed_reader();

}  // namespace weft::trace
