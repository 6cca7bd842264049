// SPDX-License-Identifier: Apache-2.0
// Explains why nothing was recorded. The reasons are checked in this order, the most specific
// reason first:
//   1. a process died in its profiler
//   2. a process reported a problem
//   3. the job took too few steps
//   4. processes still run
//   5. processes took steps but wrote nothing
//   6. no process took a step
// A reason may be the cause of later reasons in this list, so only the first one is reported.
#include "weft/record/reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace weft::record {
namespace {

/// All problems that processes reported, each only once, because ranks often report the same
/// problem.
std::set<std::string> problems_in(const RecordedFolder& folder) {
  std::set<std::string> problems;
  for (const JobFacts& job : folder.jobs) problems.insert(job.problems.begin(), job.problems.end());
  for (const ProcessNote& note : folder.notes) {
    problems.insert(note.problems.begin(), note.problems.end());
  }
  return problems;
}

/// The --steps option that fits the job: as many steps as requested, and the last of them is the
/// last step of the job.
std::string steps_wanted(const JobFacts& job) {
  const std::int64_t last = job.steps_seen - 1;
  const std::int64_t count = job.last_asked - job.first_asked + 1;
  return fmt::format("--steps {}..{}", std::max<std::int64_t>(1, last - count + 1), last);
}

/// The message if the job took too few steps. The rank that took most steps tells how many.
std::string too_few_steps(const RecordedFolder& folder) {
  const JobFacts& job = *std::max_element(
      folder.jobs.begin(), folder.jobs.end(),
      [](const JobFacts& a, const JobFacts& b) { return a.steps_seen < b.steps_seen; });
  const bool room = job.steps_seen > 1;
  return fmt::format("the job took {} step{}, and recording begins at step {}; run it longer{}",
                     job.steps_seen, job.steps_seen == 1 ? "" : "s", job.first_asked,
                     room ? ", or use " + steps_wanted(job) : "");
}

/// What the hook of a framework (python/weft/<framework>/record.py) regards as the end of a step.
std::string_view end_of_step(std::string_view framework) {
  if (framework == "torch") return "step() of an optimizer of torch.optim";
  if (framework == "tensorflow") {
    return "a call of a tf.function that computes gradients or, where there is none, with an "
           "optimizer's call that applies gradients";
  }
  if (framework == "jax") {
    return "a call, from Python, of a function of jax.jit or jax.pmap; functions that "
           "lower().compile() made are not seen";
  }
  return "Trainer.step(), Trainer.update() or Module.update()";
}

std::string no_step_in(const std::string& framework) {
  return fmt::format(
      "{} was imported, but no training step was seen: a step ends with {}; if your script has no "
      "such call, mark steps by hand, as docs/guide/recording.md shows",
      framework, end_of_step(framework));
}

/// Reasons that follow from the notes of processes that took no step.
std::vector<std::string> from_notes(const RecordedFolder& folder, bool mpi) {
  std::set<std::string> imported;
  std::set<std::string> programs;
  for (const ProcessNote& note : folder.notes) {
    imported.insert(note.frameworks.begin(), note.frameworks.end());
    programs.insert(note.program);
  }
  std::vector<std::string> reasons;
  if (mpi) reasons.emplace_back("no process has called the MPI library that Weft was built with");
  for (const std::string& framework : imported) reasons.push_back(no_step_in(framework));
  if (!reasons.empty()) return reasons;
  if (!programs.empty()) {
    return {
        fmt::format("Python ran ({}), but imported none of torch, tensorflow, jax and mxnet; "
                    "use --mpi to record MPI calls",
                    fmt::join(programs, ", "))};
  }
  return {
      "no Python process that could be recorded has ended: use --mpi to record an MPI program; if "
      "the job runs on other hosts, in containers, or as python -I or -E, it did not get the "
      "environment of weft record: put weft record in front of the command of each rank"};
}

}  // namespace

std::vector<std::string> why_lost(const RecordedFolder& folder) {
  std::vector<std::string> reasons;
  for (const std::string& process : folder.lost_in_profiler) {
    reasons.push_back(process +
                      ": this process died while the framework's profiler was stopping; record "
                      "again");
  }
  return reasons;
}

std::vector<std::string> why_empty(const RecordedFolder& folder, bool mpi) {
  if (folder.has_profile() || (mpi && folder.has_mpi())) return {};
  if (!folder.lost_in_profiler.empty()) return why_lost(folder);
  std::vector<std::string> reasons;
  for (const std::string& problem : problems_in(folder)) {
    reasons.push_back("a process reported a problem: " + problem);
  }
  if (!reasons.empty()) return reasons;
  if (!folder.jobs.empty()) return {too_few_steps(folder)};
  if (folder.running > 0) {
    return {"processes that take training steps are still running; they write when they end"};
  }
  // There is no profile here. Two things show that processes took steps and that their profiles
  // were lost:
  //   * Claims. A process makes a claim when it takes its first step. (A parameter server, which
  //     takes no steps, makes one when its recording starts.)
  //   * Logs of probes. All traces are such logs here, and probes write them while steps are
  //     recorded. With --mpi, logs prove nothing: then probes write even if there are no steps.
  if (folder.claims > 0 || (!folder.traces.empty() && !mpi)) {
    return {
        "processes took training steps, but none wrote a profile: the disk may be full, or the "
        "processes were ended by os._exit() or SIGKILL; profilers write after the last step to "
        "record, or when the process ends normally"};
  }
  return from_notes(folder, mpi);
}

}  // namespace weft::record
