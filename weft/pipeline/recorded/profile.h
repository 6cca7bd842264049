// SPDX-License-Identifier: Apache-2.0
// What each layer of a recorded model costs: from recordings to what planners take.
#pragma once

#include <string>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// A chain of layers, times of one micro-batch on the device (or, where there is none, the host)
/// without profiler. Layers are the
/// modules that the model calls one after the other, where the recording names modules (recorded
/// with stacks): containers (Sequential) and wrappers are opened, other modules are not. A recorded
/// pipeline is one model over all stages; without modules its layers are what repeats. Parameters
/// are counted by their gradients; weights.h tells which part of a backward is theirs, kept.h what
/// micro-batches keep, which is told where it had to be assumed. An Error (kUsage) where the
/// recording tells no layers, or lacks ranks of a pipeline.
Result<Profile> recorded_profile(const predict::Job& job, Diagnostics& diagnostics);

/// As the JSON of docs/formats/pipeline.md, which reads back as the same.
std::string profile_json(const Profile& profile);

}  // namespace weft::pipeline::recorded
