// SPDX-License-Identifier: Apache-2.0
// `weft record`: runs a training job so that it records itself, then says what was recorded.
//
// Weft only sets environment variables and starts the command (weft/record/environment.h). Hooks
// and probes inside the ranks write the files. When the job has ended, this verb looks into the
// folder and compares the files with the request.
#include "weft/record/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/record/child.h"
#include "weft/record/folder.h"
#include "weft/record/parts.h"
#include "weft/record/reasons.h"

namespace weft::cli {
namespace {

Result<record::Request> read_record_request(const Arguments& arguments) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o DIR is missing: the folder for the recording");
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

/// Makes the folder unless it exists, and clears an old recording if --force is given. Returns
/// whether the folder is new. The caller removes a new folder again if the job does not start.
Result<bool> make_folder(const Arguments& arguments, const std::string& folder) {
  WEFT_ASSIGN(const record::RecordedFolder before, record::look_at(folder));
  if (!before.traces.empty() || !before.jobs.empty()) {
    if (!arguments.has("--force")) {
      const std::string first = before.traces.empty() ? "" : before.traces.front().name + " and ";
      return fail(
          ErrorCode::kUsage,
          fmt::format("there is already a recording ({}{} more); name another folder, or replace "
                      "the recording with --force",
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

/// The frameworks of the job: "torch 2.13.0".
std::string what_of(const record::RecordedFolder& folder) {
  if (!folder.has_profile()) return "MPI calls";
  std::set<std::string> names;
  for (const record::JobFacts& job : folder.jobs) names.insert(job.framework + " " + job.version);
  // Each rank writes its facts (framework, version) last. If the disk is full by then, the facts
  // are missing.
  return names.empty() ? "an unknown framework" : fmt::format("{}", fmt::join(names, ", "));
}

/// Adds notes: what was recorded, and which requested ranks and steps are missing.
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
          fmt::format("rank {}: the job ended after {} steps, so not all of steps {}..{} were "
                      "recorded",
                      job.rank, job.steps_seen, job.first_asked, job.last_asked));
    }
  }
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < folder.world(); ++rank) {
    if (!std::binary_search(ranks.begin(), ranks.end(), rank)) missing.push_back(rank);
  }
  const std::vector<std::string> lost = record::why_lost(folder);
  for (const std::string& reason : lost) notes.add(Tone::kWarning, reason);
  // Advice about other hosts would mislead if ranks are still writing or are known to be lost.
  if (!missing.empty() && !ranks.empty() && folder.running == 0 && lost.empty()) {
    const bool one = missing.size() == 1;
    notes.add(Tone::kWarning,
              fmt::format("{} {} not in this folder; if {} ran on {}, get the files with: weft "
                          "gather -o ALL {} HOST:DIR...",
                          name_ranks(missing), one ? "is" : "are", one ? "it" : "they",
                          one ? "another host" : "other hosts", diagnose::shell_word(path)));
  }
  notes.add(Tone::kPlain,
            fmt::format("next command: weft diagnose {}", diagnose::shell_word(path)));
}

Result<ExitCode> run_record(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const record::Request request, read_record_request(arguments));
  const record::Parts parts = record::find_own_parts();
  if (parts.bootstrap.empty()) {
    return fail(ErrorCode::kUnavailable,
                "the Python hooks of weft record are not installed beside this command; install "
                "Weft with pip or cmake --install");
  }
  if (request.mpi && parts.mpi.empty()) {
    return fail(ErrorCode::kUnavailable,
                "--mpi: libweft-mpi.so is missing; it must be built for your MPI: run "
                "'python -m weft.build_mpi'");
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
  // If the job failed, return its exit status: scripts must see the failure as they would without
  // Weft.
  if (*status != 0 || reasons.empty()) return static_cast<ExitCode>(*status);
  return ExitCode::kAnswerIsNo;
}

}  // namespace

Subcommand record_command() {
  Subcommand command;
  command.name = "record";
  command.description = "runs a training job unchanged and records a few of its steps";
  command.inputs = "-- COMMAND...";
  command.min_inputs = 1;
  command.details =
      "Every process of the job writes its own files into DIR. PyTorch, TensorFlow, JAX and "
      "MXNet are recorded with their own profilers, Horovod with its timeline. Weft finds the "
      "steps by the calls of the optimizer. The hooks are loaded through environment variables, "
      "so the script stays as it is, and its Python environment does not need Weft.\n"
      "\n"
      "If the launcher starts ranks on other hosts, put weft record before the command of each "
      "rank. The exit status is that of the job, or 1 if the job succeeded but nothing was "
      "recorded.";
  command.examples = {
      Example{"weft record -o traces --memory -- torchrun --nproc-per-node 4 train.py",
              "steps 10 to 14 of every rank, with allocations"},
      Example{"weft record -o traces --mpi -- mpirun -np 4 ./solver",
              "any MPI program: its collectives and messages"}};
  command.flags = {
      {"-o", "DIR", "the folder for the recording; made if it does not exist",
       Flag::Value::kFolder},
      {"--steps", "A..B", "the steps to record, counted from 0; default: 10..14",
       Flag::Value::kText},
      {"--memory", "", "also record memory allocations"},
      {"--stacks", "", "also record call stacks: files get large and the host slow"},
      {"--no-shapes", "",
       "record no tensor shapes: less overhead, but sizes of gloo collectives are lost"},
      {"--no-wire", "", "record no socket calls"},
      {"--mpi", "", "also record MPI calls, from the start of each rank; needs no framework"},
      {"--force", "", "replace a recording that is already in DIR"}};
  command.run = run_record;
  return command;
}

}  // namespace weft::cli
