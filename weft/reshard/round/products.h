// SPDX-License-Identifier: Apache-2.0
// Numbers of devices that are products over dimensions: how many elements one wants, keeps, takes
// from how many others.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {

/// Most factors are the same for all devices: arrays that divide evenly need no list.
class Product {
 public:
  void multiply(std::int64_t factor) { constant_ *= factor; }
  /// By device; must outlive this.
  void multiply(const std::vector<std::int64_t>& factors) { lists_.push_back(factors.data()); }

  /// Whether they are all the same, and what.
  bool uniform() const { return lists_.empty(); }
  std::int64_t uniform_value() const { return constant_; }
  /// By device. `scratch`: where they are, unless they are there already.
  const std::int64_t* values(std::size_t devices, std::vector<std::int64_t>& scratch) const {
    if (lists_.size() == 1 && constant_ == 1) return lists_.front();
    scratch.resize(devices);
    std::int64_t* product = scratch.data();
    if (lists_.empty()) {
      for (std::size_t i = 0; i < devices; ++i) product[i] = constant_;
      return product;
    }
    // Up to three in one go, which are most.
    const std::int64_t* a = lists_[0];
    const std::int64_t* b = lists_.size() > 1 ? lists_[1] : nullptr;
    const std::int64_t* c = lists_.size() > 2 ? lists_[2] : nullptr;
    if (c != nullptr) {
      for (std::size_t i = 0; i < devices; ++i) product[i] = a[i] * b[i] * c[i] * constant_;
    } else if (b != nullptr) {
      for (std::size_t i = 0; i < devices; ++i) product[i] = a[i] * b[i] * constant_;
    } else {
      for (std::size_t i = 0; i < devices; ++i) product[i] = a[i] * constant_;
    }
    for (std::size_t k = 3; k < lists_.size(); ++k) {
      for (std::size_t i = 0; i < devices; ++i) product[i] *= lists_[k][i];
    }
    return product;
  }

 private:
  std::int64_t constant_ = 1;
  ShortList<const std::int64_t*, 8> lists_;
};

}  // namespace weft::reshard
