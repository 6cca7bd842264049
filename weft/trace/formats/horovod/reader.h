// SPDX-License-Identifier: Apache-2.0
// Horovod timelines (HOROVOD_TIMELINE, hvd.start_timeline): Chrome JSON, usually never closed.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// Gives one RankTrace a rank where the file is the coordinator's and tells when each rank was
/// ready (which it does for tensors that miss the response cache); else the recording rank alone.
std::unique_ptr<Reader> make_horovod_reader();

}  // namespace weft::trace
