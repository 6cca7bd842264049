// SPDX-License-Identifier: Apache-2.0
// Reader of Horovod timelines (HOROVOD_TIMELINE, hvd.start_timeline). They are Chrome trace JSON;
// most Horovod versions never write the end of the list.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// Gives one RankTrace per rank if the coordinator wrote the file and the file tells when each rank
/// was ready. Horovod writes this only for tensors that miss the response cache. Otherwise gives
/// the trace of the recording rank alone.
std::unique_ptr<Reader> make_horovod_reader();

}  // namespace weft::trace
