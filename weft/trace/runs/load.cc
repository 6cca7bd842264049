// SPDX-License-Identifier: Apache-2.0
// Loads recordings in this order, because later steps need the results of earlier steps:
//   1. Expand inputs to files; skip facts of jobs, and the files of other processes (Share).
//   2. Read all files in parallel. Each file is a trace, an execution trace, or a log of a probe.
//   3. Processes that have logs but no trace become ranks made from their logs.
//   4. Set traces of parameter servers aside, and sort the other traces into runs.
//   5. Attach servers, execution traces and logs to the runs that they belong to.
//   6. Add the exchanges with servers to the ranks. This needs the transfers in the logs, which
//      show how far the clocks of the servers are off. Join Horovod timelines with the profiles of
//      the same ranks.
//   7. Choose the run that the caller asked for, and report what is missing in it.
#include "weft/trace/runs/load.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/formats/horovod/join.h"
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/reader.h"
#include "weft/trace/runs/foreign_files.h"
#include "weft/trace/runs/job_facts.h"
#include "weft/trace/runs/recognise.h"
#include "weft/trace/runs/runs.h"
#include "weft/trace/runs/services.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kSkipped{"skipped-file", Severity::kInfo,
                                  "files that are not recordings were skipped",
                                  "name such a file itself to see the reason"};
constexpr DiagnosticKind kUnreadable{
    "unreadable-file", Severity::kDataLoss, "files of the folder could not be read",
    "copy them again or remove them; name one of them alone to see the full reason"};
constexpr DiagnosticKind kLonelyExecution{
    "execution-trace-alone", Severity::kInfo,
    "an execution trace holds no times, and there is no profile of its rank; it was left out",
    "pass the Kineto trace of the same rank, too"};
constexpr DiagnosticKind kUnequal{
    "unequal-collectives", Severity::kInfo,
    "ranks recorded different numbers of collectives; some were cut off where the recording starts "
    "or ends",
    "nothing needs to be done; record more steps to get more complete collectives"};

/// The result of reading one file: traces, an execution trace, a log, or an error.
struct FileOutcome {
  FileTraces traces;
  std::optional<ExecutionTrace> execution;
  std::optional<ProbeLog> probe;
  std::optional<Error> error;
  bool unknown = false;  ///< true if the error is that no reader knows the format
  bool empty = false;    ///< true if the error is that the file is empty
  Diagnostics diagnostics;
};

// Adds up the bytes read of all files. All threads report to this object. It calls the listener,
// but never two calls at a time.
class Progress {
 public:
  Progress(const LoadOptions& options, const std::vector<std::string>& files)
      : listener_(options.progress), done_(files.size(), 0) {
    std::error_code ignored;
    for (const std::string& file : files) {
      const auto size = std::filesystem::file_size(file, ignored);
      sizes_.push_back(ignored ? 0 : static_cast<std::int64_t>(size));
      total_ += sizes_.back();
    }
  }

  bool update(std::size_t file, std::int64_t consumed) {
    if (!listener_) return true;
    const std::lock_guard lock(mutex_);
    sum_ += consumed - done_[file];
    done_[file] = consumed;
    going_ = going_ && listener_(sum_, total_);
    return going_;
  }
  bool finish(std::size_t file) { return update(file, std::max(sizes_[file], done_[file])); }

 private:
  const std::function<bool(std::int64_t, std::int64_t)>& listener_;
  std::mutex mutex_;
  std::vector<std::int64_t> done_;
  std::vector<std::int64_t> sizes_;
  std::int64_t sum_ = 0;
  std::int64_t total_ = 0;
  bool going_ = true;
};

std::string known_formats() {
  std::string list;
  for (const auto& reader : readers())
    list += std::string(list.empty() ? "" : ", ") + reader->name();
  return list + ", " + kExecutionTraceName + ", " + kProbeLogName;
}

Error unknown_format(const std::string& path, std::string_view head, bool truncated) {
  const std::size_t start = head.find_first_not_of(" \n\r\t");
  if (start == std::string_view::npos && truncated) {
    return {ErrorCode::kBadInput,
            "the gzip data is cut or damaged and nothing could be unpacked; copy the file again, "
            "or record again",
            path, 0};
  }
  if (start == std::string_view::npos) {
    return {ErrorCode::kBadInput, "the file is empty; record again, or copy it again", path, 0};
  }
  const std::string_view advice = advice_on_foreign_file(path, head);
  if (!advice.empty()) return {ErrorCode::kBadInput, std::string(advice), path, -1};
  const bool json = head[start] == '{' || head[start] == '[';
  return {ErrorCode::kBadInput,
          std::string(json ? "this is JSON, but not a trace" : "this is not a trace") +
              " in a format that Weft reads (" + known_formats() +
              "); name files that a profiler exported",
          path, static_cast<std::int64_t>(start)};
}

