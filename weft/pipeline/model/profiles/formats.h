// SPDX-License-Identifier: Apache-2.0
// One function a format, each in a file of its name. They tell the layers as they stand;
// check_profile() of profile.h finds what is wrong with the whole.
#pragma once

#include <string>
#include <string_view>

#include "weft/pipeline/model/profile.h"

namespace weft {
struct JsonValue;
}

namespace weft::pipeline::profiles {

/// Lines `id -- name -- forward_compute_time=ms, ...` and `id -- id`: PipeDream, DAPPLE.
Result<Profile> parse_pipedream(std::string_view text);
/// An object: Weft's own (docs/formats/pipeline.md), or the profiler's of SPP, which gives each
/// layer of a chain as [forward us, backward us, activation bytes, parameter bytes].
Result<Profile> parse_json_profile(std::string_view text, const std::string& name);

/// Operator graphs of dnn-partitioning: nodes of one colour are one layer, those marked as backward
/// its backward. Times are of an accelerator, in milliseconds.
Result<Profile> parse_dnn_partitioning(const JsonValue& root);
/// Piper's: each node with one device and without recomputation. Times are seconds of forward and
/// backward together, of which a third is taken to be forward.
Result<Profile> parse_piper(const JsonValue& root);

/// Tables of Chimera: what one block costs by size of the micro-batch. `wanted` is "8x24": the size
/// and how many blocks there are.
bool is_chimera(std::string_view text);
Result<Profile> parse_chimera(std::string_view text, std::string_view wanted);

}  // namespace weft::pipeline::profiles
