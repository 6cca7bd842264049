// SPDX-License-Identifier: Apache-2.0
// Communication that NCCL told about, as ranks: each launch (or each call, where launches were not
// recorded) becomes a kernel on a stream, with the arguments of its calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/nccl/ranks.h"

namespace weft::trace::nccl {

constexpr std::uint32_t kNoLaunch = kNone;

/// A stretch of time; -1, -1 while unknown.
struct Span {
  Nanos start = -1;
  Nanos end = -1;

  bool known() const { return start >= 0 && end >= start; }
  void cover(const Span& other);
};

/// A collective or message as NCCL runs it.
struct Operation {
  std::string function;
  std::string dtype;  ///< empty: `count` is in bytes
  std::string communicator;
  std::int64_t count = -1;
  std::int64_t sequence = -1;
  std::int64_t peer = -1;  ///< place in the communicator
  std::int64_t stream = 0;
  std::int64_t thread = 0;
  Span on_host;    ///< while it was put into the queue
  Span on_device;  ///< unknown where neither channels nor kernels were recorded
  std::uint32_t launch = kNoLaunch;
};

struct Launch {
  Span on_host;
  Span on_device;      ///< of the kernel, if it was recorded itself
  std::string kernel;  ///< its name, likewise
  std::int64_t thread = 0;
  std::int64_t stream = 0;
};

/// A call into NCCL's interface.
struct HostCall {
  std::string function;
  Span on_host;
  std::int64_t thread = 0;
};

/// One process and GPU.
struct Worker {
  std::string host;
  std::int64_t process = -1;
  std::vector<Membership> memberships;
  std::vector<HostCall> calls;
  std::vector<Launch> launches;
  std::vector<Operation> operations;
  std::int64_t records = 0;  ///< lines about it, used or not
};

/// Workers without any operation are left out. Fails if none is left.
Result<std::vector<RankTrace>> assemble(std::vector<Worker> workers, const std::string& file,
                                        const char* format, Diagnostics& diagnostics);

}  // namespace weft::trace::nccl
