// SPDX-License-Identifier: Apache-2.0
// Tensors that TensorFlow's functions get from another task: a receive is begun on one thread and
// over on another, and what it took is what lies between. Both tasks number the execution of the
// function alike, so that sends and receives can be paired.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/trace/formats/xplane/rank_columns.h"

namespace weft::trace::xplane {

class Receives {
 public:
  /// The events of one host thread. Sends among them get the execution that they belong to.
  void add_thread(std::vector<DecodedEvent>& events);
  /// Gives each to the rank, as "node:_Recv" with the execution it belongs to as external id.
  void finish(RankColumns& rank) const;

 private:
  struct Receive {
    Nanos start = -1;
    Nanos end = -1;
    Bytes bytes = -1;
  };
  std::map<std::pair<std::int64_t, std::string>, Receive> receives_;  ///< by execution and node
};

}  // namespace weft::trace::xplane
