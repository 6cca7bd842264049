// SPDX-License-Identifier: Apache-2.0
// Turns the communication that NCCL reported into RankTraces. Each launch becomes a kernel on a
// stream, with the arguments of its calls. If launches were not recorded, each call becomes a
// separate kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/nccl/ranks.h"

namespace weft::trace::nccl {

constexpr std::uint32_t kNoLaunch = kNone;

/// An interval of time. If it is unknown, `start` and `end` are -1.
struct Span {
  Nanos start = -1;
  Nanos end = -1;

  bool known() const { return start >= 0 && end >= start; }
  /// Grows to include `other`; ignores an unknown `other`.
  void cover(const Span& other);
};

/// A collective or message that NCCL executes.
struct Operation {
  std::string function;
  std::string dtype;  ///< NCCL's name; if it is empty, `count` is in bytes
  std::string communicator;
  std::int64_t count = -1;
  std::int64_t sequence = -1;
  std::int64_t peer = -1;  ///< rank of the other end within the communicator, for messages
  std::int64_t stream = 0;
  std::int64_t thread = 0;
  Span on_host;                      ///< time in which the host enqueues the operation
  Span on_device;                    ///< unknown if neither channels nor kernels were recorded
  std::uint32_t launch = kNoLaunch;  ///< index into Worker::launches
};

/// The launch of one kernel, which executes all operations of a group call.
struct Launch {
  Span on_host;
  Span on_device;      ///< times of the kernel; unknown if CUPTI did not record it
  std::string kernel;  ///< name of the kernel; empty if CUPTI did not record it
  std::int64_t thread = 0;
  std::int64_t stream = 0;
};

/// A call of an NCCL API function.
struct HostCall {
  std::string function;
  Span on_host;
  std::int64_t thread = 0;
};

/// One GPU of one process, which is one rank of the job.
struct Worker {
  std::string host;
  std::int64_t process = -1;
  std::vector<Membership> memberships;
  std::vector<HostCall> calls;
  std::vector<Launch> launches;
  std::vector<Operation> operations;
  std::int64_t records = 0;  ///< lines of the file about this worker, used or not
};

/// Gives one RankTrace per worker. Leaves out workers without operations and workers without any
/// usable time. Fails if no worker is left. `file` and `format` go into the traces and messages.
Result<std::vector<RankTrace>> assemble(std::vector<Worker> workers, const std::string& file,
                                        const char* format, Diagnostics& diagnostics);

}  // namespace weft::trace::nccl
