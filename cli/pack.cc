// SPDX-License-Identifier: Apache-2.0
// `weft pack`: writes recordings as small files in Weft's own format, one per rank.
//
// Under mpirun or srun, each process packs a share of the ranks. So the hosts of a job can pack
// its files in parallel. The share comes from the environment variables that launchers set.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <set>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/shell/format.h"
#include "cli/shell/interrupt.h"
#include "cli/shell/notes.h"
#include "cli/shell/progress.h"
#include "weft/base/decimal.h"
#include "weft/base/json/writer.h"
#include "weft/trace/formats/packed/files.h"

namespace weft::cli {
namespace {

/// The variables in which launchers give a process its number and the number of processes. Under
/// Slurm, the number of processes is the task count of the job step. The task count of the job
/// (SLURM_NTASKS) would be wrong for a batch script, which runs alone.
constexpr std::array<std::array<const char*, 2>, 3> kLaunchers{
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
     {"PMI_RANK", "PMI_SIZE"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};

std::optional<std::int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : parse_int(text);
}

std::optional<trace::Share> parse_share(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto index = parse_int(text.substr(0, slash));
  const auto count = parse_int(text.substr(slash + 1));
  if (!index || !count || *index < 0 || *index >= *count) return std::nullopt;
  return trace::Share{*index, *count};
}

Result<trace::Share> share_of(const Arguments& arguments, const std::string& out) {
  if (arguments.has("--share")) {
    const std::string& text = arguments.all("--share").back();
    if (const auto share = parse_share(text)) return *share;
    return fail(
        ErrorCode::kUsage,
        fmt::format("--share {}: give the number of the share and the number of all shares, such "
                    "as 0/8",
                    text));
  }
  // A user who names a single file wants all of the input in it, even under mpirun or srun.
  if (out.ends_with(".weft")) return trace::Share{};
  for (const auto& [rank, size] : kLaunchers) {
    const auto index = number_in(rank);
    const auto count = number_in(size);
    if (index && count && *index >= 0 && *index < *count) return trace::Share{*index, *count};
  }
  return trace::Share{};
}

/// The size of all original files. A file that holds several ranks counts once.
Bytes origin_bytes(const std::vector<trace::PackedFile>& files) {
  std::set<std::string> seen;
  Bytes sum = 0;
  for (const trace::PackedFile& file : files) {
    if (seen.insert(file.origin).second) sum += std::max<Bytes>(0, file.origin_bytes);
  }
  return sum;
}

std::string text_of(const std::vector<trace::PackedFile>& files, const std::string& out) {
  if (files.empty()) return "the share of this process has no recording\n";
  Bytes bytes = 0;
  int ranks = 0;
  for (const trace::PackedFile& file : files) {
    bytes += file.bytes;
    ranks += file.rank >= 0;
  }
  std::vector<std::string> what;
  if (ranks == 1 && files.size() == 1) {
    what.push_back(fmt::format("rank {}", files.front().rank));
  } else if (ranks > 0) {
    what.push_back(fmt::format("{} rank{}", format_count(ranks), ranks == 1 ? "" : "s"));
  }
  const int others = static_cast<int>(files.size()) - ranks;
  if (others == 1) what.emplace_back("1 server or chief");
  if (others > 1) what.push_back(fmt::format("{} servers and chiefs", format_count(others)));
  return fmt::format("{}: {}, {} packed to {}\n", out, fmt::join(what, ", "),
                     format_bytes(origin_bytes(files)), format_bytes(bytes));
}

std::string json_of(const std::vector<trace::PackedFile>& files, const Diagnostics& diagnostics) {
  JsonWriter json(2);
  json.begin_object()
      .field("schema_version", 1)
      .field("command", "pack")
      .key("files")
      .begin_array();
  for (const trace::PackedFile& file : files) {
    json.begin_object().field("rank", file.rank).field("file", file.path);
    json.field("bytes", file.bytes).field("origin", file.origin);
    json.field("origin_bytes", file.origin_bytes).end_object();
  }
  json.end_array();
  write_diagnostics(json, diagnostics);
  json.end_object();
  return json.take() + "\n";
}

Result<ExitCode> run_pack(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage,
                "-o OUT is missing: a folder, or a file that ends in .weft for a single rank");
  }
  const std::string& out = arguments.all("-o").back();
  trace::PackOptions options;
  WEFT_ASSIGN(options.share, share_of(arguments, out));
  set_threads(arguments);
  if (arguments.has("--run")) options.run = arguments.all("--run").back();
  Progress progress(console.err);
  options.progress = reading_progress(progress);
  Diagnostics diagnostics;
  WEFT_ASSIGN(const std::vector<trace::PackedFile> files,
              trace::pack_files(arguments.inputs, out, options, diagnostics));
  progress.clear();
  console.result = arguments.has("--json") ? json_of(files, diagnostics) : text_of(files, out);
  Notes notes(console.err);
  notes.add(diagnostics);
  if (!arguments.has("--json")) console.notes = notes.text();
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand pack_command() {
  Subcommand command;
  command.name = "pack";
  command.description = "writes recordings as small files that every verb reads";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "OUT is a folder, in which Weft writes r0.weft, r1.weft and so on. For a single rank, OUT "
      "may be a file that ends in .weft. Packed files keep everything that Weft reads. Under "
      "mpirun or srun, each process packs a share of the ranks (mpirun -n 8 weft pack traces/ "
      "-o packed); each input file must then name its rank.";
  command.examples = {
      Example{"weft pack examples/resnet50-w4 -o packed", "packed/r0.weft to packed/r3.weft"},
      Example{"weft pack examples/resnet50-w4/resnet50-w4-r3.json.gz -o r3.weft",
              "one rank into one file"}};
  command.flags = {
      {"-o", "OUT", "the folder, or the file that ends in .weft, to write", Flag::Value::kFile},
      {"--share", "I/N",
       "pack only share I (from 0) of N; 0/1 packs everything even under mpirun or srun",
       Flag::Value::kText}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.flags.push_back({"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"});
  command.run = run_pack;
  return command;
}

}  // namespace weft::cli
