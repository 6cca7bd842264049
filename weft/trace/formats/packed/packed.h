// SPDX-License-Identifier: Apache-2.0
// Weft's own file format for one rank: all columns of a RankTrace, compressed. A packed file is far
// smaller than the original recording, and reading it is limited by the disk. The format is
// described in docs/formats/packed.md.
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

/// Returns the bytes of a packed file. They keep all members of `trace` except its file name. The
/// file name becomes the `origin` of the unpacked trace, unless `trace` already has an origin.
std::string pack(const RankTrace& trace);

/// Reads what pack() wrote. `name` is the name of the file, for messages and for RankTrace::file.
/// If the file is damaged, returns an Error that names the section. Unknown sections, which a later
/// Weft wrote, are skipped with a diagnostic.
Result<RankTrace> unpack(std::string_view bytes, const std::string& name, Diagnostics& diagnostics,
                         packed::Checksums checksums = packed::Checksums::kVerify);

std::unique_ptr<Reader> make_packed_reader();

}  // namespace weft::trace
