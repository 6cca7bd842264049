// SPDX-License-Identifier: Apache-2.0
// Records of MPI calls and their meaning.
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

class MpiRecords {
 public:
  /// False if the record cannot be used.
  bool add(LogRecord& record);
  /// The calls as a rank of host work: communication as annotations "mpi:allreduce" ..., waits as
  /// ops "MPI_Wait". What does not block lies on lanes of its own. Nothing if there are no calls.
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
    std::int64_t peer = -1;  ///< in the communicator
    bool waits = false;      ///< a wait for others, no communication itself
    bool in_background = false;
  };

  CollectiveDetail describe(RankTrace& trace, const Call& call) const;

  std::map<std::uint64_t, Communicator> communicators_;
  std::vector<Call> calls_;
};

}  // namespace weft::trace::probe
