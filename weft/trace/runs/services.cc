// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/services.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include "weft/base/median.h"
#include "weft/trace/formats/host_collective.h"
#include "weft/trace/match/wire_match.h"
#include "weft/trace/runs/host_name.h"
#include "weft/trace/runs/server_exchanges.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kStepsOfChief{
    "steps-of-chief", Severity::kInfo,
    "ranks mark no steps themselves; they use the steps that their chief marked, on its clock",
    "nothing needs to be done, unless the clocks of the hosts are far apart"};

std::filesystem::path folder_of_service(const RankTrace& trace) {
  return std::filesystem::path(trace.file).parent_path();
}

/// Offsets between the clocks of services and of ranks.
class ServiceClocks {
 public:
  explicit ServiceClocks(const Run& run) : run_(run), ties_(clock_ties(run)) {}

  /// What to add to times of the service to get times of the rank. If the two run on different
  /// hosts and no transfers between them were recorded, their clocks are assumed to agree.
  Nanos shift(std::size_t rank, const RankTrace& service) const {
    const Nanos epochs = service.epoch - run_.ranks[rank].epoch;
    if (same_host(run_.ranks[rank], service)) return epochs;
    std::vector<Nanos> seen;
    for (std::size_t b = 0; b < run_.bystanders.size(); ++b) {
      const Bystander& process = run_.bystanders[b];
      if (process.process != service.process ||
          short_name(process.host) != short_name(service.host)) {
        continue;
      }
      for (const ClockTie& tie : ties_) {
        if (tie.first == rank && tie.second == run_.ranks.size() + b) seen.push_back(tie.middle());
      }
    }
    return seen.empty() ? epochs : epochs + median(seen);
  }

  static bool same_host(const RankTrace& a, const RankTrace& b) {
    return !a.host.empty() && short_name(a.host) == short_name(b.host);
  }

 private:
  const Run& run_;
  std::vector<ClockTie> ties_;
};

/// Whether most of the bytes that a rank sends and receives cross a network. True if no transfers
/// were recorded.
bool talks_to_other_hosts(const RankTrace& rank) {
  const auto host = [](std::string_view address) { return address.substr(0, address.rfind(':')); };
  Bytes here = 0, elsewhere = 0;
  for (const WireTransfer& transfer : rank.wire.transfers) {
    const WireConnection& connection = rank.wire.connections[transfer.connection];
    (host(connection.local) == host(connection.peer) ? here : elsewhere) += transfer.bytes;
  }
  return elsewhere >= here;
}

/// Returns the time at which the rank's last work within a step ends.
Nanos work_ends(const RankTrace& rank, const StepMark& step) {
  Nanos last = step.start;
  const Events& e = rank.events;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool work = e.kind[i] == EventKind::kHostOp ||
                      (e.kind[i] == EventKind::kAnnotation && e.detail[i] != kNone);
    if (work && e.start[i] >= step.start && e.end(i) <= step.end) last = std::max(last, e.end(i));
  }
  return last;
}

/// Adds a barrier from the end of the rank's work to the end of the step, because the chief ends a
/// step when all ranks have done their work.
void wait_for_all(RankTrace& rank, std::uint32_t lane, const StepMark& step) {
  CollectiveDetail barrier;
  barrier.name = rank.names.intern("barrier");
  barrier.group = rank.names.intern("chief");
  barrier.sequence = step.number;
  const Nanos start = work_ends(rank, step);
  add_host_collective(rank, barrier, rank.names.intern("chief waits for all"), lane, start,
                      step.end - start);
}

void add_steps_of_chief(const RankTrace& chief, RankTrace& rank, Nanos shift,
                        Diagnostics& diagnostics) {
  const auto lane = static_cast<std::uint32_t>(rank.lanes.size());
  rank.lanes.push_back({false, 0, static_cast<std::int64_t>(lane), -1, "steps of the chief"});
  for (const StepMark& step : chief.steps) {
    rank.steps.push_back({step.number, lane, step.start + shift, step.end + shift});
    wait_for_all(rank, lane, rank.steps.back());
  }
  diagnostics.add(kStepsOfChief, "rank " + std::to_string(rank.rank) + ": " + chief.file);
}

}  // namespace

bool is_service_file(std::string_view path) {
  path.remove_prefix(std::min(path.find_last_of('/') + 1, path.size()));
  if (path.starts_with("chief.")) return true;
  constexpr std::string_view kServer = "server";
  if (!path.starts_with(kServer)) return false;
  path.remove_prefix(kServer.size());
  const std::size_t digits = path.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && path[digits] == '.';
}

void attach_services(std::vector<Run>& runs, std::vector<RankTrace>& services) {
  std::vector<RankTrace> left;
  for (RankTrace& service : services) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& r) {
      return folder_of_service(r.ranks.front()) == folder_of_service(service);
    });
    service.rank = -1;
    (run == runs.end() ? left : run->services).push_back(std::move(service));
  }
  services = std::move(left);
  for (Run& run : runs) {
    std::stable_sort(run.services.begin(), run.services.end(),
                     [](const RankTrace& a, const RankTrace& b) { return a.file < b.file; });
  }
}

void join_services(Run& run, Diagnostics& diagnostics) {
  if (run.services.empty()) return;
  const ServiceClocks clocks(run);
  const auto chief = std::find_if(run.services.begin(), run.services.end(),
                                  [](const RankTrace& s) { return !s.steps.empty(); });
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    RankTrace& rank = run.ranks[r];
    // A packed rank may contain its exchanges already; do not add them again.
    const bool joined = has_exchanges(rank);
    for (const RankTrace& service : run.services) {
      if (joined) break;
      add_exchanges(rank, service, clocks.shift(r, service),
                    !ServiceClocks::same_host(rank, service));
    }
    if (chief != run.services.end() && rank.steps.empty()) {
      add_steps_of_chief(*chief, rank, clocks.shift(r, *chief), diagnostics);
    }
  }
}

std::int32_t ranks_far_from_servers(const Run& run) {
  std::vector<std::string_view> servers;  // the host of each server
  for (const RankTrace& service : run.services) {
    if (service.steps.empty() && !service.host.empty()) servers.push_back(service.host);
  }
  for (const Bystander& process : run.bystanders) {
    const bool serves = process.role == "server" || process.role == "ps";
    if (serves && !process.host.empty()) servers.push_back(process.host);
  }
  const auto count = [&](const auto& is_far) {
    return std::count_if(run.ranks.begin(), run.ranks.end(), is_far);
  };
  std::ptrdiff_t most = servers.empty() ? count(talks_to_other_hosts) : 0;
  for (const std::string_view server : servers) {
    most = std::max(most, count([&](const RankTrace& rank) {
                      return short_name(rank.host) != short_name(server);
                    }));
  }
  return static_cast<std::int32_t>(most);
}

}  // namespace weft::trace
