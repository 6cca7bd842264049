// SPDX-License-Identifier: Apache-2.0
// Reads the activity tables of an export row by row into the columns of each rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/nsys/database.h"
#include "weft/trace/formats/nsys/nvtx.h"
#include "weft/trace/formats/nsys/workers.h"

namespace weft::trace::nsys {

/// How many rows could not be used or had to be corrected.
struct Losses {
  std::int64_t without_time = 0;
  std::int64_t open_ranges = 0;    ///< NVTX ranges that were still open when the recording ended
  std::int64_t negative = 0;       ///< negative durations, set to 0
  std::int64_t helper_events = 0;  ///< rows of processes that ran no kernels
};

/// An NVTX range that may mark a step.
struct StepCandidate {
  StepText text;
  StepMark mark;
};

/// A message whose peer is known only by its rank within a communicator.
struct PeerInGroup {
  std::uint32_t collective = 0;  ///< index into RankTrace::collectives
  std::string communicator;
  std::int64_t peer = -1;
};

/// A rank while it is being filled.
struct Draft {
  RankTrace trace;
  /// The index of each lane. The key of a host lane is (false, global thread id, 1 for start-end
  /// ranges or else 0), that of a stream is (true, device, stream).
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::uint32_t> lanes;
  std::unordered_map<std::int64_t, NameId> names;  ///< id in the table StringIds -> name
  std::vector<StepCandidate> steps;
  std::map<std::string, NcclPayload> communicators;  ///< communicators of known size
  std::vector<PeerInGroup> peers;
  std::int64_t waits = 0;           ///< waits of a stream for an event of another stream
  std::int64_t resolved_waits = 0;  ///< the waits for which the event is known
};

/// Fills `drafts`, which has one entry per worker, in the order of workers.all().
class Events {
 public:
  Events(const Database& database, const Workers& workers, std::vector<Draft>& drafts)
      : database_(database), workers_(workers), drafts_(drafts) {}

  /// Reads all tables that Weft uses. A missing table counts as empty.
  Status read();
  const Losses& losses() const { return losses_; }

 private:
  struct Time {
    Nanos start = 0;
    Nanos duration = 0;
  };
  struct DeviceRow {
    Draft* draft = nullptr;
    Time time;
    std::uint32_t lane = 0;
    std::uint32_t correlation = 0;
  };

  Status read_strings();
  Status read_kernels();
  Status read_graphs();
  Status read_copies();
  Status read_event_records();
  Status read_waits();
  Status read_calls();
  Status read_overhead();
  Status read_ranges();
  void add_range(Draft& draft, const Rows& row, std::string_view text, const Time& time);
  std::uint32_t collective_of(Draft& draft, std::string_view function, const NcclPayload& payload);

  /// Reads the columns with which every device query begins. Returns false if the row cannot be
  /// used.
  bool device_row(const Rows& row, DeviceRow& out);
  bool time_of(const Rows& row, int start, int end, Time& out);
  std::int64_t process_of_row(std::optional<std::int64_t> global) const;
  NameId name_of(Draft& draft, std::optional<std::int64_t> string, std::string_view missing);
  std::string_view string_of(std::optional<std::int64_t> id) const;
  std::uint32_t host_lane(Draft& draft, std::int64_t global_tid, bool start_end);
  std::uint32_t stream_lane(Draft& draft, std::int64_t device, std::int64_t stream);

  /// A cudaEventRecord call.
  struct EventRecord {
    std::int64_t correlation = -1;
    std::int64_t stream = -1;
  };

  const Database& database_;
  const Workers& workers_;
  std::vector<Draft>& drafts_;
  std::unordered_map<std::int64_t, std::string> strings_;  ///< the table StringIds
  std::map<std::pair<std::int64_t, std::int64_t>, EventRecord>
      records_;  ///< (process, sync id) -> record
  /// (process, correlation) -> the rank whose work the call launched. Filled only for processes
  /// with several devices.
  std::map<std::pair<std::int64_t, std::int64_t>, const Draft*> launched_for_;
  Losses losses_;
};

}  // namespace weft::trace::nsys
