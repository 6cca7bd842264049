// SPDX-License-Identifier: Apache-2.0
// Random layers and clusters for tests and benchmarks. The same seed gives the same ones on every
// machine.
#pragma once

#include <random>

#include "weft/pipeline/model/profile.h"
#include "weft/pipeline/plan/plan.h"

namespace weft::pipeline {

inline std::int64_t number_in(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline Profile random_layers(std::mt19937& random, std::int32_t count) {
  Profile profile;
  profile.name = "random";
  for (std::int32_t i = 0; i < count; ++i) {
    Layer layer;
    layer.id = layer.name = std::to_string(i);
    layer.forward = number_in(random, 100'000, 3'000'000);
    layer.backward = layer.forward * number_in(random, 15, 25) / 10;
    layer.activation = layer.stash = number_in(random, 100'000, 20'000'000);
    layer.parameters = number_in(random, 0, 40'000'000);
    profile.layers.push_back(layer);
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  return profile;
}

/// A cluster with a random bandwidth of 1 to 50 GB/s between each pair of devices, and with random
/// speeds if `speeds` is set.
inline Cluster random_cluster(std::mt19937& random, std::int32_t devices, bool speeds) {
  Cluster cluster = uniform_cluster(devices, 0);
  for (std::int32_t i = 0; i < devices; ++i) {
    for (std::int32_t j = 0; j < i; ++j) {
      const std::int64_t bandwidth = number_in(random, 1, 50) * 1'000'000'000;
      cluster.bandwidth[static_cast<std::size_t>(i) * devices + j] = bandwidth;
      cluster.bandwidth[static_cast<std::size_t>(j) * devices + i] = bandwidth;
    }
    if (speeds) cluster.speed[i] = static_cast<double>(number_in(random, 5, 10)) / 10;
  }
  return cluster;
}

}  // namespace weft::pipeline
