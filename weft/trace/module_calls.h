// SPDX-License-Identifier: Apache-2.0
// The prefix of the names of annotations that stand for calls of a module, such as "nn.Module:
// Linear_3". The PyTorch profiler writes these annotations if it records stacks. They identify the
// layers of a model.
#pragma once

#include <string_view>

namespace weft::trace {

constexpr std::string_view kModulePrefix = "nn.Module: ";

}  // namespace weft::trace
