// SPDX-License-Identifier: Apache-2.0
// The activity tables of an export, row by row, as the columns of each rank.
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

/// Rows that could not be used.
struct Losses {
  std::int64_t without_time = 0;
  std::int64_t open_ranges = 0;  ///< NVTX ranges that had not ended
  std::int64_t negative = 0;
  std::int64_t strangers = 0;  ///< of processes that ran no kernels
};

/// A range that may mark a step.
struct StepCandidate {
  StepText text;
  StepMark mark;
};

/// A message whose peer is known by its rank inside of a communicator.
struct PeerInGroup {
  std::uint32_t collective = 0;
  std::string communicator;
  std::int64_t peer = -1;
};

/// A rank while it is being filled.
struct Draft {
  RankTrace trace;
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::uint32_t> lanes;
  std::unordered_map<std::int64_t, NameId> names;  ///< by id of StringIds
  std::vector<StepCandidate> steps;
  std::map<std::string, NcclPayload> communicators;  ///< those whose size is known
  std::vector<PeerInGroup> peers;
  std::int64_t waits = 0;           ///< between streams
  std::int64_t resolved_waits = 0;  ///< of which we know what they wait for
};

class Events {
 public:
  Events(const Database& database, const Workers& workers, std::vector<Draft>& drafts)
      : database_(database), workers_(workers), drafts_(drafts) {}

  /// All tables that Weft uses; those that are missing hold nothing.
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

  /// The columns that all device tables begin with; false if the row cannot be used.
  bool device_row(const Rows& row, DeviceRow& out);
  bool time_of(const Rows& row, int start, int end, Time& out);
  std::int64_t process_of_row(std::optional<std::int64_t> global) const;
  NameId name_of(Draft& draft, std::optional<std::int64_t> string, std::string_view missing);
  std::string_view string_of(std::optional<std::int64_t> id) const;
  std::uint32_t host_lane(Draft& draft, std::int64_t global_tid, bool loose);
  std::uint32_t stream_lane(Draft& draft, std::int64_t device, std::int64_t stream);

  struct EventRecord {
    std::int64_t correlation = -1;
    std::int64_t stream = -1;
  };

  const Database& database_;
  const Workers& workers_;
  std::vector<Draft>& drafts_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, EventRecord> records_;  // process, sync id
  /// Calls of processes with several devices: whose work they launched.
  std::map<std::pair<std::int64_t, std::int64_t>, const Draft*> launched_for_;
  Losses losses_;
};

}  // namespace weft::trace::nsys
