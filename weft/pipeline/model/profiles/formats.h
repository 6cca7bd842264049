// SPDX-License-Identifier: Apache-2.0
// Parses the formats of profiles. Each parser checks the syntax and single numbers only; the caller
// runs check_profile() of profile.h on the result.
#pragma once

#include <string>
#include <string_view>

#include "weft/pipeline/model/profile.h"

namespace weft {
struct JsonValue;
}

namespace weft::pipeline::profiles {

/// The text format of PipeDream and DAPPLE: a line `id -- name -- forward_compute_time=ms, ...` per
/// layer and a line `id -- id` per edge.
Result<Profile> parse_pipedream(std::string_view text);
/// A JSON object in one of four formats: Weft's own (docs/formats/pipeline.md); the format of SPP's
/// profiler, which maps each layer of a chain to [forward us, backward us, activation bytes,
/// parameter bytes]; or one of the two node formats below.
Result<Profile> parse_json_profile(std::string_view text, const std::string& name);

/// The operator graphs of dnn-partitioning. All nodes with the same `colorClass` form one layer;
/// nodes marked as backward give the backward of that layer. Times are the accelerator times of the
/// file ("fpgaLatency"), in milliseconds.
Result<Profile> parse_dnn_partitioning(const JsonValue& root);
/// The graphs of Piper. The file lists several variants of each node. The parser uses the variant
/// that runs on one device without recomputation. Piper gives forward and backward as one time in
/// seconds; a third of it is taken as the forward.
Result<Profile> parse_piper(const JsonValue& root);

/// The tables of Chimera, which give the cost of one transformer block by micro-batch size.
/// `wanted` selects the size and the number of blocks: "8x24" is 24 blocks with 8 samples each.
bool is_chimera(std::string_view text);
Result<Profile> parse_chimera(std::string_view text, std::string_view wanted);

}  // namespace weft::pipeline::profiles
