// SPDX-License-Identifier: Apache-2.0
// `weft gather`: the recordings of several hosts in one folder.
#include "weft/record/gather.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/shell/format.h"
#include "weft/record/child.h"
#include "weft/record/folder.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

/// A hidden folder beside the result, on the same disk, gone at the end.
class HiddenFolder {
 public:
  explicit HiddenFolder(const std::string& folder)
      : path_(fs::path(folder) / fmt::format(".gather-{}", ::getpid())) {}
  ~HiddenFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;

  Result<std::string> make(std::size_t number) const {
    const fs::path folder = path_ / std::to_string(number);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder.string());
    }
    return folder.string();
  }

 private:
  fs::path path_;
};

Result<record::Gathered> fetch(const std::string& source, const HiddenFolder& stage,
                               std::size_t number) {
  if (!record::is_remote(source)) return record::Gathered{source, source};
  WEFT_ASSIGN(const std::string folder, stage.make(number));
  const std::vector<std::string> command = record::fetch_command(source, folder);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  WEFT_ASSIGN(const int status, record::run_child(command, environment));
  if (status != 0) {
    return fail(ErrorCode::kBadInput,
                fmt::format("{} could not copy it (status {}); can this machine log in there "
                            "without a password?",
                            command.front(), status),
                source);
  }
  return record::Gathered{source, folder};
}

Result<ExitCode> run_gather(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o DIR is missing: the folder to gather into");
  }
  const std::string& folder = arguments.all("-o").back();
  std::vector<record::Gathered> sources;
  {
    const HiddenFolder stage(folder);
    for (const std::string& input : arguments.inputs) {
      WEFT_ASSIGN(record::Gathered source, fetch(input, stage, sources.size()));
      sources.push_back(std::move(source));
    }
    WEFT_TRY(record::join(sources, folder));
  }
  WEFT_ASSIGN(const record::RecordedFolder found, record::look_at(folder));
  const std::vector<std::int64_t> ranks = found.ranks();
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < found.world(); ++rank) {
    if (!std::binary_search(ranks.begin(), ranks.end(), rank)) missing.push_back(rank);
  }
  Bytes bytes = 0;
  for (const record::RecordedFile& file : found.traces) bytes += file.bytes;
  console.result =
      fmt::format("{}: {} files, {}", folder, found.traces.size(), format_bytes(bytes));
  if (!ranks.empty()) console.result += "; " + name_ranks(ranks);
  if (found.world() > 0) console.result += fmt::format(" of {}", found.world());
  console.result += "\n";
  if (!missing.empty()) {
    console.result += fmt::format("missing: {}\n", name_ranks(missing));
    return ExitCode::kAnswerIsNo;
  }
  return ExitCode::kDone;
}

}  // namespace

Subcommand gather_command() {
  Subcommand command;
  command.name = "gather";
  command.description = "the recordings of several hosts in one folder";
  command.inputs = "[HOST:]DIR...";
  command.min_inputs = 1;
  command.details =
      "Folders of this machine are linked or copied, those of other hosts fetched with rsync, or\n"
      "scp where there is none. Different files of one name are refused. The exit status is 1 if\n"
      "ranks of the job are missing.";
  command.examples = {Example{"weft gather -o traces node1:/tmp/traces node2:/tmp/traces",
                              "what weft record -o /tmp/traces left on two hosts"},
                      Example{"weft gather -o traces host0 host1", "folders of this machine"}};
  command.flags = {{"-o", "DIR", "the folder to gather into; may hold some of the files already",
                    Flag::Value::kFolder}};
  command.run = run_gather;
  return command;
}

}  // namespace weft::cli
