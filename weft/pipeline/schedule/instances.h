// SPDX-License-Identifier: Apache-2.0
// Files of scheduling problems: {"instances": [...]}, or {"instances": {"name": {...}}}. Fields and
// what they mean: docs/formats/pipeline.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

/// Each passes check(), but that its memory may hold no micro-batch: whoever schedules it tells. An
/// Error names the instance at fault; a file without any is one.
Result<std::vector<Pipeline>> parse_instances(std::string_view text, const std::string& name);
Result<std::vector<Pipeline>> read_instances(const std::string& path);

}  // namespace weft::pipeline
