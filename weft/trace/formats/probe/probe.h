// SPDX-License-Identifier: Apache-2.0
// Reads the logs of Weft's probes (folder probes/). A log has the network transfers, the MPI calls
// or the NCCL events of one process. It is normally attached to the profiler's trace of the same
// process. If there is no such trace, the log itself becomes a rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/probe/log_file.h"
#include "weft/trace/reader.h"
#include "weft/trace/runs/runs.h"

namespace weft::trace {

struct ProbeLog {
  std::string file;
  probe::LogHeader from;
  Nanos epoch = 0;  ///< absolute time of time 0 of the transfers
  Wire wire;        ///< transfers of sockets, or of NCCL's proxy thread
  /// The calls of an MPI or NCCL log as a RankTrace; nullopt if the log has none.
  std::optional<RankTrace> calls;
  Diagnostics of_calls;  ///< about `calls`; reported only if `calls` is used
};

/// What Reader::name() and Reader::description() would return.
inline constexpr const char* kProbeLogName = "weftlog";
inline constexpr const char* kProbeLogDescription =
    "logs of Weft's probes: transfers through sockets, MPI calls, NCCL events";

/// Reads a log. Like Reader::read(), it reports repairs as diagnostics, and returns an Error if the
/// file is unusable.
Result<ProbeLog> read_probe_log(ByteSource& source, const ReadOptions& options,
                                Diagnostics& diagnostics);

/// Finds the logs whose process has no trace in `files`. A log that has calls becomes a rank: it
/// moves from `logs` to `files`. If `files` is still empty after that, logs that have only
/// transfers become ranks too.
void turn_into_ranks(std::vector<ProbeLog>& logs, std::vector<FileTraces>& files,
                     Diagnostics& diagnostics);

/// Adds the remaining logs to the ranks of their processes. A log of a process that is not a rank
/// becomes a bystander of the run that was recorded at the same time.
void attach(std::vector<Run>& runs, std::vector<ProbeLog> logs, Diagnostics& diagnostics);

}  // namespace weft::trace
