// SPDX-License-Identifier: Apache-2.0
// One function a format, each in a file of its name. They tell the layers as they stand;
// check_profile() of profile.h finds what is wrong with the whole.
#pragma once

#include <string>
#include <string_view>

#include "weft/pipeline/profile.h"

namespace weft::pipeline::profiles {

/// Lines `id -- name -- forward_compute_time=ms, ...` and `id -- id`: PipeDream, DAPPLE.
Result<Profile> parse_pipedream(std::string_view text);
/// An object: Weft's own (docs/formats/pipeline.md), or the profiler's of SPP, which gives each
/// layer of a chain as [forward us, backward us, activation bytes, parameter bytes].
Result<Profile> parse_json_profile(std::string_view text, const std::string& name);

}  // namespace weft::pipeline::profiles
