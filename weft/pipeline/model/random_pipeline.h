// SPDX-License-Identifier: Apache-2.0
// Random pipelines for tests. The same seed gives the same pipeline on every machine.
#pragma once

#include <random>

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct RandomShape {
  StageId stages = 4;
  DeviceId devices = 4;  ///< stage s runs on device s modulo this number, unless `is_v` is set
  bool is_v = false;     ///< stages go along the devices and back: 0 1 2 2 1 0
  Micro micro_batches = 6;
  Bytes capacity = 0;       ///< how many forwards a device can hold; 0: no limits
  LinkId shared_links = 0;  ///< transfers share this many links; 0: each has a separate link
};

inline Pipeline random_pipeline(const RandomShape& shape, std::mt19937& random) {
  const auto number = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Pipeline pipeline;
  pipeline.micro_batches = shape.micro_batches;
  for (StageId s = 0; s < shape.stages; ++s) {
    Stage stage;
    stage.device = shape.is_v ? std::min(s, shape.stages - 1 - s) : s % shape.devices;
    stage.forward = number(3, 12);
    stage.input = number(3, 12);
    stage.weight = number(1, 9);
    stage.forward_memory = 2;
    stage.input_memory = stage.weight_memory = -1;
    stage.all_reduce = number(0, 1) * number(0, 20);
    pipeline.stages.push_back(stage);
  }
  for (StageId s = 0; s + 1 < shape.stages; ++s) {
    Boundary boundary;
    for (Transfer* transfer : {&boundary.forward, &boundary.backward}) {
      transfer->time = number(1, 5);
      transfer->latency = number(0, 3);
      const LinkId own = 2 * s + (transfer == &boundary.backward ? 1 : 0);
      transfer->links = {
          shape.shared_links > 0 ? static_cast<LinkId>(number(0, shape.shared_links - 1)) : own};
    }
    pipeline.boundaries.push_back(boundary);
  }
  if (shape.capacity > 0) pipeline.memory_limits.assign(pipeline.devices(), 2 * shape.capacity);
  return pipeline;
}

}  // namespace weft::pipeline
