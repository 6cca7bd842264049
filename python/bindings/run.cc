// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/run.h"

namespace weft::python {

Result<std::shared_ptr<const BuiltJob>> job_of(const Loaded& loaded) {
  // The lock is held while the job is built, so a second thread that needs the job waits until it
  // is built.
  const std::lock_guard lock(loaded.mutex);
  if (!loaded.job) {
    auto built = std::make_shared<BuiltJob>();
    built->diagnostics = loaded.diagnostics;
    WEFT_ASSIGN(built->job, predict::make_job(trace::Run(loaded.run), built->diagnostics));
    loaded.job = std::move(built);
  }
  return loaded.job;
}

}  // namespace weft::python
