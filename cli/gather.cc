// SPDX-License-Identifier: Apache-2.0
// `weft gather`: puts the recordings of several hosts into one folder.
//
// Remote folders are first copied into a hidden folder inside the result folder. record::join()
// then checks all sources for conflicts before it moves anything, so a failed copy or a conflict
// leaves the result folder as it was.
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

/// A temporary folder inside the result folder. The two are on the same file system, so join() can
/// link files instead of copying them. The destructor removes the temporary folder.
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

Result<record::Gathered> fetch(const std::string& source, const HiddenFolder& temporary,
                               std::size_t number) {
  if (!record::is_remote(source)) return record::Gathered{source, source};
  WEFT_ASSIGN(const std::string folder, temporary.make(number));
  const std::vector<std::string> command = record::fetch_command(source, folder);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  WEFT_ASSIGN(const int status, record::run_child(command, environment));
  if (status != 0) {
    return fail(ErrorCode::kBadInput,
                fmt::format("{} failed to copy the folder (status {}); check that this machine can "
                            "log in to that host without a password",
                            command.front(), status),
                source);
  }
  return record::Gathered{source, folder};
}

Result<ExitCode> run_gather(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o DIR is missing: the folder to put the recordings into");
  }
  const std::string& folder = arguments.all("-o").back();
  std::vector<record::Gathered> sources;
  {
    // join() reads the copies of remote folders, and the destructor of `temporary` removes them. So
    // join() must run inside this scope.
    const HiddenFolder temporary(folder);
    for (const std::string& input : arguments.inputs) {
      WEFT_ASSIGN(record::Gathered source, fetch(input, temporary, sources.size()));
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
  command.description = "puts the recordings of several hosts into one folder";
  command.inputs = "[HOST:]DIR...";
  command.min_inputs = 1;
  command.details =
      "Local folders are linked or copied. Folders of other hosts are fetched with rsync, or "
      "with scp if rsync is not installed. Two files with the same name but different content "
      "are refused. The exit status is 1 if ranks of the job are missing.";
  command.examples = {Example{"weft gather -o traces node1:/tmp/traces node2:/tmp/traces",
                              "the files that weft record -o /tmp/traces wrote on two hosts"},
                      Example{"weft gather -o traces host0 host1", "two folders of this machine"}};
  command.flags = {
      {"-o", "DIR", "the result folder; may already hold some of the files", Flag::Value::kFolder}};
  command.run = run_gather;
  return command;
}

}  // namespace weft::cli
