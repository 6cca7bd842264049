// SPDX-License-Identifier: Apache-2.0
// A search works with the number of devices of each size (Left). For its result, Taker finds the
// devices behind these numbers. Left and Taker take devices by the same rule, so devices can be
// assigned to the stages when the plan is finished.
#include "weft/pipeline/fit/device_sizes.h"

#include <algorithm>
#include <map>

#include "weft/pipeline/fit/needs.h"

namespace weft::pipeline {

DeviceSizes::DeviceSizes(const Cluster& cluster) {
  std::map<Bytes, std::vector<std::int32_t>> sizes;
  const std::vector<Bytes> memory = memory_limits(cluster);
  // Taker pops devices from the back, so they are listed in descending order.
  for (std::int32_t d = cluster.devices; d-- > 0;) sizes[memory[d]].push_back(d);
  for (auto& [size, devices] : sizes) {
    memory_.push_back(size);
    devices_.push_back(std::move(devices));
  }
}

DeviceSizes::Left DeviceSizes::all() const {
  Left left;
  for (const auto& devices : devices_) left.push_back(static_cast<char16_t>(devices.size()));
  return left;
}

std::int32_t DeviceSizes::from(const Left& left, std::int32_t size) {
  std::int32_t devices = 0;
  for (std::size_t i = size; i < left.size(); ++i) devices += left[i];
  return devices;
}

void DeviceSizes::take(Left& left, std::int32_t size, std::int32_t devices) {
  for (std::size_t i = size; devices > 0; ++i) {
    const std::int32_t taken = std::min<std::int32_t>(devices, left[i]);
    left[i] = static_cast<char16_t>(left[i] - taken);
    devices -= taken;
  }
}

Bytes DeviceSizes::largest(const Left& left) const {
  for (std::size_t i = left.size(); i-- > 0;) {
    if (left[i] > 0) return memory_[i];
  }
  return 0;
}

// A double, because a device without a memory limit counts as the largest integer, and a sum of
// integers would overflow.
double DeviceSizes::room(const Left& left, Bytes least) const {
  double sum = 0;
  for (std::size_t i = left.size(); i-- > 0 && memory_[i] >= least;) {
    sum += static_cast<double>(left[i]) * static_cast<double>(memory_[i]);
  }
  return sum;
}

std::vector<std::int32_t> DeviceSizes::Taker::take(std::int32_t size, std::int32_t devices) {
  std::vector<std::int32_t> taken;
  for (std::size_t i = size; static_cast<std::int32_t>(taken.size()) < devices; ++i) {
    while (!devices_[i].empty() && static_cast<std::int32_t>(taken.size()) < devices) {
      taken.push_back(devices_[i].back());
      devices_[i].pop_back();
    }
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

}  // namespace weft::pipeline
