// SPDX-License-Identifier: Apache-2.0
// Finds the tensors that a TensorFlow function receives from another task. A receive starts on one
// thread and is done on another thread. Its duration is the time between these two events. The two
// tasks give an execution of the function the same number, so sends and receives can be paired by
// this number.
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
  /// Takes the events of one host thread. Sets `execution` of the sends among them.
  void add_thread(std::vector<DecodedEvent>& events);
  /// Adds all receives to the rank, as events "NODE:_Recv" with the number of the execution as
  /// external id. Call it once, after all threads.
  void finish(RankColumns& rank) const;

 private:
  struct Receive {
    Nanos start = -1;
    Nanos end = -1;
    Bytes bytes = -1;
  };
  std::map<std::pair<std::int64_t, std::string>, Receive>
      receives_;  ///< (execution, node) -> receive
};

}  // namespace weft::trace::xplane
