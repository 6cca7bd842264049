// SPDX-License-Identifier: Apache-2.0
// Interprets the records of the socket probe (libweft-wire.so).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/probe/log_file.h"

namespace weft::trace::probe {

/// Collects all records of a log, then turns them into transfers.
class WireRecords {
 public:
  /// Adds a record. Returns false if it cannot be used. Ignores records of other types.
  bool add(LogRecord& record);
  /// Returns the transfers, sorted by start. Sets `epoch` to the earliest start, and gives all
  /// times relative to it. Transfers of a connection without record are left out and counted in
  /// `orphans`.
  Wire finish(Nanos& epoch, std::int64_t& orphans);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> connection_of_;  ///< number in the log -> index
  std::vector<std::uint64_t> numbers_;  ///< number of the connection of each transfer
  Wire wire_;
};

/// Makes a RankTrace that has only transfers, with one lane per direction of each connection.
RankTrace rank_of_transfers(const LogHeader& from, const std::string& file, Nanos epoch, Wire wire);

}  // namespace weft::trace::probe
