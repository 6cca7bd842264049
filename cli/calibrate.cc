// SPDX-License-Identifier: Apache-2.0
// `weft calibrate`: measures the times of collectives on the user's cluster. Other verbs predict
// with these times (--links).
//
// Weft itself sends nothing over the network. It starts the user's launcher and appends a small
// program, which every rank runs. Rank 0 prints measurements as tagged lines on stdout, and
// cost::Calibration collects them. All other lines are kept for the error message if the launcher
// fails. After Ctrl-C the tables that are complete so far are written.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <deque>

#include "cli/calibrate_launch.h"
#include "cli/commands.h"
#include "cli/info/links_summary.h"
#include "cli/output.h"
#include "cli/shell/format.h"
#include "cli/shell/interrupt.h"
#include "cli/shell/notes.h"
#include "cli/shell/progress.h"
#include "weft/base/child.h"
#include "weft/base/json/writer.h"
#include "weft/cost/calibration.h"
#include "weft/record/parts.h"

namespace weft::cli {
namespace {

constexpr const char* kAllCollectives =
    "all_reduce,all_gather,reduce_scatter,broadcast,all_to_all,send_recv";
constexpr const char* kUsualSizes = "1KiB..64MiB";
constexpr std::size_t kLinesKept = 12;  ///< last lines of the launcher, to explain its failure

Result<CalibrateSettings> settings_of(const Arguments& arguments) {
  const auto text = [&](const char* flag, const char* missing) {
    return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
  };
  CalibrateSettings settings;
  WEFT_ASSIGN(settings.collectives, parse_collectives(text("--collectives", kAllCollectives)));
  WEFT_ASSIGN(settings.sizes, parse_sizes(text("--sizes", kUsualSizes)));
  if (arguments.has("--ranks")) {
    WEFT_ASSIGN(settings.ranks, parse_rank_counts(text("--ranks", "")));
  }
  settings.repeats = arguments.whole("--repeats").value_or(settings.repeats);
  settings.seconds = arguments.whole("--seconds").value_or(settings.seconds);
  settings.backend = text("--backend", settings.backend.c_str());
  if (settings.repeats < 1 || settings.seconds < 1) {
    return fail(ErrorCode::kUsage, "--repeats and --seconds must be at least 1");
  }
  return settings;
}

Result<std::vector<std::string>> words_of(const Arguments& arguments) {
  WEFT_ASSIGN(const CalibrateSettings settings, settings_of(arguments));
  const std::vector<std::string>& launcher = arguments.inputs;
  const bool mpi =
      arguments.has("--with") ? arguments.all("--with").back() == "mpi" : is_mpi_launcher(launcher);
  const record::Parts parts = record::find_own_parts();
  const std::string& program = mpi ? parts.calibrate_mpi : parts.calibrate_torch;
  if (program.empty()) {
    return fail(
        ErrorCode::kUnavailable,
        mpi ? "the program that measures MPI ranks is missing; it must be built for your MPI: "
              "run 'python -m weft.build_mpi', or use --with torch and a launcher that starts a "
              "Python with torch"
            : "weft/torch/calibrate.py is missing beside this command; install Weft again");
  }
  return launch_words(launcher, program, settings);
}

/// What the ranks measured, and the last other lines that the launcher printed.
struct Run {
  cost::Calibration calibration;
  std::deque<std::string> last_lines;
  int status = 0;
};

std::string progress_line(const cost::Calibration& calibration) {
  if (!calibration.started()) return "waiting for the ranks";
  const cost::Calibration::Progress& at = calibration.progress();
  return fmt::format("pass {} of at most {}: {} of {}, {:.0f} s left", at.pass + 1, at.passes,
                     at.collective, format_bytes(at.bytes), std::max(0.0, at.seconds_left));
}

Result<Run> run_ranks(const std::vector<std::string>& words, const Console& console) {
  Run run;
  Progress progress(console.err);
  ChildWatch watch;
  watch.line = [&](std::string_view line, bool) {
    if (run.calibration.take(line)) return;
    run.last_lines.emplace_back(line);
    if (run.last_lines.size() > kLinesKept) run.last_lines.pop_front();
  };
  watch.stop = [&] {
    progress.show(progress_line(run.calibration));
    return interrupted();
  };
  const NoExitTimeout no_timeout;  // the ranks need up to five seconds to end after Ctrl-C
  WEFT_ASSIGN(run.status, run_child(words, watch));
  return run;
}

std::string last_output(const Run& run) {
  std::string text;
  for (const std::string& line : run.last_lines) text += "\n  " + line;
  return text.empty() ? text : "; its last lines:" + text;
}

/// Returns an Error if the run gave nothing to write. An error that the ranks reported explains
/// more than the exit status of the launcher, so it is checked first.
Status check(const Run& run, const std::string& launcher) {
  if (const auto& failure = run.calibration.failure()) {
    const ErrorCode code = failure->kind == "missing" ? ErrorCode::kUnavailable
                           : failure->kind == "usage" ? ErrorCode::kUsage
                                                      : ErrorCode::kPeerFailed;
    return fail(code, failure->what);
  }
  if (interrupted()) return {};
  if (run.status != 0) {
    return fail(ErrorCode::kPeerFailed, fmt::format("'{}' failed with status {}{}", launcher,
                                                    run.status, last_output(run)));
  }
  if (run.calibration.tables().empty() && !run.calibration.elsewhere()) {
    return fail(
        ErrorCode::kPeerFailed,
        fmt::format("'{}' ended without a result: the launcher must start the program that Weft "
                    "puts at its end (or at {{script}}) on every rank, and pass on the output of "
                    "rank 0{}",
                    launcher, last_output(run)));
  }
  return {};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// A larger spread means that something else was running.
constexpr double kMostSpread = 0.2;

std::string notes_of(const Run& run, const std::vector<cost::LinkTable>& tables,
                     const Terminal& terminal) {
  Notes notes(terminal);
  for (const cost::LinkTable& table : tables) {
    const double spread = typical_spread(table.rows);
    if (spread <= kMostSpread) continue;
    notes.add(Tone::kWarning,
              fmt::format("single calls of {} differ by {:.0f} %, so something else was running; "
                          "measure again, or for longer with --seconds",
                          cost::link_collective_name(table.collective), 100 * spread));
  }
  const cost::Calibration& calibration = run.calibration;
  if (!calibration.cut().empty()) {
    notes.add(Tone::kWarning,
              fmt::format("the largest sizes of {} were not measured, because they would have "
                          "taken too long; increase --seconds to measure them",
                          fmt::join(calibration.cut(), ", ")));
  }
  if (!calibration.lacking().empty()) {
    notes.add(Tone::kWarning,
              fmt::format("not measured, because this backend does not support them: {}",
                          fmt::join(calibration.lacking(), ", ")));
  }
  if (calibration.broken_lines() > 0) {
    notes.add(Tone::kWarning, fmt::format("{} lines of rank 0 could not be understood",
                                          calibration.broken_lines()));
  }
  return notes.text();
}

Result<ExitCode> run_calibrate(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage,
                "-o FILE is missing: the file to write the table to, such as links.json");
  }
  const std::string& path = arguments.all("-o").back();
  WEFT_ASSIGN(const std::vector<std::string> words, words_of(arguments));
  WEFT_ASSIGN(const Run run, run_ranks(words, console));
  WEFT_TRY(check(run, words.front()));

