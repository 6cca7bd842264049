// SPDX-License-Identifier: Apache-2.0
// The critical path as a process of its own, and as arrows through the events on it. Private to
// make_tracks().
#pragma once

#include <cstdint>
#include <vector>

#include "weft/diagnose/path.h"
#include "weft/report/exports/tracks_builder.h"

namespace weft::report {

/// One track, one span a piece; nothing if the path is empty.
void add_path(const predict::Job& job, const diagnose::CriticalPath& path, TracksBuilder& out);

/// From each event on the path to the next. `span_of[rank][event]` as make_tracks() has them.
void add_path_arrows(const predict::Job& job, const diagnose::CriticalPath& path,
                     const std::vector<std::vector<std::uint32_t>>& span_of, TracksBuilder& out);

}  // namespace weft::report
