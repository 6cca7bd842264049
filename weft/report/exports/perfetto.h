// SPDX-License-Identifier: Apache-2.0
// Writes tracks in Perfetto's own format, a protobuf stream of track descriptors and track events.
// A file in this format is smaller than a JSON file, because it stores every name only once. Its
// times are integers in nanoseconds.
#pragma once

#include "weft/base/sink.h"
#include "weft/report/exports/export_progress.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {

Status write_perfetto(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress);

}  // namespace weft::report