  std::vector<cost::LinkTable> tables = run.calibration.tables();
  if (run.calibration.elsewhere()) {
    // Each host has its own launcher and its own `weft calibrate`; only rank 0 has the numbers.
    console.result =
        "rank 0 runs on another host; the weft calibrate on that host writes the table\n";
    return ExitCode::kDone;
  }
  if (tables.empty()) return ExitCode::kInterrupted;
  const std::string date = today();
  for (cost::LinkTable& table : tables) {
    table.date = date;
    if (arguments.has("--network")) table.network = arguments.all("--network").back();
  }
  WEFT_TRY(write_output(console, path, cost::write_links(tables)));
  if (arguments.has("--json")) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("command", "calibrate");
    json.field("file", path).field("whole", run.calibration.ended());
    json.key("links");
    write_links_summary(json, tables);
    console.result = json.end_object().take() + "\n";
  } else {
    console.result = fmt::format("{}: {}", path, links_text(tables, console.out));
  }
  console.notes = notes_of(run, tables, console.err);
  return interrupted() ? ExitCode::kInterrupted : ExitCode::kDone;
}

}  // namespace

Subcommand calibrate_command() {
  Subcommand command;
  command.name = "calibrate";
  command.description = "measures collectives on your cluster, for use with --links";
  command.inputs = "-- LAUNCHER...";
  command.min_inputs = 1;
  command.details =
      "LAUNCHER is the command that starts your ranks, without a script. Weft adds its own "
      "program at the end of this command. If a word contains {script}, the program goes there "
      "instead. For torchrun, python and the like, the program is a Python script, which needs "
      "torch. For mpirun, mpiexec and srun, it is a binary that needs only MPI. The program must "
      "have the same path on all hosts.\n"
      "\n"
      "Each collective is timed for each size in two ways: single calls that start when all "
      "ranks are ready, and calls back to back. Messages are timed between every two hosts. "
      "Weft repeats all sizes until the time is over. Ctrl-C ends all ranks and keeps the "
      "measurements so far.";
  command.examples = {
      Example{"weft calibrate -o links.json -- torchrun --nproc-per-node 4",
              "afterwards: weft replay --links links.json, weft report links.json -o links.html"},
      Example{"weft calibrate -o links.json --collectives all_reduce --seconds 20 -- mpirun -n 4",
              "one collective only, with MPI"}};
  command.flags = {
      {"-o", "FILE", "where to write the link table (docs/formats/links.md)", Flag::Value::kFile},
      {"--collectives", "LIST",
       std::string("the collectives to measure; default: ") + kAllCollectives, Flag::Value::kText},
      {"--sizes", "A..B",
       std::string("sizes A, 2A, 4A ... up to B, or a list of sizes; default: ") + kUsualSizes,
       Flag::Value::kText},
      {"--ranks", "LIST",
       "numbers of ranks, such as 2,4: also measure groups of these sizes; default: only all ranks",
       Flag::Value::kText},
      {"--repeats", "N", "at most N passes over all sizes; default: 10", Flag::Value::kWhole},
      {"--seconds", "S", "time to measure, after the ranks have started; default: 60",
       Flag::Value::kWhole},
      {"--backend",
       "B",
       "backend of torch.distributed; default: nccl if there is a GPU, else gloo",
       Flag::Value::kText,
       false,
       {"gloo", "nccl"}},
      {"--with",
       "W",
       "what the ranks run, torch or mpi; default: decided by the name of the launcher",
       Flag::Value::kChoice,
       false,
       {"torch", "mpi"}},
      {"--network", "TEXT", "a name for the network, stored in the table", Flag::Value::kText},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
  command.run = run_calibrate;
  return command;
}

}  // namespace weft::cli
