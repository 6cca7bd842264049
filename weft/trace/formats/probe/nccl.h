// SPDX-License-Identifier: Apache-2.0
// Interprets the records of the NCCL probe. The plug-in writes starts, state changes and stops of
// events. This class turns them into collectives, messages, launches and transfers of NCCL's proxy
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/nccl/assemble.h"
#include "weft/trace/formats/probe/log_file.h"

namespace weft::trace::probe {

/// Collects all records of a log, then turns them into transfers and a RankTrace.
class NcclRecords {
 public:
  /// Adds a record. Returns false if it cannot be used. Ignores records of other types.
  bool add(LogRecord& record);
  /// Returns the steps of the proxy thread as transfers, sorted by start. Sets `epoch` to the
  /// earliest start, and gives all times relative to it.
  Wire transfers(Nanos& epoch) const;
  /// Returns the collectives and messages as a RankTrace; nullopt if there are none.
  std::optional<RankTrace> calls(const LogHeader& from, const std::string& file,
                                 Diagnostics& diagnostics) const;

 private:
  struct Communicator {
    std::string name;  ///< the id of the communicator in hexadecimal
    std::int64_t ranks = -1;
    std::int64_t rank = -1;
  };
  struct Event {
    std::uint64_t kind = 0;
    std::uint64_t parent = 0;
    std::uint64_t communicator = 0;
    std::int64_t thread = 0;
    nccl::Span span;
    std::uint32_t detail = kNone;  ///< index into operations_ or proxy_ops_, depending on kind
    std::uint64_t number = 0;      ///< the stream, for launches
    std::int64_t gpu_start = 0, gpu_stop = 0;
  };
  /// What the proxy thread sends or receives for one operation on one channel.
  struct ProxyOp {
    std::int64_t channel = 0;
    std::int64_t peer = -1;
    std::int64_t steps = 0;
    Bytes chunk = 0;  ///< largest number of bytes of one step
    bool send = false;
  };
  /// State changes of one proxy step; -1 if a change was not recorded.
  struct Step {
    Nanos posted = -1;   ///< when the proxy gave the send or receive to the network
    Nanos arrived = -1;  ///< when the data had arrived; receives only
    Bytes bytes = -1;
  };

  bool add_start(LogRecord& record);
  bool add_state(LogRecord& record);
  void time_operations(std::vector<nccl::Operation>& operations,
                       const std::vector<std::uint64_t>& ids) const;

  std::map<std::uint64_t, Communicator> communicators_;
  std::unordered_map<std::uint64_t, Event> events_;
  std::vector<std::uint64_t> order_;  ///< ids of the events, in the order of the file
  std::vector<nccl::Operation> operations_;
  std::vector<ProxyOp> proxy_ops_;
  std::unordered_map<std::uint64_t, Step> steps_;
  // Maps from event ids. They are separate from events_, because a stop or state change may stand
  // in the file before the start, which another thread wrote.
  std::unordered_map<std::uint64_t, Nanos> stops_;
  std::unordered_map<std::uint64_t, std::int64_t> gpu_stops_;
  std::unordered_map<std::uint64_t, Bytes> moved_;  ///< bytes per operation (NCCL before 2.27)
  std::int64_t records_ = 0;
};

}  // namespace weft::trace::probe
