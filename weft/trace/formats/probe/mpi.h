// SPDX-License-Identifier: Apache-2.0
// Interprets the records of the MPI probe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/probe/log_file.h"

namespace weft::trace::probe {

/// Collects all records of a log, then turns them into a RankTrace.
class MpiRecords {
 public:
  /// Adds a record. Returns false if it cannot be used. Ignores records of other types.
  bool add(LogRecord& record);
  /// Returns the calls as host work of a rank. Communication becomes annotations ("mpi:allreduce",
  /// ...), and waits become host ops ("MPI_Wait"). Non-blocking calls are on separate lanes.
  /// Returns nullopt if there are no calls.
  std::optional<RankTrace> calls(const LogHeader& from, const std::string& file,
                                 Diagnostics& diagnostics) const;

 private:
  struct Communicator {
    std::string name;
    std::int64_t size = -1;
    std::vector<std::int32_t> members;  ///< ranks of the job; empty if unknown
  };
  struct Call {
    Nanos start = 0;
    Nanos duration = 0;
    std::int64_t thread = 0;
    std::uint64_t kind = 0;
    std::uint64_t communicator = 0;
    std::int64_t sequence = -1;
    std::int64_t elements = -1;
    std::uint64_t dtype = 0;
    std::int64_t peer = -1;      ///< rank within the communicator
    bool waits = false;          ///< a call that waits for requests; it does not communicate itself
    bool in_background = false;  ///< non-blocking: it lasts until its request is complete
  };

  CollectiveDetail describe(RankTrace& trace, const Call& call) const;

  std::map<std::uint64_t, Communicator> communicators_;
  std::vector<Call> calls_;
};

}  // namespace weft::trace::probe
