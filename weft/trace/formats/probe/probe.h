// SPDX-License-Identifier: Apache-2.0
// Logs of Weft's probes (probes/): single transfers of a process, its MPI calls, or its NCCL
// events. A log belongs to what a profiler recorded of the same process; only where there is no
// such file does it become a rank itself.
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
  Nanos epoch = 0;  ///< absolute time that the transfers count from
  Wire wire;        ///< of sockets, or of NCCL's proxy
  /// The calls of an MPI or NCCL log as a rank; nothing if it holds none.
  std::optional<RankTrace> calls;
  Diagnostics of_calls;  ///< what is odd about them, where they are used
};

/// As Reader::name() and Reader::description().
inline constexpr const char* kProbeLogName = "weftlog";
inline constexpr const char* kProbeLogDescription =
    "logs of Weft's probes: transfers through sockets, MPI calls, NCCL events";

/// Like Reader::read(): repairs are diagnostics, an unusable file is an Error.
Result<ProbeLog> read_probe_log(ByteSource& source, const ReadOptions& options,
                                Diagnostics& diagnostics);

/// Logs whose process no file describes: each becomes a rank in `files` and is taken out of `logs`.
/// Logs of sockets do so only where nothing else tells of ranks.
void turn_into_ranks(std::vector<ProbeLog>& logs, std::vector<FileTraces>& files,
                     Diagnostics& diagnostics);

/// Gives the rest to the ranks of their processes. Those of other processes become bystanders of
/// the run whose time they share.
void attach(std::vector<Run>& runs, std::vector<ProbeLog> logs, Diagnostics& diagnostics);

}  // namespace weft::trace
