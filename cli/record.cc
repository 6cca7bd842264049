// SPDX-License-Identifier: Apache-2.0
// `weft record`: runs a training job so that it records itself, and says what came of it.
#include "weft/record/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "weft/record/child.h"
#include "weft/record/folder.h"
#include "weft/record/parts.h"
#include "weft/record/reasons.h"

namespace weft::cli {
namespace {

Result<record::Request> read_record_request(const Arguments& arguments) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o DIR is missing: the folder to record into");
  }
  record::Request request;
  std::error_code error;
  request.folder = std::filesystem::absolute(arguments.all("-o").back(), error).string();
  if (arguments.has("--steps")) {
    WEFT_ASSIGN(request.steps, record::parse_steps(arguments.all("--steps").back()));
  }
  request.shapes = !arguments.has("--no-shapes");
  request.memory = arguments.has("--memory");
  request.stacks = arguments.has("--stacks");
  request.wire = !arguments.has("--no-wire");
  request.mpi = arguments.has("--mpi");
  return request;
}

/// Whether it had to be made.
Result<bool> make_folder(const Arguments& arguments, const std::string& folder) {
  WEFT_ASSIGN(const record::RecordedFolder before, record::look_at(folder));
  if (!before.traces.empty() || !before.jobs.empty()) {
    if (!arguments.has("--force")) {
      const std::string first = before.traces.empty() ? "" : before.traces.front().name + " and ";
      return fail(
          ErrorCode::kUsage,
          fmt::format("there is a recording already ({}{} more); name another folder, or "
                      "replace it with --force",
                      first,
                      before.traces.size() + before.jobs.size() - (before.traces.empty() ? 0 : 1)),
          folder);
    }
    WEFT_TRY(record::clear_recording(folder));
  }
  record::tidy_up(folder);
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder);
  return made;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

/// "torch 2.13.0", or several.
std::string what_of(const record::RecordedFolder& folder) {
  if (!folder.has_profile()) return "calls of MPI";
  std::set<std::string> names;
  for (const record::JobFacts& job : folder.jobs) names.insert(job.framework + " " + job.version);
  // Facts are written last, and may have found no room.
  return names.empty() ? "a job that tells no facts" : fmt::format("{}", fmt::join(names, ", "));
}

/// What is there, and what is missing of what was asked for.
void describe(const record::RecordedFolder& folder, Notes& notes, const std::string& path) {
  Bytes bytes = 0;
  for (const record::RecordedFile& file : folder.traces) bytes += file.bytes;
  std::set<std::int64_t> steps;
  for (const record::JobFacts& job : folder.jobs) {
    steps.insert(job.recorded_steps.begin(), job.recorded_steps.end());
  }
  const std::vector<std::int64_t> ranks = folder.ranks();
  std::string what = what_of(folder);
  if (!ranks.empty()) what += fmt::format(", {}", name_ranks(ranks));
  if (!steps.empty())
    what += fmt::format(", steps {}", format_numbers({steps.begin(), steps.end()}));
  notes.add(Tone::kGood, fmt::format("recorded {}: {} files, {} in {}", what, folder.traces.size(),
                                     format_bytes(bytes), path));
  for (const record::JobFacts& job : folder.jobs) {
    for (const std::string& problem : job.problems) {
      notes.add(Tone::kWarning, fmt::format("rank {}: {}", job.rank, problem));
    }
    const bool fewer = !job.recorded_steps.empty() && job.recorded_steps.back() < job.last_asked;
    if (fewer && job.problems.empty()) {
      notes.add(
          Tone::kWarning,
          fmt::format("rank {}: the job took {} steps, so that not all of {}..{} were recorded",
                      job.rank, job.steps_seen, job.first_asked, job.last_asked));
    }
  }
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < folder.world(); ++rank) {
    if (!std::binary_search(ranks.begin(), ranks.end(), rank)) missing.push_back(rank);
  }
  const std::vector<std::string> lost = record::why_lost(folder);
  for (const std::string& reason : lost) notes.add(Tone::kWarning, reason);
  if (!missing.empty() && !ranks.empty() && folder.running == 0 && lost.empty()) {
    const bool one = missing.size() == 1;
    notes.add(Tone::kWarning,
              fmt::format("{} {} not here; if {} ran on {}: weft gather -o ALL {} HOST:DIR...",
                          name_ranks(missing), one ? "is" : "are", one ? "it" : "they",
                          one ? "another host" : "other hosts", path));
  }
  notes.add(Tone::kPlain, fmt::format("next: weft diagnose {}", path));
}

