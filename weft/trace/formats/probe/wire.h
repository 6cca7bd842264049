// SPDX-License-Identifier: Apache-2.0
// Records of sockets and their meaning.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/probe/log_file.h"

namespace weft::trace::probe {

class WireRecords {
 public:
  /// False if the record cannot be used.
  bool add(LogRecord& record);
  /// Transfers by start, relative to `epoch`, which is set to the earliest. Those of connections
  /// that no record describes are left out and counted.
  Wire finish(Nanos& epoch, std::int64_t& orphans);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> connection_of_;  ///< number -> index
  std::vector<std::uint64_t> numbers_;                              ///< by transfer
  Wire wire_;
};

/// A rank that is nothing but its transfers: a lane for each direction of each connection.
RankTrace rank_of_transfers(const LogHeader& from, const std::string& file, Nanos epoch, Wire wire);

}  // namespace weft::trace::probe
