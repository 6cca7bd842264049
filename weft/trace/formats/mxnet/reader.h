// SPDX-License-Identifier: Apache-2.0
// Reader of MXNet profiles (mxnet.profiler.dump). They are Chrome trace JSON with one Chrome
// process per device ("cpu/0", "gpu/0", "cpu pinned/") and one per kind of host record (C API,
// tasks, memory).
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// The reader gives one RankTrace per file. Operators that the engine ran are device work, even on
/// CPUs, because the engine runs them asynchronously on its own worker threads. Calls of the C API
/// are runtime calls. Pushes and pulls of a distributed KVStore are collectives of kind push-pull.
std::unique_ptr<Reader> make_mxnet_reader();

}  // namespace weft::trace
