// SPDX-License-Identifier: Apache-2.0
// Devices by the memory they have, for plans that only have to fit: how many are left of each size.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

class DeviceSizes {
 public:
  using Left = std::u16string;  ///< by size, the smallest first

  explicit DeviceSizes(const Cluster& cluster);

  std::int32_t count() const { return static_cast<std::int32_t>(memory_.size()); }
  Bytes memory(std::int32_t size) const { return memory_[size]; }
  Left all() const;

  /// Devices of this size and larger ones.
  static std::int32_t from(const Left& left, std::int32_t size);
  /// The smallest ones from a size on: whoever has one of that size needs no larger others.
  static void take(Left& left, std::int32_t size, std::int32_t devices);
  Bytes largest(const Left& left) const;  ///< 0 where none is left
  /// Of all that hold `least`, together.
  double room(const Left& left, Bytes least) const;

  /// The devices themselves, in the order in which sizes are taken.
  class Taker {
   public:
    explicit Taker(const DeviceSizes& sizes) : devices_(sizes.devices_) {}
    std::vector<std::int32_t> take(std::int32_t size, std::int32_t devices);  ///< sorted

   private:
    std::vector<std::vector<std::int32_t>> devices_;
  };

 private:
  std::vector<Bytes> memory_;                       ///< rising
  std::vector<std::vector<std::int32_t>> devices_;  ///< of each size
};

}  // namespace weft::pipeline
