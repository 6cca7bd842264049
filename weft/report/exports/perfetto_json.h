// SPDX-License-Identifier: Apache-2.0
// Writes tracks in the Chrome trace event format (JSON), which chrome://tracing, Perfetto and most
// other viewers open. The file has one event per line.
#pragma once

#include "weft/base/sink.h"
#include "weft/report/exports/export_progress.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {

Status write_perfetto_json(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress);

}  // namespace weft::report
