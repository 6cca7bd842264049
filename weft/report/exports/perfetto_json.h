// SPDX-License-Identifier: Apache-2.0
// Tracks as a Chrome trace ("JSON array of events"), which chrome://tracing, Perfetto and most
// other viewers open. One event a line.
#pragma once

#include "weft/base/sink.h"
#include "weft/report/exports/export_progress.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {

Status write_perfetto_json(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress);

}  // namespace weft::report
