// SPDX-License-Identifier: Apache-2.0
// Tracks as Perfetto's own format: a protobuf stream of track descriptors and track events, with
// every name spelt once. Smaller than the JSON, and exact to the nanosecond at any size.
#pragma once

#include "weft/base/sink.h"
#include "weft/report/exports/export_progress.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {

Status write_perfetto(const Tracks& tracks, ByteSink& sink, const ExportProgress& progress);

}  // namespace weft::report
