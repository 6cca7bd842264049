// SPDX-License-Identifier: Apache-2.0
// Computes numbers per device that are products over dimensions. Examples are how many elements a
// device wants or keeps, and from how many shards its elements come.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {

/// For every device, a product with one factor per dimension. A dimension that divides evenly has
/// the same factor for all devices, so most products need no list per device.
class Product {
 public:
  void multiply(std::int64_t factor) { constant_ *= factor; }
  /// `factors` is indexed by device and must outlive this object.
  void multiply(const std::vector<std::int64_t>& factors) { lists_.push_back(factors.data()); }

  /// Whether the product is the same for all devices. If so, uniform_value() is the product.
  bool uniform() const { return lists_.empty(); }
  std::int64_t uniform_value() const { return constant_; }
  /// The product of each device, indexed by device. The products are computed into `scratch`,
  /// unless a list that was given already contains the products.
  const std::int64_t* values(std::size_t devices, std::vector<std::int64_t>& scratch) const {
    if (lists_.size() == 1 && constant_ == 1) return lists_.front();
    scratch.resize(devices);
    std::int64_t* product = scratch.data();
    if (lists_.empty()) {
      for (std::size_t i = 0; i < devices; ++i) product[i] = constant_;
      return product;
    }
    // Most products have at most three lists. Multiply these in a single pass over memory.
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
