// SPDX-License-Identifier: Apache-2.0
// Adds the critical path to Tracks: as a separate process, and as arrows through the events on the
// path. Only make_tracks() uses this header.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/diagnose/path.h"
#include "weft/report/exports/tracks_builder.h"

namespace weft::report {

/// Adds a process with one track and one span per piece of the path. Adds nothing if the path is
/// empty.
void add_path(const predict::Job& job, const diagnose::CriticalPath& path, TracksBuilder& out);

/// Adds an arrow from each event on the path to the next. `span_of[rank][event]` is an index into
/// Tracks::spans, or kNotDrawn; the first index is the position of the rank in Job::run.
void add_path_arrows(const predict::Job& job, const diagnose::CriticalPath& path,
                     const std::vector<std::vector<std::uint32_t>>& span_of, TracksBuilder& out);

}  // namespace weft::report
