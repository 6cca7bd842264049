// SPDX-License-Identifier: Apache-2.0
// Traces of MXNet's profiler (mxnet.profiler.dump): Chrome JSON with a process for each device
// ("cpu/0", "gpu/0", "cpu pinned/") and one for each kind of host record (C API, tasks, memory).
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// One RankTrace a file. Operators the engine ran are device work, also on CPUs, because the engine
/// runs them asynchronously on workers of their own; calls of the C API are runtime calls. Pushes
/// and pulls of a distributed KVStore are collectives of kind push-pull.
std::unique_ptr<Reader> make_mxnet_reader();

}  // namespace weft::trace
