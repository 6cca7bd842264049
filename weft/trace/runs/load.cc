// SPDX-License-Identifier: Apache-2.0
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
#include "weft/trace/runs/job_facts.h"
#include "weft/trace/runs/recognise.h"
#include "weft/trace/runs/runs.h"
#include "weft/trace/runs/services.h"
#include "weft/trace/runs/strangers.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kSkipped{"skipped-file", Severity::kInfo,
                                  "files that are no recordings were passed over",
                                  "name the trace files themselves to be told why"};
constexpr DiagnosticKind kUnreadable{
    "unreadable-file", Severity::kDataLoss, "files of the folder could not be used",
    "copy them again or remove them; name one alone to see the whole reason"};
constexpr DiagnosticKind kLonelyExecution{
    "execution-trace-alone", Severity::kInfo,
    "an execution trace has no profile of its rank beside it; it holds no times and was left out",
    "give the Kineto trace of the same rank"};
constexpr DiagnosticKind kUnequal{
    "unequal-collectives", Severity::kInfo,
    "ranks did not record the same number of collectives; the window cut some off",
    "matching copes with it; record more steps to have whole ones"};

struct FileOutcome {
  FileTraces traces;
  std::optional<ExecutionTrace> execution;
  std::optional<ProbeLog> probe;
  std::optional<Error> error;
  bool unknown = false;  ///< the error is that no reader knows the format
  Diagnostics diagnostics;
};

// Bytes read of all files together, told to one listener at a time.
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
  const std::string_view stranger = known_stranger(path, head);
  if (!stranger.empty()) return {ErrorCode::kBadInput, std::string(stranger), path, -1};
  const bool json = head[start] == '{' || head[start] == '[';
  return {ErrorCode::kBadInput,
          std::string(json ? "this is JSON, but no trace" : "this is no trace") +
              " that Weft knows (" + known_formats() + "); name files that a profiler exported",
          path, static_cast<std::int64_t>(start)};
}

Status read_one(const std::string& path, const ReadOptions& options, FileOutcome& out) {
  WEFT_ASSIGN(std::unique_ptr<ByteSource> source, open_file(path));
  WEFT_ASSIGN(std::string head, read_up_to(*source, kHeadSize));
  const Format format = recognise(head);
  if (!format.known()) {
    // Emptiness is a fault of the file, not a foreign format.
    out.unknown = head.find_first_not_of(" \n\r\t") != std::string::npos;
    return tl::unexpected(unknown_format(source->name(), head, source->truncated()));
  }
  // A pipe cannot be opened twice.
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

// An execution trace belongs to the profile of the same process, else of the same rank.
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

std::int64_t count_collectives(const RankTrace& trace) {
  // Messages are left out: ranks of a pipeline differ in them by nature.
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

/// Traces of processes that are no ranks, unless there are no others.
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
  return fail(ErrorCode::kUsage, "there is no run \"" + wanted + "\"; the input holds:" + list);
}

}  // namespace

Result<Recording> load(const std::vector<std::string>& inputs, const LoadOptions& options,
                       Diagnostics& diagnostics) {
  WEFT_ASSIGN(const std::vector<std::string> all_files, expand_inputs(inputs));
  std::vector<std::string> files = files_of_share(all_files, options.share);
  const std::set<std::string> named(inputs.begin(), inputs.end());
  if (std::any_of(files.begin(), files.end(), std::not_fn(is_job_facts))) {
    std::erase_if(files, [&](const std::string& file) {
      return is_job_facts(file) && !named.contains(file);
    });
  }
  std::vector<FileOutcome> outcomes = read_all(files, options);

  std::vector<FileTraces> traces;
  std::vector<ProbeLog> logs;
  std::optional<Error> first_error;
  bool only_strangers = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileOutcome& outcome = outcomes[i];
    diagnostics.merge(outcome.diagnostics);
    if (outcome.error) {
      only_strangers = only_strangers && outcome.unknown;
      const bool fatal = named.contains(files[i]) || outcome.error->code == ErrorCode::kCancelled;
      if (fatal) return tl::unexpected(*outcome.error);
      // A broken recording says more about an unusable folder than its README does.
      if (!first_error || (first_error->code == ErrorCode::kBadInput && !outcome.unknown)) {
        first_error = outcome.error;
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
    if (options.share.divided() && only_strangers) return Recording{};
    if (first_error) return tl::unexpected(*first_error);
    if (only_logs) {
      return fail(ErrorCode::kBadInput,
                  "the logs hold no transfer and no call; record while the job communicates",
                  files.front());
    }
    return fail(ErrorCode::kBadInput,
                "execution traces hold no times; give the Kineto traces of the same ranks too",
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