/// Whether the name of a file looks like that of a recording.
bool is_named_like_a_trace(std::string_view path) {
  for (const std::string_view end : {".json", ".gz", ".weft", ".pb", ".sqlite", ".et"}) {
    if (path.ends_with(end)) return true;
  }
  return false;
}

/// If no file of a folder is readable, the error about one of them is only an example.
Error as_example(Error error, std::size_t files) {
  if (files > 1) {
    error.message =
        "none of the " + std::to_string(files) + " files can be read; this one: " + error.message;
  }
  return error;
}

Status read_one(const std::string& path, const ReadOptions& options, FileOutcome& out) {
  WEFT_ASSIGN(std::unique_ptr<ByteSource> source, open_file(path));
  WEFT_ASSIGN(std::string head, read_up_to(*source, kHeadSize));
  const Format format = recognise(head);
  if (!format.known()) {
    // An empty file with the name of a recording is a damaged recording, not a foreign file.
    out.empty = head.find_first_not_of(" \n\r\t") == std::string::npos;
    out.unknown = !out.empty || !is_named_like_a_trace(path);
    return tl::unexpected(unknown_format(source->name(), head, source->truncated()));
  }
  // A pipe cannot be opened twice, so the reader gets the bytes that were read already.
  source = put_back(std::move(head), std::move(source));
  ReadOptions own = options;
  if (options.progress) {
    own.progress = [&](std::int64_t) { return options.progress(source->consumed()); };
  }
  if (format.probe_log) {
    WEFT_ASSIGN(out.probe, read_probe_log(*source, own, out.diagnostics));
  } else if (format.execution_trace) {
    WEFT_ASSIGN(out.execution, read_execution_trace(*source, own, out.diagnostics));
  } else {
    WEFT_ASSIGN(out.traces, format.reader->read(*source, own, out.diagnostics));
  }
  return {};
}

std::vector<FileOutcome> read_all(const std::vector<std::string>& files,
                                  const LoadOptions& options) {
  std::vector<FileOutcome> outcomes(files.size());
  Progress progress(options, files);
  parallel_for(files.size(), [&](std::size_t i) {
    ReadOptions own;
    if (options.progress) {
      own.progress = [&progress, i](std::int64_t consumed) { return progress.update(i, consumed); };
    }
    const Status status = read_one(files[i], own, outcomes[i]);
    if (!status) outcomes[i].error = status.error();
    if (!progress.finish(i) && !outcomes[i].error) {
      outcomes[i].error = Error{ErrorCode::kCancelled, "interrupted", files[i], -1};
    }
  });
  return outcomes;
}

// Attaches an execution trace to the profile of the same process. If there is no such profile,
// attaches it to the only profile of the same rank in its folder.
void attach_execution(std::vector<Run>& runs, const ExecutionTrace& execution,
                      Diagnostics& diagnostics) {
  const auto folder = [](const std::string& file) {
    return std::filesystem::path(file).parent_path();
  };
  RankTrace* by_process = nullptr;
  RankTrace* by_rank = nullptr;
  int same_rank = 0;
  for (Run& run : runs) {
    for (RankTrace& trace : run.ranks) {
      if (trace.process >= 0 && trace.process == execution.process) by_process = &trace;
      if (folder(trace.file) == folder(execution.file) && trace.rank == execution.rank) {
        by_rank = &trace;
        ++same_rank;
      }
    }
  }
  RankTrace* found = by_process != nullptr ? by_process : (same_rank == 1 ? by_rank : nullptr);
  if (found == nullptr) {
    diagnostics.add(kLonelyExecution, execution.file);
  } else {
    attach(*found, execution, diagnostics);
  }
}

// Counts NCCL kernels, except messages, because ranks of a pipeline send different numbers of
// messages.
std::int64_t count_collectives(const RankTrace& trace) {
  // For each name: whether it is the name of a collective's kernel. There are few names and many
  // events.
  std::map<NameId, bool> counts;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] != EventKind::kKernel) continue;
    const auto [found, fresh] = counts.try_emplace(trace.events.name[i], false);
    if (fresh) {
      const std::string_view name = trace.names.text(trace.events.name[i]);
      found->second = name.find("nccl") != std::string_view::npos &&
                      kind_from_name(name) != CollectiveKind::kSendRecv;
    }
    total += found->second ? 1 : 0;
  }
  return total;
}

void compare_collectives(const Run& run, bool alone, Diagnostics& diagnostics) {
  std::vector<std::int64_t> counts;
  for (const RankTrace& trace : run.ranks) counts.push_back(count_collectives(trace));
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == most) continue;
    diagnostics.add(kUnequal, (alone ? "" : run.label + ": ") + "rank " +
                                  std::to_string(run.ranks[i].rank) + ": " +
                                  std::to_string(counts[i]) + " of " + std::to_string(most));
  }
}

