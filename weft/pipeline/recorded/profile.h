// SPDX-License-Identifier: Apache-2.0
// Makes a profile from a recording: what each layer of the model costs. The planner reads it.
#pragma once

#include <string>

#include "weft/pipeline/model/profile.h"
#include "weft/predict/predict.h"

namespace weft::pipeline::recorded {

/// Returns a chain of layers. Their times are for one micro-batch, without the profiler. The times
/// are device times, or host times if the job has no device.
/// - If the recording has modules (it was recorded with stacks), a layer is a module. The layers
///   are the modules that the model calls one after the other. A container (Sequential) or a
///   wrapper is not a layer, but the modules inside it are.
/// - The stages of a recorded pipeline together are one model. If the recording has no modules, the
///   layers are the sequences of kernels that repeat (layers.h).
/// - Parameters are counted by their gradients.
/// - weights.h finds the part of a backward that computes gradients of weights.
/// - kept.h finds the memory that micro-batches keep. A note says if that memory is assumed instead
///   of measured.
///
/// Fails with kUsage if the recording shows no layers, or if ranks of a pipeline are missing.
Result<Profile> recorded_profile(const predict::Job& job, Diagnostics& diagnostics);

/// The JSON of docs/formats/pipeline.md. read_profile() reads it back unchanged.
std::string profile_json(const Profile& profile);

}  // namespace weft::pipeline::recorded
