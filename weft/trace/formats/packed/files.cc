// SPDX-License-Identifier: Apache-2.0
// pack_files() loads the inputs, decides the path of every output file (jobs_of()), packs the ranks
// in parallel, and finally copies the probe logs of bystanders (recorded processes that are not
// ranks). If several processes share the work of packing, we call them packers. Packer 0 then also
// writes the files that belong to no rank.
#include "weft/trace/formats/packed/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".weft";

/// One output file.
struct Job {
  const RankTrace* trace;
  std::string path;
};

/// Turns the label of a run into the name of a folder: no slashes, not empty, not hidden.
std::string folder_name(std::string label) {
  std::replace(label.begin(), label.end(), '/', '-');
  return label.empty() || label.starts_with('.') ? "run" + label : label;
}

/// Parameter servers and the chief are not ranks and have no number, so their packed files keep the
/// name of the original. If there are several packers, packer 0 packs them.
void add_services(const Run& run, const fs::path& folder, std::vector<Job>& jobs) {
  for (const RankTrace& service : run.services) {
    const std::string name = fs::path(service.file).filename().string();
    jobs.push_back({&service, folder / (name.substr(0, name.find('.')) + std::string(kEnding))});
  }
}

Result<std::vector<Job>> jobs_of(const Recording& recording, const std::string& out,
                                 const Share& share) {
  std::vector<Job> jobs;
  for (const Run& run : recording.runs) {
    const fs::path folder =
        recording.runs.size() > 1 ? fs::path(out) / folder_name(run.label) : fs::path(out);
    for (const RankTrace& trace : run.ranks) {
      const std::string name = "r" + std::to_string(trace.rank) + std::string(kEnding);
      jobs.push_back({&trace, (folder / name).string()});
    }
    if (share.index == 0 && !out.ends_with(kEnding)) add_services(run, folder, jobs);
  }
  if (!out.ends_with(kEnding)) return jobs;
  if (jobs.size() > 1) {
    return fail(ErrorCode::kUsage,
                std::to_string(jobs.size()) +
                    " ranks do not fit into one file; pass a folder (a name that does not end in "
                    "\"" +
                    std::string(kEnding) + "\")",
                out);
  }
  jobs.front().path = out;
  return jobs;
}

/// Creates an empty file; fails if the file exists. So if two packers want to write the same file,
/// only one of them can.
Status reserve(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file >= 0) {
    ::close(file);
    return {};
  }
  if (errno != EEXIST) {
    return fail(ErrorCode::kIo, std::string("cannot create: ") + std::strerror(errno), path);
  }
  return fail(ErrorCode::kBadInput,
              "the file exists already, perhaps from another process with the same rank; pack into "
              "an empty folder, one run at a time",
              path);
}

Result<PackedFile> write_one(const Job& job, bool exclusive) {
  std::error_code error;
  fs::create_directories(fs::path(job.path).parent_path(), error);
  if (error && !fs::path(job.path).parent_path().empty()) {
    return fail(ErrorCode::kIo, "cannot create the folder: " + error.message(), job.path);
  }
  PackedFile file;
  file.path = job.path;
  file.rank = job.trace->rank;
  file.origin = job.trace->file;
  const auto origin_bytes = fs::file_size(job.trace->file, error);
  file.origin_bytes = error ? -1 : static_cast<Bytes>(origin_bytes);
  const std::string bytes = pack(*job.trace);
  file.bytes = static_cast<Bytes>(bytes.size());
  if (exclusive) WEFT_TRY(reserve(job.path));
  if (const Status written = write_file(job.path, bytes); !written) {
    // Remove the reserved file; otherwise the next attempt would fail because the file exists.
    if (exclusive) fs::remove(job.path, error);
    return tl::unexpected(written.error());
  }
  return file;
}

/// Copies the probe logs of bystanders. If there are several packers, each of them loads only its
/// own ranks, and the logs of all other ranks look to it like logs of bystanders. So only packer 0
/// copies logs, and only those that name a role.
Status copy_bystanders(const Recording& recording, const std::vector<Job>& jobs,
                       const std::string& out, const Share& share) {
  if (out.ends_with(kEnding) || share.index > 0) return {};
  for (const Run& run : recording.runs) {
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& each) {
      return each.trace == &run.ranks.front();
    });
    for (const Bystander& bystander : run.bystanders) {
      if (share.divided() && bystander.role.empty()) continue;
      const fs::path to = fs::path(job->path).parent_path() / fs::path(bystander.file).filename();
      std::error_code error;
      if (fs::equivalent(bystander.file, to, error)) continue;
      fs::copy_file(bystander.file, to, fs::copy_options::overwrite_existing, error);
      if (error) {
        return fail(ErrorCode::kIo, "cannot copy it to " + to.string() + ": " + error.message(),
                    bystander.file);
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PackedFile>> pack_files(const std::vector<std::string>& inputs,
                                           const std::string& out, const PackOptions& options,
                                           Diagnostics& diagnostics) {
  LoadOptions load_options;
  load_options.run = options.run;
  load_options.progress = options.progress;
  load_options.share = options.share;
  // Each rank is packed by itself, so it does not matter whether the runs are complete.
  load_options.judge_runs = false;
  Diagnostics found;
  WEFT_ASSIGN(const Recording recording, load(inputs, load_options, found));
  diagnostics.merge(found);
  if (recording.runs.empty()) return std::vector<PackedFile>{};
  if (options.share.divided() && found.count_of("rank-assumed") > 0) {
    return fail(ErrorCode::kBadInput,
                "the recording does not name its rank, so several processes cannot share the work; "
                "pack it in one process, or put ranks into the file names",
                recording.runs.front().ranks.front().file);
  }
  WEFT_ASSIGN(const std::vector<Job> jobs, jobs_of(recording, out, options.share));
  std::vector<Result<PackedFile>> results(jobs.size(), PackedFile{});
  parallel_for(jobs.size(),
               [&](std::size_t i) { results[i] = write_one(jobs[i], options.share.divided()); });
  std::vector<PackedFile> files;
  for (Result<PackedFile>& result : results) {
    if (!result) return tl::unexpected(result.error());
    files.push_back(std::move(*result));
  }
  WEFT_TRY(copy_bystanders(recording, jobs, out, options.share));
  return files;
}

}  // namespace weft::trace
