// SPDX-License-Identifier: Apache-2.0
// A folder that recorded processes wrote into, looked at from outside: names of files, and what
// each rank says about itself in r<rank>.job.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::record {

/// What a process that trained says (python/weft/_recording/window.py).
struct JobFacts {
  std::string framework;
  std::string version;
  std::int64_t rank = -1;
  std::int64_t world = -1;
  std::string role;  ///< "ps" of a parameter server; empty: it trains
  std::string host;
  std::int64_t first_asked = -1;
  std::int64_t last_asked = -1;
  std::int64_t steps_seen = 0;
  std::vector<std::int64_t> recorded_steps;  ///< sorted
  std::vector<std::string> problems;
};

/// What a Python process says that saw no step.
struct ProcessNote {
  std::string program;
  std::vector<std::string> frameworks;  ///< that it imported, of those that Weft knows
  std::vector<std::string> problems;
};

struct RecordedFile {
  std::string name;
  Bytes bytes = 0;
};

struct RecordedFolder {
  std::vector<RecordedFile> traces;  ///< by name; without *.job.json
  std::vector<JobFacts> jobs;        ///< by rank
  std::vector<ProcessNote> notes;
  std::int64_t running = 0;  ///< processes that record into it right now
  std::int64_t claims = 0;   ///< processes that took a step, as long as nobody tidies up
  /// "r1, tensorflow": processes that died while the profiler of their framework was ending.
  std::vector<std::string> lost_in_profiler;

  /// Numbers of ranks that have a trace of their own; sorted.
  std::vector<std::int64_t> ranks() const;
  /// Whether a framework has written anything. Logs of probes are transfers beside profiles.
  bool has_profile() const;
  /// Whether there are logs of calls of MPI, which need no profile.
  bool has_mpi() const;
  /// As the jobs say; -1 if none does.
  std::int64_t world() const;
};

/// Whether a name is that of a file that a recording consists of.
bool is_recording(std::string_view name);
/// "r3.kineto.json.gz" -> 3; -1 if the name tells no rank.
std::int64_t rank_in_name(std::string_view name);

/// An absent folder is an empty one. Facts that cannot be read are left out.
Result<RecordedFolder> look_at(const std::string& folder);
/// Removes files of an earlier recording, and nothing else.
Status clear_recording(const std::string& folder);
/// Removes what only had to be there during the recording, and leaves alone what processes that
/// still run hold there: each locks .<stem>.claim.
void tidy_up(const std::string& folder);

}  // namespace weft::record
