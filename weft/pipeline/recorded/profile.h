// SPDX-License-Identifier: Apache-2.0
// Makes the profile that the planner needs, what each layer of a model costs, from a recording.
#pragma once

#include <string>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// A chain of layers with the times of one micro-batch without the profiler: device times, or host
/// times if the job has no device.
///   - If the recording has modules (recorded with stacks), layers are the modules that the model
///   calls
///     one after the other. Containers (Sequential) and wrappers are opened, other modules are not.
///   - The stages of a recorded pipeline together are one model. Without modules, its layers are
///   the
///     sequences of kernels that repeat (layers.h).
///   - Parameters are counted by their gradients. weights.h finds the part of a backward that
///   computes
///     gradients of weights, kept.h the memory that micro-batches keep; a note says if that is
///     assumed.
/// Fails with kUsage if the recording shows no layers, or lacks ranks of a pipeline.
Result<Profile> recorded_profile(const predict::Job& job, Diagnostics& diagnostics);

/// The JSON of docs/formats/pipeline.md. read_profile() reads it back unchanged.
std::string profile_json(const Profile& profile);

}  // namespace weft::pipeline::recorded
