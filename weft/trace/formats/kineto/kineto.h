// SPDX-License-Identifier: Apache-2.0
// Reader of PyTorch profiler traces: Kineto JSON as written from 2021 to 2026, for CUDA and ROCm.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// The reader gives one RankTrace per file.
std::unique_ptr<Reader> make_kineto_reader();

}  // namespace weft::trace
