// SPDX-License-Identifier: Apache-2.0
// What `weft record` wrote beside a trace about the process that made it, docs/formats/job.md. Some
// profilers do not say which host and process they ran in; logs of transfers are found by these.
#pragma once

#include <string>

#include "weft/trace/events.h"

namespace weft::trace {

bool is_job_facts(const std::string& file);
/// Whether there are facts beside a trace, so that weft record has made it.
bool has_job_facts(const RankTrace& trace);

/// Sets host and process where the trace itself does not tell them. Facts that are absent or cannot
/// be read change nothing: the trace is good without.
void add_job_facts(RankTrace& trace);

}  // namespace weft::trace
