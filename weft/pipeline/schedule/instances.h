// SPDX-License-Identifier: Apache-2.0
// Reads files of scheduling problems: {"instances": [...]}, or {"instances": {"name": {...}}}.
// docs/formats/pipeline.md describes the fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

/// The pipelines of a file, each of which passes check(). One exception: a pipeline whose memory
/// holds no micro-batch is returned too, and scheduling it fails. An Error names the instance at
/// fault; a file without instances is an Error.
Result<std::vector<Pipeline>> parse_instances(std::string_view text, const std::string& name);
Result<std::vector<Pipeline>> read_instances(const std::string& path);

}  // namespace weft::pipeline
