// SPDX-License-Identifier: Apache-2.0
// Records of NCCL events and their meaning. The plug-in writes starts, changes of state and stops;
// here they become collectives and messages, launches, and transfers of the proxy.
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

class NcclRecords {
 public:
  /// False if the record cannot be used.
  bool add(LogRecord& record);
  /// The steps of the proxy as transfers, by start, relative to `epoch`, which is set to the
  /// earliest.
  Wire transfers(Nanos& epoch) const;
  /// The collectives and messages as a rank; nothing if there are none.
  std::optional<RankTrace> calls(const LogHeader& from, const std::string& file,
                                 Diagnostics& diagnostics) const;

 private:
  struct Communicator {
    std::string name;  ///< its id, as hexadecimal digits
    std::int64_t ranks = -1;
    std::int64_t rank = -1;
  };
  struct Event {
    std::uint64_t kind = 0;
    std::uint64_t parent = 0;
    std::uint64_t communicator = 0;
    std::int64_t thread = 0;
    nccl::Span span;
    std::uint32_t detail = kNone;  ///< into operations_ or proxy_ops_
    std::uint64_t number = 0;      ///< step, channel or stream
    std::int64_t gpu_start = 0, gpu_stop = 0;
  };
  struct ProxyOp {
    std::int64_t channel = 0;
    std::int64_t peer = -1;
    std::int64_t steps = 0;
    Bytes chunk = 0;
    bool send = false;
  };
  /// What happened to a step, by the time of the record; -1: did not.
  struct Step {
    Nanos posted = -1;   ///< given to the network
    Nanos arrived = -1;  ///< receives only
    Bytes bytes = -1;
  };

  bool add_start(LogRecord& record);
  bool add_state(LogRecord& record);
  void time_operations(std::vector<nccl::Operation>& operations,
                       const std::vector<std::uint64_t>& ids) const;

  std::map<std::uint64_t, Communicator> communicators_;
  std::unordered_map<std::uint64_t, Event> events_;
  std::vector<std::uint64_t> order_;  ///< of events, as they stand in the file
  std::vector<nccl::Operation> operations_;
  std::vector<ProxyOp> proxy_ops_;
  std::unordered_map<std::uint64_t, Step> steps_;
  /// Ends and states may stand before the start that another thread wrote.
  std::unordered_map<std::uint64_t, Nanos> stops_;
  std::unordered_map<std::uint64_t, std::int64_t> gpu_stops_;
  std::unordered_map<std::uint64_t, Bytes> moved_;
  std::int64_t records_ = 0;
};

}  // namespace weft::trace::probe
