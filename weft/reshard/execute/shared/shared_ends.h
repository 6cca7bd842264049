// SPDX-License-Identifier: Apache-2.0
// Processes that share memory, as ends within one test.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/reshard/execute/shared/shared.h"

namespace weft::reshard::execute {

using SharedEnds = std::vector<std::unique_ptr<SharedTransport>>;

/// Each maps the memory for itself, as processes do.
inline SharedEnds connect_neighbours(Device devices, const SharedOptions& options = {},
                                     Bytes area = kSharedArea) {
  auto first = *Neighbours::create(devices, area);
  std::vector<Neighbours> others;
  for (Device device = 1; device < devices; ++device) {
    others.push_back(*Neighbours::join(first.name(), devices));
  }
  first.close_door();
  SharedEnds ends;
  ends.push_back(connect_shared(std::move(first), 0, options));
  for (Device device = 1; device < devices; ++device) {
    ends.push_back(connect_shared(std::move(others[device - 1]), device, options));
  }
  return ends;
}

}  // namespace weft::reshard::execute
