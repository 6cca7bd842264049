// SPDX-License-Identifier: Apache-2.0
// What Python's Run holds, for the bindings of more than one room.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/predict/job.h"
#include "weft/trace/events.h"

namespace weft::python {

/// A job and what was odd about it, reading included.
struct BuiltJob {
  predict::Job job;
  Diagnostics diagnostics;
};

struct Loaded {
  std::vector<std::string> inputs;  ///< as given to load()
  std::string chosen_run;           ///< likewise; empty if none was
  trace::Run run;
  Diagnostics diagnostics;
  /// Built by the first question and kept for the next ones. It has a run of its own, as clocks are
  /// aligned in place and Python sees the events as they were recorded.
  mutable std::mutex mutex;
  mutable std::shared_ptr<const BuiltJob> job;
};

/// Built on the first call; from several threads only once.
Result<std::shared_ptr<const BuiltJob>> job_of(const Loaded& loaded);

/// Python objects share the run; each may outlive the others.
struct PyRun {
  std::shared_ptr<const Loaded> loaded;
};

}  // namespace weft::python
