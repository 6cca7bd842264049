// SPDX-License-Identifier: Apache-2.0
// Lists what recorded processes have written into a folder. This code reads file names and the
// facts that each rank wrote about itself (r<rank>.job.json), but no traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::record {

/// Facts that a process wrote about itself after it took training steps
/// (python/weft/_recording/window.py).
struct JobFacts {
  std::string framework;
  std::string version;
  std::int64_t rank = -1;
  std::int64_t world = -1;
  std::string role;  ///< "ps": a parameter server; empty: a process that trains
  std::string host;
  std::int64_t first_asked = -1;
  std::int64_t last_asked = -1;
  std::int64_t steps_seen = 0;
  std::vector<std::int64_t> recorded_steps;  ///< sorted
  std::vector<std::string> problems;
};

/// A note that a Python process wrote if it took no training step.
struct ProcessNote {
  std::string program;
  /// The frameworks that the process imported, if Weft knows them.
  std::vector<std::string> frameworks;
  std::vector<std::string> problems;
};

struct RecordedFile {
  std::string name;
  Bytes bytes = 0;
};

struct RecordedFolder {
  std::vector<RecordedFile> traces;  ///< sorted by name; without *.job.json
  std::vector<JobFacts> jobs;        ///< sorted by rank
  std::vector<ProcessNote> notes;
  std::int64_t running = 0;  ///< number of processes that are recording into the folder now
  std::int64_t claims = 0;   ///< number of processes that took a step; 0 again after tidy_up()
  /// Processes that died while the profiler of their framework was stopping: "r1, tensorflow".
  std::vector<std::string> lost_in_profiler;

  /// The ranks that have written a trace, sorted.
  std::vector<std::int64_t> ranks() const;
  /// Whether there is any trace of a framework's profiler (and not only logs of probes).
  bool has_profile() const;
  /// Whether there are logs of MPI calls. These are useful without a profile.
  bool has_mpi() const;
  /// The world size that the jobs report; -1 if none does.
  std::int64_t world() const;
};

/// Whether a file with this name is part of a recording.
bool is_recording(std::string_view name);
/// "r3.kineto.json.gz" -> 3; -1 if the name contains no rank.
std::int64_t rank_in_name(std::string_view name);

/// Lists the folder. A missing folder counts as empty. Unreadable facts are left out.
Result<RecordedFolder> look_at(const std::string& folder);
/// Removes the files of an earlier recording, and nothing else.
Status clear_recording(const std::string& folder);
/// Removes files that are only needed during the recording. Keeps the files of processes that are
/// still running. (Such a process holds a lock on its file .<stem>.claim.)
void tidy_up(const std::string& folder);

}  // namespace weft::record
