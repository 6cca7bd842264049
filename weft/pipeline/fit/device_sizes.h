// SPDX-License-Identifier: Apache-2.0
// Counts devices by the size of their memory. Some searches only ask whether a plan fits into
// memory. They need not distinguish devices of equal memory. So their state is the number of
// devices left of each size.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/model/cluster.h"

namespace weft::pipeline {

class DeviceSizes {
 public:
  /// A size is an amount of device memory. Left is the number of devices left of each size, the
  /// smallest size first. It is a string because it serves as a hash key.
  using Left = std::u16string;

  explicit DeviceSizes(const Cluster& cluster);

  std::int32_t count() const { return static_cast<std::int32_t>(memory_.size()); }
  Bytes memory(std::int32_t size) const { return memory_[size]; }
  Left all() const;

  /// How many of the devices that are left have at least the memory of this size.
  static std::int32_t from(const Left& left, std::int32_t size);
  /// Takes this number of devices out of `left`: the smallest ones that have at least this size.
  /// The smallest device of a group limits the group, so larger devices would be wasted.
  static void take(Left& left, std::int32_t size, std::int32_t devices);
  Bytes largest(const Left& left) const;  ///< memory of the largest device left; 0 if none is left
  /// The total memory of those devices left whose memory is at least `least`.
  double room(const Left& left, Bytes least) const;

  /// Finds the actual devices behind the counts. Call its take() with the same arguments and in the
  /// same order as DeviceSizes::take(); it returns the devices that each call takes.
  class Taker {
   public:
    explicit Taker(const DeviceSizes& sizes) : devices_(sizes.devices_) {}
    std::vector<std::int32_t> take(std::int32_t size, std::int32_t devices);  ///< sorted

   private:
    std::vector<std::vector<std::int32_t>> devices_;
  };

 private:
  std::vector<Bytes> memory_;                       ///< the sizes in increasing order
  std::vector<std::vector<std::int32_t>> devices_;  ///< the devices of each size
};

}  // namespace weft::pipeline
