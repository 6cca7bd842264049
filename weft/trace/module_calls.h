// SPDX-License-Identifier: Apache-2.0
// How annotations begin that are calls of a module: "nn.Module: Linear_3". Profilers write them
// where they record stacks; they tell the layers of a model.
#pragma once

#include <string_view>

namespace weft::trace {

constexpr std::string_view kModulePrefix = "nn.Module: ";

}  // namespace weft::trace
