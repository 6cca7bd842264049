// SPDX-License-Identifier: Apache-2.0
// For tests: the endpoints of several processes that share memory, all in one process.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/reshard/execute/shared/shared.h"

namespace weft::reshard::execute {

using SharedEndpoints = std::vector<std::unique_ptr<SharedTransport>>;

/// Each endpoint maps the memory for itself, as separate processes do.
inline SharedEndpoints connect_shared_endpoints(Device devices, const SharedOptions& options = {},
                                                Bytes area = kSharedArea) {
  auto first = *SharedSegment::create(devices, area);
  std::vector<SharedSegment> others;
  for (Device device = 1; device < devices; ++device) {
    others.push_back(*SharedSegment::join(first.name(), devices));
  }
  first.make_private();
  SharedEndpoints ends;
  ends.push_back(connect_shared(std::move(first), 0, options));
  for (Device device = 1; device < devices; ++device) {
    ends.push_back(connect_shared(std::move(others[device - 1]), device, options));
  }
  return ends;
}

}  // namespace weft::reshard::execute
