// SPDX-License-Identifier: Apache-2.0
// Reads facts about the process that made a trace. `weft record` writes them into a file beside the
// trace (see docs/formats/job.md). Some profilers record neither host nor process id, but Weft
// needs the two to find the logs of transfers that belong to a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/trace/events.h"

namespace weft::trace {

/// Whether `file` is named as a file with facts ("r0.job.json").
bool is_job_facts(const std::string& file);
/// Whether a file with facts exists beside the trace. If so, `weft record` made the trace.
bool has_job_facts(const RankTrace& trace);

/// Sets host and process if the trace itself does not tell them. Facts are optional: if they are
/// missing or unreadable, nothing changes and nothing is reported.
void add_job_facts(RankTrace& trace);

/// A step of the job that ran without profiler, timed on the host by `weft record`.
struct UnprofiledStep {
  std::int64_t number = 0;
  Nanos time = 0;
};
/// Reads the steps without profiler from the facts, sorted by number. Empty if the facts are
/// missing or unreadable.
std::vector<UnprofiledStep> unprofiled_steps(const RankTrace& trace);

}  // namespace weft::trace
