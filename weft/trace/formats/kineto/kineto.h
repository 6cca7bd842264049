// SPDX-License-Identifier: Apache-2.0
// Reader of PyTorch profiler traces (Kineto JSON, 2021 to 2026, CUDA and ROCm).
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

std::unique_ptr<Reader> make_kineto_reader();

}  // namespace weft::trace
