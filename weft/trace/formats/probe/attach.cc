// SPDX-License-Identifier: Apache-2.0
// Decides which log belongs to which rank. A log and a trace are of the same process if they have
// the same host and process id. If the trace has no process id, they must have the same folder and
// rank. Logs and profilers both use the wall clock, so only the epochs of the two files differ.
#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "weft/trace/formats/probe/merge_calls.h"
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/formats/probe/wire.h"
#include "weft/trace/runs/host_name.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kAttached{"transfers-attached", Severity::kInfo,
                                   "network transfers were taken from the log of the same process",
                                   "nothing needs to be done"};
constexpr DiagnosticKind kBystander{
    "process-beside-the-ranks", Severity::kInfo,
    "a process that is not a rank of the job was recorded; its transfers were kept and its other "
    "work was ignored",
    "nothing needs to be done"};

std::filesystem::path folder_of(const std::string& file) {
  return std::filesystem::path(file).parent_path();
}

bool same_process(const RankTrace& trace, const ProbeLog& log) {
  const bool same_folder = folder_of(trace.file) == folder_of(log.file);
  const bool hosts_known = !trace.host.empty() && !log.from.host.empty();
  if (hosts_known && short_name(trace.host) != short_name(log.from.host)) return false;
  if (trace.process >= 0) {
    return trace.process == log.from.process && (hosts_known || same_folder);
  }
  return same_folder && log.from.rank >= 0 && trace.rank == log.from.rank;
}

Bytes bytes_of(const Wire& wire) {
  Bytes sum = 0;
  for (const WireTransfer& transfer : wire.transfers) {
    if (__builtin_add_overflow(sum, transfer.bytes, &sum)) return INT64_MAX;
  }
  return sum;
}

Nanos end_of(const RankTrace& trace) {
  Nanos last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) last = std::max(last, trace.events.end(i));
  return trace.epoch + last;
}

/// Converts times relative to `from` into times relative to `epoch`, and leaves out transfers
/// outside of [begin, end], which is relative to `epoch`.
Wire rebase(const Wire& wire, Nanos from, Nanos epoch, Nanos begin, Nanos end) {
  Wire out;
  out.connections = wire.connections;
  for (WireTransfer transfer : wire.transfers) {
    transfer.start += from - epoch;
    if (transfer.start + transfer.duration < begin || transfer.start > end) continue;
    out.transfers.push_back(transfer);
  }
  return out;
}

void append(Wire& to, Wire more) {
  const auto first = static_cast<std::uint32_t>(to.connections.size());
  for (WireConnection& connection : more.connections) {
    to.connections.push_back(std::move(connection));
  }
  for (WireTransfer& transfer : more.transfers) {
    transfer.connection += first;
    to.transfers.push_back(transfer);
  }
  std::stable_sort(to.transfers.begin(), to.transfers.end(),
                   [](const WireTransfer& a, const WireTransfer& b) { return a.start < b.start; });
}

/// `shared` means that this process has several traces, each of a part of its time. Then each trace
/// gets only the transfers in its own part.
void attach_to(RankTrace& trace, const ProbeLog& log, bool shared, Diagnostics& diagnostics) {
  // A packed trace already contains the transfers of the log that lies in its folder.
  if (!trace.origin.empty() && !trace.wire.transfers.empty()) return;
  const Nanos begin = shared ? 0 : INT64_MIN;
  const Nanos end = shared ? end_of(trace) - trace.epoch : INT64_MAX;
  Wire wire = rebase(log.wire, log.epoch, trace.epoch, begin, end);
  diagnostics.add(kAttached, log.file + ": rank " + std::to_string(trace.rank),
                  static_cast<std::int64_t>(wire.transfers.size()));
  append(trace.wire, std::move(wire));
  // Add MPI calls, but not NCCL calls: about NCCL calls, the profiler's kernels have more facts
  // than the NCCL log.
  if (log.calls && log.from.kind == probe::LogKind::kMpi) {
    diagnostics.merge(log.of_calls);
    probe::merge_calls(trace, *log.calls, diagnostics);
  }
}

/// Returns the first run that has not ended at `begin`; if all runs have ended, the last run.
Run& run_at(std::vector<Run>& runs, Nanos begin) {
  for (Run& run : runs) {
    for (const RankTrace& trace : run.ranks) {
      if (begin <= end_of(trace)) return run;
    }
  }
  return runs.back();
}

}  // namespace

void turn_into_ranks(std::vector<ProbeLog>& logs, std::vector<FileTraces>& files,
                     Diagnostics& diagnostics) {
  const auto described = [&](const ProbeLog& log) {
    return std::any_of(files.begin(), files.end(), [&](const FileTraces& traces) {
      return std::any_of(traces.begin(), traces.end(),
                         [&](const RankTrace& trace) { return same_process(trace, log); });
    });
  };
  const auto take = [&](ProbeLog& log, RankTrace rank) {
    rank.format = kProbeLogName;
    files.emplace_back();
    files.back().push_back(std::move(rank));
    log.file.clear();
  };
  for (ProbeLog& log : logs) {
    if (!log.calls || described(log)) continue;
    diagnostics.merge(log.of_calls);
    RankTrace rank = std::move(*log.calls);
    append(rank.wire, rebase(log.wire, log.epoch, rank.epoch, INT64_MIN, INT64_MAX));
    take(log, std::move(rank));
  }
  if (files.empty()) {
    // Helper processes inherit the environment variables of their rank, so they have the same rank
    // number. Of several logs with the same number, the one with the most transferred bytes becomes
    // the rank. If no log has a number, every log with transfers becomes a rank.
    std::map<std::int32_t, ProbeLog*> by_rank;
    for (ProbeLog& log : logs) {
      if (log.from.rank < 0 || log.wire.transfers.empty()) continue;
      ProbeLog*& best = by_rank.try_emplace(log.from.rank, &log).first->second;
      if (bytes_of(log.wire) > bytes_of(best->wire)) best = &log;
    }
    for (ProbeLog& log : logs) {
      const auto chosen = by_rank.find(log.from.rank);
      const bool is_rank = by_rank.empty() || (chosen != by_rank.end() && chosen->second == &log);
      if (!is_rank || log.wire.transfers.empty()) continue;
      take(log, probe::rank_of_transfers(log.from, log.file, log.epoch, std::move(log.wire)));
    }
  }
  std::erase_if(logs, [](const ProbeLog& log) { return log.file.empty(); });
}

void attach(std::vector<Run>& runs, std::vector<ProbeLog> logs, Diagnostics& diagnostics) {
  for (ProbeLog& log : logs) {
    std::vector<RankTrace*> found;
    for (Run& run : runs) {
      for (RankTrace& trace : run.ranks) {
        if (same_process(trace, log)) found.push_back(&trace);
      }
    }
    for (RankTrace* trace : found) attach_to(*trace, log, found.size() > 1, diagnostics);
    if (!found.empty() || log.wire.transfers.empty()) continue;
    diagnostics.add(kBystander, log.file + (log.from.role.empty() ? "" : ": " + log.from.role));
    run_at(runs, log.epoch)
        .bystanders.push_back({log.file, log.from.host, log.from.process, log.from.role, log.epoch,
                               std::move(log.wire)});
  }
  for (Run& run : runs) {
    std::stable_sort(
        run.bystanders.begin(), run.bystanders.end(), [](const Bystander& a, const Bystander& b) {
          return std::tie(a.role, a.host, a.process) < std::tie(b.role, b.host, b.process);
        });
  }
}

}  // namespace weft::trace