/// Takes the traces of processes that are not ranks out of `traces`. If there are no other traces,
/// they stay in `traces`. So a folder that has only a server's trace is still readable.
std::vector<RankTrace> take_services(std::vector<FileTraces>& traces) {
  const auto serves = [](const FileTraces& file) { return is_service_file(file.front().file); };
  std::vector<RankTrace> services;
  if (std::all_of(traces.begin(), traces.end(), serves)) return services;
  for (FileTraces& file : traces) {
    if (!serves(file)) continue;
    std::move(file.begin(), file.end(), std::back_inserter(services));
    file.clear();
  }
  std::erase_if(traces, [](const FileTraces& file) { return file.empty(); });
  return services;
}

Status choose_run(std::vector<Run>& runs, const std::string& wanted) {
  if (wanted.empty()) return {};
  std::string list;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (wanted == std::to_string(i + 1) || wanted == runs[i].label) {
      Run chosen = std::move(runs[i]);
      runs.clear();
      runs.push_back(std::move(chosen));
      return {};
    }
    list += "\n  " + std::to_string(i + 1) + "  " + runs[i].label + " (" +
            std::to_string(runs[i].ranks.size()) + " ranks)";
  }
  return fail(ErrorCode::kUsage,
              "there is no run \"" + wanted + "\"; the input has these runs:" + list);
}

}  // namespace

Result<Recording> load(const std::vector<std::string>& inputs, const LoadOptions& options,
                       Diagnostics& diagnostics) {
  WEFT_ASSIGN(const std::vector<std::string> all_files, expand_inputs(inputs));
  std::vector<std::string> files = files_of_share(all_files, options.share);
  const std::set<std::string> named(inputs.begin(), inputs.end());
  // Facts of jobs are read together with their traces. But if there are no other files, or the user
  // named such a file, keep it. Then it fails with advice instead of being ignored.
  if (std::any_of(files.begin(), files.end(), std::not_fn(is_job_facts))) {
    std::erase_if(files, [&](const std::string& file) {
      return is_job_facts(file) && !named.contains(file);
    });
  }
  std::vector<FileOutcome> outcomes = read_all(files, options);

  std::vector<FileTraces> traces;
  std::vector<ProbeLog> logs;
  std::optional<Error> first_error;
  int first_helps = 0;
  bool only_foreign = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileOutcome& outcome = outcomes[i];
    diagnostics.merge(outcome.diagnostics);
    if (outcome.error) {
      only_foreign = only_foreign && outcome.unknown;
      const bool fatal = named.contains(files[i]) || outcome.error->code == ErrorCode::kCancelled;
      if (fatal) return tl::unexpected(*outcome.error);
      // If nothing is readable, the error of a damaged recording is more helpful than the error of
      // a foreign file, such as a README. The error of an empty foreign file helps least.
      const int helps = !outcome.unknown ? 2 : outcome.empty ? 0 : 1;
      if (!first_error || helps > first_helps) {
        first_error = outcome.error;
        first_helps = helps;
      }
      diagnostics.add(outcome.unknown ? kSkipped : kUnreadable,
                      outcome.unknown ? files[i] : outcome.error->text());
    }
    for (RankTrace& trace : outcome.traces) add_job_facts(trace);
    if (!outcome.traces.empty()) traces.push_back(std::move(outcome.traces));
    if (outcome.probe) logs.push_back(std::move(*outcome.probe));
  }
  const bool only_logs = traces.empty() && logs.size() == files.size();
  turn_into_ranks(logs, traces, diagnostics);
  if (traces.empty()) {
    if (options.share.divided() && only_foreign) return Recording{};
    if (first_error) return tl::unexpected(as_example(*first_error, files.size()));
    if (only_logs) {
      return fail(ErrorCode::kBadInput,
                  "the logs contain no transfers and no calls; record while the job communicates",
                  files.front());
    }
    return fail(ErrorCode::kBadInput,
                "execution traces hold no times; pass the Kineto traces of the same ranks, too",
                files.front());
  }
  std::vector<RankTrace> services = take_services(traces);
  Recording recording;
  recording.runs = sort_into_runs(std::move(traces), diagnostics);
  attach_services(recording.runs, services);
  for (const FileOutcome& outcome : outcomes) {
    if (outcome.execution) attach_execution(recording.runs, *outcome.execution, diagnostics);
  }
  attach(recording.runs, std::move(logs), diagnostics);
  for (Run& run : recording.runs) join_services(run, diagnostics);
  join_horovod(recording.runs, diagnostics);
  WEFT_TRY(choose_run(recording.runs, options.run));
  for (const Run& run : recording.runs) {
    if (!options.judge_runs) break;
    report_missing_ranks(run, diagnostics);
    compare_collectives(run, recording.runs.size() == 1, diagnostics);
  }
  return recording;
}

}  // namespace weft::trace