Result<ExitCode> run_record(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const record::Request request, read_record_request(arguments));
  const record::Parts parts = record::find_own_parts();
  if (parts.bootstrap.empty()) {
    return fail(ErrorCode::kUnavailable,
                "the hooks of the frameworks are not beside this command; install Weft whole, with "
                "pip or cmake --install");
  }
  if (request.mpi && parts.mpi.empty()) {
    return fail(ErrorCode::kUnavailable,
                "--mpi: libweft-mpi.so is not beside this command, as there was no MPI when it was "
                "built; install one (Debian: libopenmpi-dev) and build Weft from source");
  }
  WEFT_ASSIGN(const bool made, make_folder(arguments, request.folder));
  const auto status = record::run_child(
      arguments.inputs, record::recording_environment(request, parts, own_environment()));
  if (!status) {
    std::error_code ignored;
    if (made) std::filesystem::remove(request.folder, ignored);
    return tl::unexpected(status.error());
  }
  WEFT_ASSIGN(const record::RecordedFolder folder, record::look_at(request.folder));
  record::tidy_up(request.folder);

  Notes notes(console.err);
  const std::vector<std::string> reasons = record::why_empty(folder, request.mpi);
  if (reasons.empty()) {
    describe(folder, notes, arguments.all("-o").back());
  } else {
    for (const std::string& reason : reasons) {
      notes.add(Tone::kBad, "nothing was recorded: " + reason);
    }
  }
  console.notes = notes.text();
  if (*status != 0 || reasons.empty()) return static_cast<ExitCode>(*status);
  return ExitCode::kAnswerIsNo;
}

}  // namespace

Subcommand record_command() {
  Subcommand command;
  command.name = "record";
  command.description = "run a training job, unchanged, and record a few of its steps";
  command.inputs = "-- COMMAND...";
  command.min_inputs = 1;
  command.details =
      "Every process of the job writes its own files into DIR. PyTorch, TensorFlow, JAX and MXNet\n"
      "are recorded with their own profilers, Horovod with its timeline; steps are found from "
      "calls\n"
      "of the optimizer. Hooks come through the environment: the script is not changed, and Weft\n"
      "need not be installed where it runs. The exit status is that of the job; 1 if the job\n"
      "succeeded but nothing was recorded. Where ranks are started on other hosts, put weft "
      "record\n"
      "around each rank there.";
  command.examples = {
      Example{"weft record -o traces --memory -- torchrun --nproc-per-node 4 train.py",
              "steps 10 to 14 of every rank, with allocations"},
      Example{"weft record -o traces --mpi -- mpirun -np 4 ./solver",
              "any program of MPI: its collectives and messages"}};
  command.flags = {
      {"-o", "DIR", "the folder to record into; made if it is not there", Flag::Value::kFolder},
      {"--steps", "A..B", "which steps, counted from 0 (default 10..14)", Flag::Value::kText},
      {"--memory", "", "allocations as well"},
      {"--stacks", "", "call stacks as well: large files, a slow host"},
      {"--no-shapes", "", "no shapes of tensors: a little cheaper, but gloo's sizes are lost"},
      {"--no-wire", "", "no socket calls"},
      {"--mpi", "", "calls of MPI as well, from the start of each rank; needs no framework"},
      {"--force", "", "replace a recording that is in DIR"}};
  command.run = run_record;
  return command;
}

}  // namespace weft::cli
