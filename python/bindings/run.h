// SPDX-License-Identifier: Apache-2.0
// The data behind Python's Run, which several binding files share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/predict/job.h"
#include "weft/trace/events.h"

namespace weft::python {

/// A job, and all diagnostics from reading its recordings and building it.
struct BuiltJob {
  predict::Job job;
  Diagnostics diagnostics;
};

struct Loaded {
  std::vector<std::string> inputs;  ///< as given to load()
  std::string chosen_run;           ///< as given to load(); empty if none was given
  trace::Run run;
  Diagnostics diagnostics;
  /// Built by the first call that needs it and kept for later calls. The job has a copy of `run`,
  /// because building it aligns the clocks in place, whereas Python shows the events as recorded.
  mutable std::mutex mutex;
  mutable std::shared_ptr<const BuiltJob> job;
};

/// Returns the job of the run and builds it on the first call. Several threads may call it at the
/// same time; only one builds the job and the others wait.
Result<std::shared_ptr<const BuiltJob>> job_of(const Loaded& loaded);

/// Python's Run. Other Python objects (ranks, events) share `loaded` and may outlive the Run.
struct PyRun {
  std::shared_ptr<const Loaded> loaded;
};

}  // namespace weft::python
